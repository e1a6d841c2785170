import fc from 'fast-check'
import { findOverlap } from '../../shared/domain/billing/overlap.ts'
import type { PriceTerms } from '../../shared/domain/billing/price.ts'
import type { Cadence } from '../../shared/domain/billing/periods.ts'
import {
  rateFromJson,
  type ContractJson,
  type EventJson,
  type GrantJson,
  type InvoiceRequestJson,
  type LineJson,
  type PriceJson,
  type RateJson,
  type WorldJson,
} from './billing-vectors.ts'
import { textOf, unitsOf } from './decimal-units.ts'
import { naivePeriod, type NaiveRange } from './naive-periods.ts'
import { decimal, quantityText, terms } from './random-prices.ts'

/** What a period is rated by, and the period that is asked for. */
export interface RandomWorld {
  world: WorldJson
  request: InvoiceRequestJson
}

// Why all is made of numbers that are drawn first and put together then: a world that fails shrinks part by part, and what
// depends on times (rates, lines, events, grants) can meet at the same ones, to the second.

const DAY_S = 86_400
/** All of a world is long past, and its contract not five years old: a service takes it. */
const FIRST_START = Date.UTC(2023, 0, 1) / 1_000

/** One of the times at which something begins or ends in a world, or any other. */
interface Moment {
  /** Of the first, by its number; else any. */
  known: number | null
  /** How far through the period and what is around it, in thousandths. */
  way: number
}

/** Without bias: else most would be the first ones. */
const thousandths = fc.noBias(fc.nat({ max: 999 }))
const moment: fc.Arbitrary<Moment> = fc.record({
  known: fc.option(fc.noBias(fc.nat({ max: 99 })), { freq: 2 }),
  way: thousandths,
})

const seldom = <T>(some: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: some })
const often = <T>(some: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: 1, arbitrary: fc.constant(null) }, { weight: 4, arbitrary: some })

/** Often the last day of a month, and often with a time of day. */
const dayAndTime = fc
  .tuple(
    fc.oneof(
      fc.integer({ min: 0, max: 500 }).map((day) => FIRST_START + day * DAY_S),
      fc.constantFrom(
        ...['2023-01-31', '2023-08-31', '2023-11-30', '2023-12-31', '2024-02-29', '2024-03-01'].map(
          (text) => Date.parse(text) / 1_000,
        ),
      ),
    ),
    fc.oneof(fc.constantFrom(0, 0, 12 * 3_600), fc.integer({ min: 0, max: DAY_S - 1 })),
  )
  .map(([day, time]) => day + time)

/** Mostly in the second half of the period: before, there would be little to see. */
const asOf = fc.oneof(
  { weight: 5, arbitrary: fc.constant(null) },
  { weight: 3, arbitrary: fc.record({ known: fc.constant(null), way: fc.integer({ min: 500, max: 999 }) }) },
  { weight: 1, arbitrary: moment },
)

const times = fc.record({
  currency: fc.constantFrom('usd', 'usd', 'usd', 'jpy', 'bhd', 'clf'),
  cadence: fc.constantFrom<Cadence>('day', 'week', 'month', 'month', 'month', 'quarter', 'half_year', 'year'),
  startsAt: dayAndTime,
  anchor: fc.oneof(fc.constant(null), dayAndTime, fc.constantFrom(Date.UTC(2020, 1, 29) / 1_000)),
  /** How many periods after the one it starts in. */
  periods: fc.nat({ max: 2 }),
  ends: fc.constantFrom('never', 'never', 'never', 'never', 'inside', 'period', 'later'),
  canceled: fc.constantFrom('never', 'never', 'never', 'inside', 'period'),
  endWay: thousandths,
  cancelWay: thousandths,
  cutWays: fc.tuple(thousandths, thousandths),
  second: fc.constantFrom('first', 'last', 'between'),
})

type Times = typeof times extends fc.Arbitrary<infer T> ? T : never

/** The contract without its lines, the period, and what happens when. */
interface Frame {
  contract: Omit<ContractJson, 'lines'>
  /** What of the period the contract has. */
  period: NaiveRange
  /** Two times within the period at which lines may be replaced. */
  cuts: [number, number]
  second: number
  at: (moment: Moment) => number
}

