/** What lines of an invoice are called. */
export interface Product {
  id: string
  name: string
  description: string | null
  externalId: string | null
  createdAt: Date
  updatedAt: Date
  archivedAt: Date | null
}
