/** A product gives the lines of an invoice their name. */
export interface Product {
  id: string
  name: string
  description: string | null
  externalId: string | null
  createdAt: Date
  updatedAt: Date
  archivedAt: Date | null
}