function frameOf(of: Times): Frame {
  const schedule = { cadence: of.cadence, anchor_at: of.anchor ?? of.startsAt }
  let whole = naivePeriod(schedule, of.startsAt)
  for (let k = 0; k < of.periods; k++) whole = naivePeriod(schedule, whole.endAt)
  const from = Math.max(whole.startAt, of.startsAt)
  const inside = (way: number) => from + Math.ceil(((whole.endAt - from) * (way + 1)) / 1_001)
  const later = 2 * whole.endAt - whole.startAt
  const end = { never: Infinity, inside: inside(of.endWay), period: whole.endAt, later }[of.ends]
  const cancel = Math.min(
    end,
    { never: Infinity, inside: inside(of.cancelWay), period: whole.endAt }[of.canceled],
  )
  const isCanceled = of.canceled !== 'never'
  const period = { startAt: from, endAt: Math.min(whole.endAt, end, cancel) }
  const [a, b] = of.cutWays.map(inside).sort((one, other) => one - other)
  const cuts: [number, number] = [a ?? from, b ?? from]
  const edges = [from, period.endAt, whole.startAt, whole.endAt, ...cuts]
  const known = [...edges, period.endAt, ...edges.flatMap((edge) => [edge - 1, edge + 1])]
  const length = whole.endAt - whole.startAt
  return {
    contract: {
      id: '6f1d3f0e-0000-4000-8000-000000000001',
      account_id: 'account_a',
      currency: of.currency,
      cadence: of.cadence,
      anchor_at: schedule.anchor_at,
      starts_at: of.startsAt,
      ...(end !== Infinity && { ends_at: end }),
      ...(isCanceled && { cancel_at: cancel }),
    },
    period,
    cuts,
    second: { first: from, last: period.endAt - 1, between: Math.floor((from + period.endAt) / 2) }[
      of.second
    ],
    at: ({ known: number, way }) =>
      (number === null ? undefined : known[number % known.length]) ??
      whole.startAt - Math.floor(length / 8) + Math.floor((5 * length * way) / 4_000),
  }
}

const PROPERTIES = ['model', 'region', 'constructor']
/** Two are beyond the 65,536th code point or just below: JavaScript's own order is another. */
const VALUES = ['a', 'b', 'B', '1', 'true', '2.5', '\uFF5E', '\u{1F600}']
/** The first ones are met often. */
const value = fc.constantFrom('a', 'a', 'a', 'b', 'b', ...VALUES)
/** All that a property may be; the last are told by nothing. */
const propertyValue = fc.oneof(
  { weight: 9, arbitrary: value },
  { weight: 2, arbitrary: fc.constantFrom<unknown>(1, 2.5, true, false, 'unnamed', 'x'.repeat(500)) },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(null, '', { a: 'a' }, ['a'], 'x'.repeat(501)) },
)
const properties = fc
  .tuple(often(propertyValue), often(propertyValue), seldom(propertyValue))
  .map((some) =>
    Object.fromEntries(
      PROPERTIES.flatMap((name, index) => (some[index] === null ? [] : [[name, some[index]]])),
    ),
  )

const values = fc.uniqueArray(value, { minLength: 1, maxLength: 5, size: 'max' })

type UsedTerms = Exclude<PriceTerms, { model: 'flat' }>
/** Most without bounds: a minimum hides what lies below it. */
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

/** By product: what usage of metrics and of the own currency feeds, what other currencies feed, and what nothing does. */
const priced = fc.record({
  a: fc.array(usageTerms, { minLength: 3, maxLength: 3 }),
  b: fc.array(usageTerms, { minLength: 3, maxLength: 3 }),
  x: fc.array(usageTerms.filter(isNoPercentage), { minLength: 2, maxLength: 2 }),
  fixed: fc.array(flatTerms, { minLength: 2, maxLength: 2 }),
  stated: fc.array(terms.filter(isNoPercentage), { minLength: 3, maxLength: 3 }),
})

type Product = 'a' | 'b' | 'x' | 'fixed' | 'stated'

