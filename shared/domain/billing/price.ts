import { parseRatio, type Ratio } from '../../amount/ratio.ts'

/** One step of a tiered price. A quantity equal to `upTo` is in this tier, not in the next one. */
export interface Tier<N = string> {
  /** Null only in the last tier, which has everything above the previous tier. */
  upTo: N | null
  unitAmount: N
  /** Due in full as soon as any of the quantity is in the tier. */
  flatAmount: N
}

/** The limits that all models except flat may have. */
interface Bounds<N> {
  /** The part of each quantity that is free. */
  includedQuantity: N
  minimumAmount: N | null
  /** Not lower than the minimum. */
  maximumAmount: N | null
}

interface FlatTerms<N> {
  model: 'flat'
  amount: N
  /**
   * If true, the amount is charged in each period, in proportion to the piece's share. If false, it is charged once, in
   * full, in the piece in which the line starts.
   */
  recurring: boolean
}

interface PerUnitTerms<N> extends Bounds<N> {
  model: 'per_unit'
  unitAmount: N
  /** The number of units that `unitAmount` is for. */
  per: N
}

interface TieredTerms<N> extends Bounds<N> {
  model: 'graduated' | 'volume'
  /** Sorted by `upTo`, ascending. */
  tiers: readonly Tier<N>[]
  per: N
}

interface PackageTerms<N> extends Bounds<N> {
  model: 'package'
  packageSize: N
  packageAmount: N
}

interface PercentageTerms<N> extends Bounds<N> {
  model: 'percentage'
  percent: N
}

/**
 * The terms of a price: a function from a quantity to an amount. In the database and in answers, the numbers are
 * decimal text. For computation, they are ratios; see readTerms.
 */
export type PriceTerms<N = string> =
  FlatTerms<N> | PerUnitTerms<N> | TieredTerms<N> | PackageTerms<N> | PercentageTerms<N>

/** A price's terms never change. */
export interface Price {
  id: string
  productId: string
  /** Lowercase, of ISO 4217. */
  currency: string
  terms: PriceTerms
}

/** Prices by id. */
export type Prices = ReadonlyMap<string, Price>

/** @throws Error when the price is missing: a bug of the caller */
export function priceIn(prices: Prices, id: string): Price {
  const price = prices.get(id)
  if (price === undefined) throw new Error(`price ${id} was not read`)
  return price
}

const READ = new WeakMap<PriceTerms, PriceTerms<Ratio>>()

/**
 * Parses the numbers of terms to ratios. The result is cached as long as the terms exist, because many accounts use the
 * same card.
 */
export function readTerms(terms: PriceTerms): PriceTerms<Ratio> {
  let read = READ.get(terms)
  if (read === undefined) READ.set(terms, (read = parseTerms(terms)))
  return read
}

function parseTerms(terms: PriceTerms): PriceTerms<Ratio> {
  if (terms.model === 'flat')
    return { model: 'flat', amount: parseRatio(terms.amount), recurring: terms.recurring }
  const bounds = {
    includedQuantity: parseRatio(terms.includedQuantity),
    minimumAmount: parseOptional(terms.minimumAmount),
    maximumAmount: parseOptional(terms.maximumAmount),
  }
  switch (terms.model) {
    case 'per_unit':
      return {
        ...bounds,
        model: 'per_unit',
        unitAmount: parseRatio(terms.unitAmount),
        per: parseRatio(terms.per),
      }
    case 'graduated':
    case 'volume':
      return { ...bounds, model: terms.model, tiers: terms.tiers.map(parseTier), per: parseRatio(terms.per) }
    case 'package':
      return {
        ...bounds,
        model: 'package',
        packageSize: parseRatio(terms.packageSize),
        packageAmount: parseRatio(terms.packageAmount),
      }
    case 'percentage':
      return { ...bounds, model: 'percentage', percent: parseRatio(terms.percent) }
  }
}

const parseTier = (tier: Tier): Tier<Ratio> => ({
  upTo: parseOptional(tier.upTo),
  unitAmount: parseRatio(tier.unitAmount),
  flatAmount: parseRatio(tier.flatAmount),
})

const parseOptional = (text: string | null): Ratio | null => (text === null ? null : parseRatio(text))
