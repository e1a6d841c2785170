import { compareRatios, isZeroRatio, type Ratio, ratioOf } from '../../amount/ratio.ts'
import { isMetric } from '../usage-source.ts'
import { priceIn, type Prices, type PriceTerms, readTerms, type Tier } from './price.ts'
import { pricesOfRate, type Rate } from './rate.ts'
import { scopeOf } from './scope.ts'

const PERCENT_MAX = ratioOf(1_000n)

/** The reason, as one clause, why a price's terms are not valid; undefined if they are valid. */
export function findTermsFault(terms: PriceTerms): string | undefined {
  const read = readTerms(terms)
  if (read.model === 'flat') return undefined
  const { minimumAmount, maximumAmount } = read
  if (minimumAmount && maximumAmount && compareRatios(maximumAmount, minimumAmount) < 0)
    return 'maximum_amount is below minimum_amount'
  switch (read.model) {
    case 'per_unit':
      return isZeroRatio(read.per) ? 'per is 0' : undefined
    case 'package':
      return isZeroRatio(read.packageSize) ? 'package_size is 0' : undefined
    case 'percentage':
      return compareRatios(read.percent, PERCENT_MAX) > 0 ? 'percent is above 1000' : undefined
    case 'graduated':
    case 'volume':
      return isZeroRatio(read.per) ? 'per is 0' : findTiersFault(read.tiers)
  }
}

function findTiersFault(tiers: readonly Tier<Ratio>[]): string | undefined {
  let below: Ratio | null = null
  for (const [index, { upTo }] of tiers.entries()) {
    const isLast = index === tiers.length - 1
    if (isLast !== (upTo === null)) return 'up_to must be null in the last tier, and in no other'
    if (upTo === null) break
    if (below === null ? isZeroRatio(upTo) : compareRatios(upTo, below) <= 0)
      return 'up_to must be above 0, and rise from tier to tier'
    below = upTo
  }
  return tiers.length === 0 ? 'tiers must not be empty' : undefined
}

/**
 * The reason, as one clause, why a rate cannot be on a card; undefined if it can. This function does not check whether
 * the rate overlaps another rate; findOverlap does.
 *
 * @param prices must contain all prices that the rate names
 * @param currency the card's currency
 * @throws Error when a price of the rate is missing
 */
export function findRateFault(rate: Rate, prices: Prices, currency: string): string | undefined {
  const named = pricesOfRate(rate).map((id) => priceIn(prices, id))
  if (named.length === 0) return 'a rate needs a price'
  if ((rate.groupBy === null) !== (rate.prices.length === 0))
    return 'prices and group_by must be given together'
  if (rate.groupBy !== null && rate.filters.some(({ property }) => property === rate.groupBy))
    return `a filter cannot be on ${rate.groupBy}, which is the group_by property`
  for (const [property, values] of scopeOf(rate))
    if (values.size === 0) return `the filters leave no value of ${property}`
  if (new Set(rate.prices.map(({ value }) => value)).size < rate.prices.length)
    return 'a value has two prices'
  if (new Set(named.map(({ productId }) => productId)).size > 1) return 'the prices are of several products'
  if (named.some((price) => price.currency !== currency)) return `a price is not in ${currency}`
  for (const { id, terms } of named) {
    const fault = findUseFault(rate, terms, currency)
    if (fault !== undefined) return `${id} ${fault}`
  }
  return undefined
}

/**
 * The reason why a price cannot be applied to a rate's usage, as the end of a sentence; undefined if it can be applied.
 *
 * @param currency the currency of the price
 */
export function findUseFault(
  rate: Pick<Rate, 'source' | 'groupBy' | 'filters'>,
  terms: PriceTerms,
  currency: string,
): string | undefined {
  if (rate.source === null) {
    if (rate.groupBy !== null || rate.filters.length > 0) return 'is a fixed charge, which has no properties'
    return terms.model === 'flat' && terms.recurring
      ? undefined
      : 'is no flat, recurring price, and without metric_id or currency there is no usage'
  }
  if (terms.model === 'flat') return 'is flat, so usage has no effect on it'
  if (terms.model === 'percentage' && !isMetric(rate.source) && rate.source !== currency)
    return `is a percentage of ${rate.source}: there is no exchange into ${currency}`
  return undefined
}
