import type { Aggregation } from '../usage-aggregate.ts'
import type { UsageSource } from '../usage-source.ts'
import type { Entry } from './contract.ts'

/** An event matches when its property has one of the values. */
export interface Filter {
  property: string
  values: readonly string[]
}

/** Which usage is measured, how, and at which price. A rate is never edited, only ended by a change of its card. */
export interface Rate extends Entry {
  /** null: a fixed charge, without usage. */
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
