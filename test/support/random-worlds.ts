import fc from 'fast-check'
import type { PriceTerms } from '../../shared/domain/billing/price.ts'
import type {
  EventJson,
  GrantJson,
  InvoiceRequestJson,
  LineJson,
  PriceJson,
  WorldJson,
} from './billing-vectors.ts'
import { textOf, unitsOf } from './decimal-units.ts'
import {
  cardOf,
  priced,
  priceId,
  priceToJson,
  type Product,
  PROPERTIES,
  rate,
  SOURCES,
  value,
} from './random-cards.ts'
import { DAY_S, type Frame, frameOf, moment, often, seldom, thousandths, times } from './random-frames.ts'
import { decimal, quantityText } from './random-prices.ts'

/** The data by which a period is rated, and the requested period. */
export interface RandomWorld {
  world: WorldJson
  request: InvoiceRequestJson
}

// Why numbers are drawn first and combined later: a failing world can shrink part by part, and rates, lines, events and
// grants can have equal times, to the second.

/** Mostly in the second half of the period, because an earlier time would leave little usage. */
const asOf = fc.oneof(
  { weight: 5, arbitrary: fc.constant(null) },
  { weight: 3, arbitrary: fc.record({ known: fc.constant(null), way: fc.integer({ min: 500, max: 999 }) }) },
  { weight: 1, arbitrary: moment },
)

/** All kinds of property values; queries never find the last ones. */
const propertyValue = fc
  .oneof(
    { weight: 9, arbitrary: value },
    { weight: 2, arbitrary: fc.constantFrom<unknown>(1, 2.5, true, false, 'unnamed', 'x'.repeat(500)) },
    { weight: 1, arbitrary: fc.constantFrom<unknown>(null, '', { a: 'a' }, ['a'], 'x'.repeat(501)) },
  )
  .map((is) => ({ is }))
const properties = fc.tuple(often(propertyValue), often(propertyValue), seldom(propertyValue)).map((some) =>
  Object.fromEntries(
    PROPERTIES.flatMap((name, index) => {
      const one = some[index]
      return one ? [[name, one.is]] : []
    }),
  ),
)

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
  /** The number of times that the card line is replaced, and the cuts at which this happens. */
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

  // A contract that begins later begins at a time at which other things also begin.
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
/** A number selects the end of a tier of the world. */
const someQuantity = fc.oneof(
  { weight: 16, arbitrary: thousandths },
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
    // No correction follows a void.
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
  /** Null means long before the period. */
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

/** Worlds that the HTTP API would accept, with short names as ids. */
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
