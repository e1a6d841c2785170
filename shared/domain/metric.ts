/** A quantity that usage is measured in, with its unit. */
export interface Metric {
  id: string
  externalId: string | null
  name: string
  description: string
  measurementUnits: string
  /** The `type` of the CloudEvents that it counts. Null if it counts none. */
  eventType: string | null
  /** The field of a CloudEvent's data that has the quantity. Null if each CloudEvent counts as 1. */
  eventQuantity: string | null
  createdAt: Date
  updatedAt: Date
  archivedAt: Date | null
}
