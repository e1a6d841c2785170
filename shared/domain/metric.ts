/** What usage is measured in. */
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
