import type { Rate } from './rate.ts'

/** A timeline of rates, as it is kept; the rates are by themselves. */
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

/** A rate as it is kept. */
export interface RateRecord extends Rate {
  /** Of all its prices. */
  productId: string
  createdAt: Date
}
