import {
  type EventJson,
  type LineJson,
  type PreviewJson,
  type PreviewLineJson,
  type PriceJson,
  type RateJson,
  termsFromJson,
  type WorldJson,
} from './billing-vectors.ts'
import {
  type Fraction,
  fractionOf,
  isLess,
  NOTHING,
  over,
  readFraction,
  writeFraction,
} from './naive-fraction.ts'
import type { NaiveRange } from './naive-periods.ts'
import { naiveCharge } from './naive-price.ts'
import { naiveGroup, naiveQuantity, naiveUnrated } from './naive-usage.ts'

/** A contract's line within a period. */
export interface NaivePiece extends NaiveRange {
  line: LineJson
  share: { seconds: number; of: number }
}

/** The decimal places of the currencies in tests, from ISO 4217. */
const MINOR_UNITS: Record<string, number> = { usd: 2, eur: 2, jpy: 0, bhd: 3, clf: 4 }

export function minorUnitsIn(currency: string): number {
  const minorUnits = MINOR_UNITS[currency]
  if (minorUnits === undefined) throw new Error(`no minor units of ${currency}`)
  return minorUnits
}

/**
 * The amount of a price for a part of a period.
 *
 * @param quantity as shown, for an average rounded
 * @param eventCount null if the quantity is agreed, not counted
 * @param exactQuantity the quantity that is priced
 * @returns null if the price is due once, and the line did not start in this part
 */
export function naiveLine(
  world: WorldJson,
  { line, share, startAt, endAt }: NaivePiece,
  priceId: string,
  quantity: string,
  eventCount: number | null,
  exactQuantity: Fraction = readFraction(quantity),
): PreviewLineJson | null {
  const price = priceOf(world, priceId)
  const terms = termsFromJson(price)
  const startsHere = startAt <= line.starts_at && line.starts_at < endAt
  if (terms.model === 'flat' && !terms.recurring && !startsHere) return null
  const discountPercent = line.discount_percent ?? '0'
  return {
    line_id: line.id,
    value: null,
    price_id: priceId,
    start_at: startAt,
    end_at: endAt,
    quantity: writeFraction(readFraction(quantity)),
    event_count: eventCount,
    discount_percent: discountPercent,
    share,
    ...naiveCharge(terms, {
      quantity: exactQuantity,
      isMeasured: eventCount !== null,
      share,
      discountPercent,
      startsHere,
      minorUnits: minorUnitsIn(price.currency),
    }),
  }
}

/** The lines of a card's rates, and the unrated usage: the events of a source that no rate covers. */
export interface NaiveCard {
  lines: PreviewLineJson[]
  warnings: PreviewJson['warnings']
  left: EventJson[][]
}

/** Computes the exact quantity. An average is a quotient, even if no decimal is exact. */
const exactlyOf = (events: readonly EventJson[], aggregation = 'sum'): Fraction =>
  aggregation === 'avg' && events.length > 0
    ? over(readFraction(naiveQuantity(events, 'sum')), fractionOf(events.length))
    : readFraction(naiveQuantity(events, aggregation))

/**
 * Rates the usage of a line that follows a card.
 *
 * @param events the events of the account that occurred in this part
 */
export function naiveCard(world: WorldJson, piece: NaivePiece, events: readonly EventJson[]): NaiveCard {
  const { line, startAt } = piece
  const rates = ratesAt(world.rate_cards[line.rate_card_id ?? ''] ?? [], startAt)
  const lines: PreviewLineJson[] = []
  const warnings: PreviewJson['warnings'] = []
  const used = new Set<object>()
  for (const rate of rates)
    for (const { value, price_id } of valuesOf(rate)) {
      const override = overrideOf(line, priceOf(world, price_id).product_id, value)
      if (override !== undefined) used.add(override)
      const priceId = override?.price_id ?? price_id
      const own = events.filter((event) => naiveGroup(rate, event) === value)
      const due =
        rate.source === undefined
          ? naiveLine(world, piece, priceId, '1', null)
          : naiveLine(
              world,
              piece,
              priceId,
              naiveQuantity(own, rate.aggregation ?? 'sum'),
              own.length,
              exactlyOf(own, rate.aggregation),
            )
      if (due === null) continue
      if (rate.group_by !== undefined && own.length === 0 && due.amount === '0') continue
      lines.push({ ...due, rate_id: rate.id, value })
      if (isLess(exactlyOf(own, rate.aggregation), NOTHING))
        warnings.push({ code: 'negative_quantity', line_id: line.id, rate_id: rate.id, value })
    }
  for (const override of line.price_overrides ?? [])
    if (!used.has(override)) warnings.push({ code: 'override_unused', line_id: line.id, override })

  const left: EventJson[][] = []
  for (const source of new Set(events.map((event) => event.source)))
    left.push(
      naiveUnrated(
        rates.filter((rate) => rate.source === source),
        events.filter((event) => event.source === source),
      ),
    )
  return { lines, warnings, left: left.filter((some) => some.length > 0) }
}

/** Compares in the order of an invoice: by start, then by id. */
export function byStart(a: { starts_at: number; id: string }, b: { starts_at: number; id: string }): number {
  if (a.starts_at !== b.starts_at) return a.starts_at < b.starts_at ? -1 : 1
  return a.id < b.id ? -1 : 1
}

function ratesAt(card: readonly RateJson[], second: number): RateJson[] {
  const inForce: RateJson[] = []
  for (const rate of card)
    if (rate.starts_at <= second && second < (rate.ends_at ?? Infinity)) inForce.push(rate)
  return inForce.sort(byStart)
}

/** The values that a rate prices: listed values by code point, then null for the rest. */
function valuesOf(rate: RateJson): { value: string | null; price_id: string }[] {
  const listed = [...(rate.prices ?? [])].sort((a, b) => (isBefore(a.value, b.value) ? -1 : 1))
  return rate.price_id === undefined ? listed : [...listed, { value: null, price_id: rate.price_id }]
}

function isBefore(a: string, b: string): boolean {
  const others = Array.from(b)
  for (const [index, character] of Array.from(a).entries()) {
    const other = others[index]
    if (other === undefined) return false
    const difference = (character.codePointAt(0) ?? 0) - (other.codePointAt(0) ?? 0)
    if (difference !== 0) return difference < 0
  }
  return true
}

/** The contract's own price of a product. A price for the value takes precedence over a price for all values. */
function overrideOf({ price_overrides = [] }: LineJson, productId: string | undefined, value: string | null) {
  for (const one of price_overrides) if (one.product_id === productId && one.value === value) return one
  for (const one of price_overrides) if (one.product_id === productId && one.value === undefined) return one
  return undefined
}

function priceOf(world: WorldJson, id: string): PriceJson {
  const price = world.prices[id]
  if (price === undefined) throw new Error(`no price ${id}`)
  return price
}
