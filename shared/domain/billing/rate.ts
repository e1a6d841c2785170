import type { Aggregation } from '../usage-aggregate.ts'
import type { UsageSource } from '../usage-source.ts'
import type { Entry } from './contract.ts'

/** An event matches when its property has one of the values. */
export interface Filter {
  property: string
  values: readonly string[]
}

/**
 * Says which usage is measured, how it is measured, and at which price. A rate is never edited. A change of its card
 * can end it.
 */
export interface Rate extends Entry {
  /** Null for a fixed charge, which measures no usage. */
  source: UsageSource | null
  aggregation: Aggregation
  filters: readonly Filter[]
  /** The property whose values have prices of their own. */
  groupBy: string | null
  /** A price for each listed value; empty without `groupBy`. */
  prices: readonly { value: string; priceId: string }[]
  /**
   * Without `groupBy`, the price of all usage; with `groupBy`, the price of all other values, or null if they are not
   * rated.
   */
  priceId: string | null
}

/** The ids of all prices of a rate; an id may occur more than once. */
export const pricesOfRate = ({ prices, priceId }: Rate): string[] => [
  ...prices.map((price) => price.priceId),
  ...(priceId === null ? [] : [priceId]),
]
