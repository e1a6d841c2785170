/** A customer of a company; accounts may belong to one. */
export interface Customer {
  id: string
  name: string
  externalId: string | null
  paymentsCustomerId: string | null
  accountingCustomerId: string | null
  createdAt: Date
  updatedAt: Date
}