/** Without what is there by default. */
function priceToJson(product: Product, currency: string, of: PriceTerms): PriceJson {
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

const priceId = (product: Product, index: number): string =>
  `price_${product}${index % { a: 3, b: 3, x: 2, fixed: 2, stated: 3 }[product]}`

/** `own` is the contract's currency, and `eur` never is. */
const SOURCES = [...Array<'metric_t'>(5).fill('metric_t'), 'metric_u', 'own', 'eur'] as const

const rate = fc.record({
  source: fc.constantFrom(...SOURCES, null),
  aggregation: fc.constantFrom<NonNullable<RateJson['aggregation']>>(
    ...['sum', 'sum', 'sum', 'count', 'count', 'max', 'min', 'avg', 'latest'].map(
      (name) => name as NonNullable<RateJson['aggregation']>,
    ),
  ),
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
  /** In force ever; replaced by one of other prices; from a time on; until then; between two. */
  lasting: fc.constantFrom('ever', 'ever', 'replaced', 'replaced', 'replaced', 'from', 'until', 'between'),
  when: fc.tuple(moment, moment),
})

type RateDraw = typeof rate extends fc.Arbitrary<infer T> ? T : never

/** A card's rates: those that overlap one before are refused. */
function cardOf(draws: readonly RateDraw[], prefix: string, frame: Frame): RateJson[] {
  const card: RateJson[] = []
  const add = (one: Omit<RateJson, 'id'>) => {
    const named = { id: `rate_${prefix}${card.length + 1}`, ...one }
    if (findOverlap([...card, named].map(rateFromJson)) === undefined) card.push(named)
  }
  for (const draw of draws) {
    const [first = 0, second = 0] = draw.when.map(frame.at).sort((a, b) => a - b)
    const at = draw.lasting === 'replaced' || draw.lasting === 'until' ? second : first
    const starts_at = draw.lasting === 'from' || draw.lasting === 'between' ? first : 0
    const end = draw.lasting === 'between' ? second : at
    if (end <= starts_at && draw.lasting === 'between') continue
    const isEnding = draw.lasting === 'replaced' || draw.lasting === 'until' || draw.lasting === 'between'
    add({ starts_at, ...(isEnding && { ends_at: end }), ...pricedBy(draw, draw.price, frame) })
    if (draw.lasting === 'replaced') add({ starts_at: at, ...pricedBy(draw, draw.price + 1, frame) })
  }
  return card
}

/** What a rate measures and feeds; the prices of another number are others of the same product. */
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

const discount = fc.constantFrom('0', '0', '10', '12.5', '33.333', '100')
const positive = (max: bigint) => decimal(max).filter((text) => unitsOf(text) > 0n)

const override = fc.record({
  product: fc.constantFrom<Product>('a', 'a', 'b', 'b', 'x', 'fixed'),
  value: fc.oneof(fc.constantFrom(null, undefined), value),
  price: fc.nat({ max: 5 }),
})

type OverrideDraw = typeof override extends fc.Arbitrary<infer T> ? T : never

const cardLine = fc.record({
  card: fc.constantFrom('card_1', 'card_1', 'card_2'),
  overrides: fc.oneof(
    fc.constant<OverrideDraw[]>([]),
    fc.uniqueArray(override, { maxLength: 4, selector: ({ product, value }) => `${product} ${value}` }),
  ),
  discount,
})

const otherLine = fc.oneof(
  fc.record({
    kind: fc.constant('price' as const),
    price: fc.nat({ max: 2 }),
    quantity: fc.option(decimal(60n)),
    discount,
    from: moment,
    until: fc.option(moment),
  }),
  fc.record({
    kind: fc.constant('credit' as const),
    amount: positive(40n),
    of: fc.constantFrom('own', 'own', 'own', 'eur', 'metric_t'),
    isExpiring: fc.boolean(),
    from: moment,
    until: fc.option(moment),
  }),
)

const lines = fc.record({
  cards: fc.tuple(cardLine, cardLine, cardLine),
  /** How many times the card line is replaced, from which of the cuts on, and which of them is left out. */
  replaced: fc.constantFrom(0, 0, 1, 1, 2),
  cutFirst: fc.nat({ max: 1 }),
  gap: seldom(fc.nat({ max: 1 })),
  start: seldom(moment),
  minimums: fc.array(decimal(300n), { maxLength: 2 }),
  others: fc.array(otherLine, { maxLength: 4 }),
})

type LinesDraw = typeof lines extends fc.Arbitrary<infer T> ? T : never

function linesOf(draw: LinesDraw, prices: Record<string, PriceJson>, frame: Frame): LineJson[] {
  const { contract, cuts } = frame
  const last = contract.ends_at ?? Infinity
  const all: LineJson[] = []
  const add = (startsAt: number, endsAt: number | undefined, of: Omit<LineJson, 'id' | 'starts_at'>) => {
    const starts_at = Math.max(startsAt, contract.starts_at)
    const isEnding = endsAt !== undefined && endsAt < last
    if (starts_at >= last || (isEnding && endsAt <= starts_at)) return
    all.push({ id: `line_${all.length + 1}`, starts_at, ...(isEnding && { ends_at: endsAt }), ...of })
  }

  // What begins late does so at a time at which other things do, too.
  const start = draw.start === null ? 0 : Math.min(frame.at(draw.start), cuts[draw.cutFirst] ?? 0)
  const starts = [start, ...cuts.slice(draw.cutFirst).slice(0, draw.replaced)]
  for (const [index, startsAt] of starts.entries()) {
    const line = draw.cards[index]
    if (line === undefined || (draw.gap === index && starts.length > 1)) continue
    const { overrides, discount: percent } = line
    add(startsAt, starts[index + 1], {
      rate_card_id: line.card,
      ...(percent !== '0' && { discount_percent: percent }),
      ...(overrides.length > 0 && {
        price_overrides: overrides.map(({ product, value, price }) => ({
          product_id: `product_${product}`,
          ...(value !== undefined && { value }),
          price_id: priceId(product, price),
        })),
      }),
    })
  }
  for (const [index, minimum_amount] of draw.minimums.entries())
    add(index === 0 ? 0 : cuts[1], draw.minimums.length > 1 && index === 0 ? cuts[1] : undefined, {
      minimum_amount,
    })
  for (const line of draw.others) {
    const until = line.until === null ? undefined : frame.at(line.until)
    if (line.kind === 'price') {
      const price_id = priceId('stated', line.price)
      const quantity = prices[price_id]?.model === 'flat' ? null : line.quantity
      add(frame.at(line.from), until, {
        price_id,
        ...(quantity !== null && { quantity }),
        ...(line.discount !== '0' && { discount_percent: line.discount }),
      })
    } else {
      const source =
        line.of === 'metric_t'
          ? { metric_id: line.of }
          : {
              currency: line.of === 'own' ? contract.currency : line.of,
              ...(line.isExpiring && { expires: 'period_end' as const }),
            }
      add(frame.at(line.from), until, { credit: { amount: line.amount, ...source } })
    }
  }
  return all
}

/** Up to 20 digits before and 18 after the point. */
const anyQuantity = fc.bigInt(-(10n ** 38n) + 1n, 10n ** 38n - 1n).map(textOf)
/** A number: the end of a tier, of which there are so many in a world. */
const someQuantity = fc.oneof(
  { weight: 8, arbitrary: thousandths },
  { weight: 25, arbitrary: quantityText },
  { weight: 12, arbitrary: decimal(4n) },
  { weight: 1, arbitrary: anyQuantity },
)

const event = fc.record({
  source: fc.constantFrom(...SOURCES, 'metric_v'),
  quantity: someQuantity,
  occurred: moment,
  properties: often(properties),
  acceptedAfter: fc.oneof(fc.constantFrom(0, 1), fc.nat({ max: 40 * DAY_S })),
  corrections: fc.oneof(
    { weight: 4, arbitrary: fc.constant([]) },
    {
      weight: 1,
      arbitrary: fc.array(
        fc.record({ after: fc.integer({ min: 1, max: 20 * DAY_S }), quantity: fc.option(someQuantity) }),
        { maxLength: 2 },
      ),
    },
  ),
})

type EventDraw = typeof event extends fc.Arbitrary<infer T> ? T : never

function eventOf(
  draw: EventDraw,
  index: number,
  { contract, at }: Frame,
  ends: readonly string[],
): EventJson {
  const textOfQuantity = (some: string | number) =>
    typeof some === 'string' ? some : (ends[some % ends.length] ?? '10')
  const occurred_at = at(draw.occurred)
  const accepted_at = occurred_at + draw.acceptedAfter
  const corrections: NonNullable<EventJson['corrections']> = []
  let corrected_at = accepted_at
  for (const { after, quantity } of draw.corrections) {
    corrected_at += after
    corrections.push({
      corrected_at,
      ...(quantity === null ? { voided: true } : { quantity: textOfQuantity(quantity) }),
    })
    // Nothing comes after a void.
    if (quantity === null) break
  }
  return {
    id: `event_${index + 1}`,
    source: draw.source === 'own' ? contract.currency : draw.source,
    quantity: textOfQuantity(draw.quantity),
    occurred_at,
    accepted_at,
    ...(draw.properties && { properties: draw.properties }),
    ...(corrections.length > 0 && { corrections }),
  }
}

const grant = fc.record({
  amount: positive(90n),
  isNegative: fc.constantFrom(false, false, false, true),
  /** Null: long before. */
  effective: fc.option(moment, { freq: 2 }),
  expires: fc.option(moment, { freq: 2 }),
  voided: seldom(moment),
})

type GrantDraw = typeof grant extends fc.Arbitrary<infer T> ? T : never

function grantOf(draw: GrantDraw, index: number, { contract, at }: Frame): GrantJson {
  const effective_at = draw.effective ? at(draw.effective) : contract.starts_at - DAY_S
  const expires_at = draw.expires ? at(draw.expires) : 0
  return {
    id: `grant_${index + 1}`,
    amount: draw.isNegative ? `-${draw.amount}` : draw.amount,
    effective_at,
    ...(expires_at > effective_at && { expires_at }),
    ...(draw.voided && { voided_at: at(draw.voided) }),
  }
}

/** Worlds as the HTTP API would take them, with ids that are short names. */
export const randomWorld: fc.Arbitrary<RandomWorld> = fc
  .record({
    times,
    priced,
    cards: fc.tuple(
      fc.array(rate, { minLength: 3, maxLength: 9, size: 'max' }),
      fc.array(rate, { maxLength: 5, size: 'max' }),
    ),
    lines,
    events: fc.array(event, { minLength: 5, maxLength: 45, size: 'max' }),
    grants: fc.array(grant, { maxLength: 4 }),
    asOf,
    knownAt: seldom(moment),
    isTurned: fc.boolean(),
  })
  .map((draw) => {
    const frame = frameOf(draw.times)
    const { contract, second } = frame
    const prices: Record<string, PriceJson> = {}
    for (const [product, all] of Object.entries(draw.priced) as [Product, PriceTerms[]][])
      for (const [index, one] of all.entries())
        prices[priceId(product, index)] = priceToJson(product, contract.currency, one)
    const ends = Object.values(prices).flatMap(({ tiers = [] }) => tiers.flatMap(({ up_to }) => up_to ?? []))
    const [first, other] = draw.cards
    const turn = <T>(some: T[]): T[] => (draw.isTurned ? some.reverse() : some)
    return {
      world: {
        contract: { ...contract, lines: turn(linesOf(draw.lines, prices, frame)) },
        prices,
        rate_cards: { card_1: turn(cardOf(first, 'a', frame)), card_2: turn(cardOf(other, 'b', frame)) },
        events: turn(draw.events.map((one, index) => eventOf(one, index, frame, ends))),
        grants: turn(draw.grants.map((one, index) => grantOf(one, index, frame))),
      },
      request: {
        second,
        ...(draw.asOf && { as_of: frame.at(draw.asOf) }),
        ...(draw.knownAt && { known_at: frame.at(draw.knownAt) + 20 * DAY_S }),
      },
    }
  })
