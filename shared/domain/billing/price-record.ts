import type { Price } from './price.ts'

/** A price as it is kept, with what does not bear on what is owed. */
export interface PriceRecord extends Price {
  description: string | null
  createdAt: Date
  updatedAt: Date
  archivedAt: Date | null
}
