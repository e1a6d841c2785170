import type { Rate } from './rate.ts'

/** A stored rate card: a timeline of rates, which are stored separately. */
export interface RateCard {
  id: string
  name: string
  /** Lowercase, of ISO 4217; never changes. */
  currency: string
  description: string | null
  externalId: string | null
  createdAt: Date
  updatedAt: Date
  archivedAt: Date | null
}

/** A stored rate. */
export interface RateRecord extends Rate {
  /** The product that all prices of the rate are of. */
  productId: string
  createdAt: Date
}
