/** A quantity that usage is measured in, with its unit. */
export interface Metric {
  id: string
  externalId: string | null
  name: string
  description: string
  measurementUnits: string
  createdAt: Date
  updatedAt: Date
  archivedAt: Date | null
}
