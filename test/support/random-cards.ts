import fc from 'fast-check'
import { findOverlap } from '../../shared/domain/billing/overlap.ts'
import type { PriceTerms } from '../../shared/domain/billing/price.ts'
import type { Aggregation } from '../../shared/domain/usage-aggregate.ts'
import { type PriceJson, rateFromJson, type RateJson } from './billing-vectors.ts'
import { type Frame, moment, seldom } from './random-frames.ts'
import { decimal, terms } from './random-prices.ts'

export const PROPERTIES = ['model', 'region', 'constructor']
/**
 * Two values are above or just below code point 65,536, where JavaScript's own order differs from that of code points.
 */
const VALUES = ['a', 'b', 'B', '1', 'true', '2.5', '\uFF5E', '\u{1F600}']
/** The first values are drawn more often. */
export const value = fc.constantFrom('a', 'a', 'a', 'b', 'b', ...VALUES)

const values = fc.uniqueArray(value, { minLength: 1, maxLength: 5, size: 'max' })

type UsedTerms = Exclude<PriceTerms, { model: 'flat' }>
/** Most prices have no bounds, because a minimum hides all smaller amounts. */
const usageTerms = fc
  .tuple(
    terms.filter((one): one is UsedTerms => one.model !== 'flat'),
    fc.boolean(),
    seldom(fc.constant(true)),
    seldom(fc.constant(true)),
  )
  .map(([one, isIncluding, hasMinimum, hasMaximum]) => ({
    ...one,
    ...(!isIncluding && { includedQuantity: '0' }),
    ...(!hasMinimum && { minimumAmount: null }),
    ...(!hasMaximum && { maximumAmount: null }),
  }))
const isNoPercentage = (one: PriceTerms): boolean => one.model !== 'percentage'
const flatTerms = fc.record({
  model: fc.constant('flat' as const),
  amount: decimal(99n),
  recurring: fc.constant(true),
})

/**
 * Prices by product: for usage of metrics and of the contract's currency, for other currencies, and for fixed charges.
 */
export const priced = fc.record({
  a: fc.array(usageTerms, { minLength: 3, maxLength: 3 }),
  b: fc.array(usageTerms, { minLength: 3, maxLength: 3 }),
  x: fc.array(usageTerms.filter(isNoPercentage), { minLength: 2, maxLength: 2 }),
  fixed: fc.array(flatTerms, { minLength: 2, maxLength: 2 }),
  stated: fc.array(terms.filter(isNoPercentage), { minLength: 3, maxLength: 3 }),
})

export type Product = 'a' | 'b' | 'x' | 'fixed' | 'stated'

/** Omits fields with their default values. */
export function priceToJson(product: Product, currency: string, of: PriceTerms): PriceJson {
  const json = { product_id: `product_${product}`, currency, model: of.model }
  if (of.model === 'flat') return { ...json, amount: of.amount, ...(!of.recurring && { recurring: false }) }
  const bounds = {
    ...(of.includedQuantity !== '0' && { included_quantity: of.includedQuantity }),
    ...(of.minimumAmount !== null && { minimum_amount: of.minimumAmount }),
    ...(of.maximumAmount !== null && { maximum_amount: of.maximumAmount }),
  }
  switch (of.model) {
    case 'per_unit':
      return { ...json, ...bounds, unit_amount: of.unitAmount, ...(of.per !== '1' && { per: of.per }) }
    case 'graduated':
    case 'volume':
      return {
        ...{ ...json, ...bounds },
        ...(of.per !== '1' && { per: of.per }),
        tiers: of.tiers.map(({ upTo, unitAmount, flatAmount }) => ({
          up_to: upTo,
          ...(unitAmount !== '0' && { unit_amount: unitAmount }),
          ...(flatAmount !== '0' && { flat_amount: flatAmount }),
        })),
      }
    case 'package':
      return { ...json, ...bounds, package_size: of.packageSize, package_amount: of.packageAmount }
    case 'percentage':
      return { ...json, ...bounds, percent: of.percent }
  }
}

export const priceId = (product: Product, index: number): string =>
  `price_${product}${index % { a: 3, b: 3, x: 2, fixed: 2, stated: 3 }[product]}`

/** `own` is the contract's currency, which is never `eur`. */
export const SOURCES = [...Array<'metric_t'>(5).fill('metric_t'), 'metric_u', 'own', 'eur'] as const

const AGGREGATIONS: Aggregation[] = ['sum', 'sum', 'sum', 'count', 'count', 'max', 'min', 'avg', 'latest']

export const rate = fc.record({
  source: fc.constantFrom(...SOURCES, null),
  aggregation: fc.constantFrom(...AGGREGATIONS),
  filters: fc.uniqueArray(fc.record({ property: fc.constantFrom(...PROPERTIES), values }), {
    maxLength: 2,
    selector: ({ property }) => property,
  }),
  isFiltered: fc.boolean(),
  groupBy: fc.constantFrom('model', 'model', 'region', null, null),
  listed: values,
  hasRest: fc.boolean(),
  isOfA: fc.boolean(),
  price: fc.nat({ max: 5 }),
  /** Always in force; replaced by a rate with other prices; from a time on; until a time; or between two times. */
  lasting: fc.constantFrom(
    ...(['ever', 'ever', 'replaced', 'replaced', 'replaced', 'from', 'until', 'between'] as const),
  ),
  when: fc.tuple(moment, moment),
})

type RateDraw = typeof rate extends fc.Arbitrary<infer T> ? T : never

/** Makes a card's rates, and drops each one that overlaps an earlier one. */
export function cardOf(draws: readonly RateDraw[], prefix: string, frame: Frame): RateJson[] {
  const card: RateJson[] = []
  const add = (one: Omit<RateJson, 'id'>) => {
    const named = { id: `rate_${prefix}${card.length + 1}`, ...one }
    if (findOverlap([...card, named].map(rateFromJson)) === undefined) card.push(named)
  }
  for (const draw of draws) {
    const [first = 0, second = 0] = draw.when.map(frame.at).sort((a, b) => a - b)
    const before = pricedBy(draw, draw.price, frame)
    switch (draw.lasting) {
      case 'ever':
        add({ starts_at: 0, ...before })
        break
      case 'replaced':
        add({ starts_at: 0, ends_at: second, ...before })
        add({ starts_at: second, ...pricedBy(draw, draw.price + 1, frame) })
        break
      case 'from':
        add({ starts_at: first, ...before })
        break
      case 'until':
        add({ starts_at: 0, ends_at: second, ...before })
        break
      case 'between':
        if (first < second) add({ starts_at: first, ends_at: second, ...before })
        break
    }
  }
  return card
}

/** The usage and prices of a rate. Another number gives other prices of the same product. */
function pricedBy(draw: RateDraw, price: number, { contract }: Frame) {
  if (draw.source === null) return { price_id: priceId('fixed', price) }
  const product = draw.source === 'eur' ? 'x' : draw.isOfA ? 'a' : 'b'
  const { groupBy } = draw
  const filters = draw.isFiltered ? draw.filters.filter(({ property }) => property !== groupBy) : []
  return {
    source: draw.source === 'own' ? contract.currency : draw.source,
    ...(draw.aggregation !== 'sum' && { aggregation: draw.aggregation }),
    ...(filters.length > 0 && { filters }),
    ...(groupBy !== null && {
      group_by: groupBy,
      prices: draw.listed.map((value, index) => ({ value, price_id: priceId(product, price + index) })),
    }),
    ...((groupBy === null || draw.hasRest) && { price_id: priceId(product, price) }),
  }
}
