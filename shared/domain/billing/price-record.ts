import type { Price } from './price.ts'

/** A stored price, with the fields that do not affect what is owed. */
export interface PriceRecord extends Price {
  description: string | null
  createdAt: Date
  updatedAt: Date
  archivedAt: Date | null
}
