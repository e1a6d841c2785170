/** The subject that usage is reported against and credit is granted to. */
export interface Account {
  id: string
  externalId: string | null
  customerId: string | null
  name: string
  description: string | null
  createdAt: Date
  updatedAt: Date
  archivedAt: Date | null
}
