import {
  compareRatios,
  isZeroRatio,
  parseRatio,
  type Ratio,
  RATIO_ONE,
  RATIO_ZERO,
} from '../../amount/ratio.ts'
import { groupBy } from '../../collections/group-by.ts'
import type { Aggregation } from '../usage-aggregate.ts'
import type { UsageSource } from '../usage-source.ts'
import { exactQuantityOf, type MeasuredUsage, mergeUsage, quantityOf } from './aggregate.ts'
import { type Charge, chargeOf, type ChargeRequest, isDueOnce } from './charge.ts'
import type { CardLine, PriceLine, PriceOverride } from './contract.ts'
import { groupOf, type Rateable, REST } from './matches.ts'
import type { Piece } from './plan.ts'
import { type Price, priceIn, type Prices, readTerms } from './price.ts'
import { findUseFault } from './price-rules.ts'
import type { Rate } from './rate.ts'

/**
 * Usage of one source, split by the named values of its events. `properties` has only named values: an event with any
 * other value counts as an event without the property.
 */
export interface UsageRow extends Rateable {
  usage: MeasuredUsage
}

/** A price, and the rate and the value that it is for. */
interface Priced {
  /** Null for a price that the contract names itself. */
  rate: Rate | null
  /** The value of the rate's group_by property; null for all other values, or for all usage. */
  value: string | null
  price: Price
}

/** The charge of one price for one piece. */
export interface InvoiceLine extends Charge, Priced {
  lineId: string
  /** In Unix seconds; the end is exclusive. */
  startAt: number
  endAt: number
  /**
   * For measured usage, the usage: it may be negative, and an average is rounded to 18 decimal places. Otherwise the
   * agreed quantity, or 1 for a fixed charge.
   */
  quantity: Ratio
  /** Null for a line that measures no usage. */
  eventCount: bigint | null
  /** Decimal text. */
  discountPercent: string
  share: Piece['share']
}

/** Something that a reader of an invoice should check. */
export type Warning =
  | { code: 'negative_quantity'; lineId: string; rateId: string; value: string | null }
  | { code: 'override_unused'; lineId: string; override: PriceOverride }

/** Usage within the time of card lines that no rate matches. */
export interface Unrated {
  source: UsageSource
  eventCount: bigint
  /** The sum of the quantities. */
  quantity: Ratio
}

export interface RatedPiece extends CardCharges {
  unrated: Unrated[]
}

/** The charges of a card line, and its warnings. */
interface CardCharges {
  lines: InvoiceLine[]
  warnings: Warning[]
}

/**
 * The charge of a line with a price and a stated quantity. Empty if the price is due once and was due in an earlier
 * piece.
 */
export function ratePriceLine(piece: Piece<PriceLine>, prices: Prices, minorUnits: number): InvoiceLine[] {
  const { line } = piece
  const price = priceIn(prices, line.priceId)
  const quantity = parseRatio(line.quantity)
  const due = invoiceLine(
    piece,
    { rate: null, value: REST, price },
    { quantity, eventCount: null },
    {
      quantity,
      isMeasured: false,
      share: piece.share,
      discountPercent: parseRatio(line.discountPercent),
      startsHere: startsWith(piece),
      minorUnits,
    },
  )
  return due === undefined ? [] : [due]
}

/**
 * The charges of a card line, and the usage that no rate of the card matches.
 *
 * @param rows usage of the account within the piece
 */
export function rateCardLine(
  piece: Piece<CardLine>,
  rows: readonly UsageRow[],
  prices: Prices,
  minorUnits: number,
): RatedPiece {
  const rowsBySource = groupBy(rows, ({ source }) => source)
  return {
    ...chargeCardLine(piece, rowsBySource, prices, minorUnits),
    unrated: unratedOf(piece.rates, rowsBySource),
  }
}

/**
 * The charges of a card line. Each rate is charged separately. An event is charged at most once per aggregation.
 *
 * @param rowsBySource usage of the account within the piece
 */
export function chargeCardLine(
  piece: Piece<CardLine>,
  rowsBySource: ReadonlyMap<UsageSource, readonly UsageRow[]>,
  prices: Prices,
  minorUnits: number,
): CardCharges {
  const startsHere = startsWith(piece)
  const discountPercent = parseRatio(piece.line.discountPercent)
  const used = new Set<PriceOverride>()
  const lines: InvoiceLine[] = []
  const warnings: Warning[] = []
  for (const rate of piece.rates) {
    const groups = groupRows(rate, rate.source === null ? [] : (rowsBySource.get(rate.source) ?? []))
    for (const { value, priceId } of pricedValues(rate)) {
      const price = agreedPrice(piece.line, { rate, value, price: priceIn(prices, priceId) }, prices, used)
      const usage = groups.get(value)
      const isMeasured = rate.source !== null
      const quantity = isMeasured ? exactQuantityOf(usage, rate.aggregation) : RATIO_ONE
      const counted = {
        quantity: isMeasured && rate.aggregation === 'avg' ? quantityOf(usage, 'avg') : quantity,
        eventCount: isMeasured ? (usage?.count ?? 0n) : null,
      }
      const line = invoiceLine(piece, { rate, value, price }, counted, {
        quantity,
        isMeasured,
        share: piece.share,
        discountPercent,
        startsHere,
        minorUnits,
      })
      if (line === undefined) continue
      if (rate.groupBy !== null && usage === undefined && isZeroRatio(line.amount)) continue
      lines.push(line)
      if (compareRatios(quantity, RATIO_ZERO) < 0)
        warnings.push({ code: 'negative_quantity', lineId: piece.line.id, rateId: rate.id, value })
    }
  }
  for (const override of piece.line.priceOverrides)
    if (!used.has(override)) warnings.push({ code: 'override_unused', lineId: piece.line.id, override })
  return { lines, warnings }
}

/** All values that a rate has prices for, in the order of the invoice: by code point, REST last. */
function pricedValues({ prices, priceId }: Rate): { value: string | null; priceId: string }[] {
  if (prices.length === 0) return priceId === null ? [] : [{ value: REST, priceId }]
  const listed = prices.toSorted((a, b) => compareCodePoints(a.value, b.value))
  return priceId === null ? listed : [...listed, { value: REST, priceId }]
}

/** Compares texts by code point. JavaScript's own comparison orders characters above U+FFFF differently. */
export const compareCodePoints = (a: string, b: string): number =>
  Buffer.compare(Buffer.from(a), Buffer.from(b))

function groupRows(rate: Rate, rows: readonly UsageRow[]): Map<string | null, MeasuredUsage> {
  const groups = new Map<string | null, MeasuredUsage>()
  for (const row of rows) {
    const group = groupOf(rate, row)
    if (group === undefined) continue
    const before = groups.get(group)
    groups.set(group, before ? mergeUsage(before, row.usage) : row.usage)
  }
  return groups
}

/**
 * The price that applies to a value: the contract's price for this value, otherwise the contract's price for all
 * values, otherwise the card's price. An override that does not fit the rate is ignored, because a card may have both a
 * usage price and a fixed charge for one product.
 */
function agreedPrice(
  { priceOverrides }: CardLine,
  { rate, value, price }: Priced & { rate: Rate },
  prices: Prices,
  used: Set<PriceOverride>,
): Price {
  if (priceOverrides.length === 0) return price
  const ofProduct = priceOverrides.filter(
    ({ productId, priceId }) =>
      productId === price.productId &&
      findUseFault(rate, priceIn(prices, priceId).terms, price.currency) === undefined,
  )
  const override =
    ofProduct.find((one) => one.value === value) ?? ofProduct.find((one) => one.value === undefined)
  if (override === undefined) return price
  used.add(override)
  return priceIn(prices, override.priceId)
}

/**
 * The usage of each source that no rate matches. Rates with different aggregations may each match all events, so the
 * unmatched events are counted for each aggregation. The result is the unmatched usage of the aggregation with the
 * fewest unmatched events. If two aggregations have equally many, the first by name decides.
 */
function unratedOf(
  rates: readonly Rate[],
  rowsBySource: ReadonlyMap<UsageSource, readonly UsageRow[]>,
): Unrated[] {
  const ratesBySource = groupBy(rates, ({ source }) => source)
  const unrated: Unrated[] = []
  for (const [source, rows] of rowsBySource) {
    const ofSource = ratesBySource.get(source) ?? []
    const aggregations = [...new Set(ofSource.map(({ aggregation }) => aggregation))].sort()
    const [first = rows, ...others] = aggregations.map((aggregation) => leftBy(ofSource, aggregation, rows))
    const left = others.reduce((least, other) => (countOf(other) < countOf(least) ? other : least), first)
    if (left.length > 0) unrated.push({ source, eventCount: countOf(left), quantity: sumOf(left) })
  }
  return unrated
}

const leftBy = (rates: readonly Rate[], aggregation: Aggregation, rows: readonly UsageRow[]): UsageRow[] =>
  rows.filter((row) =>
    rates.every((rate) => rate.aggregation !== aggregation || groupOf(rate, row) === undefined),
  )

const countOf = (rows: readonly UsageRow[]): bigint =>
  rows.reduce((count, { usage }) => count + usage.count, 0n)

const sumOf = (rows: readonly UsageRow[]): Ratio =>
  quantityOf(
    rows.map(({ usage }) => usage).reduce((a, b) => mergeUsage(a, b)),
    'sum',
  )

/** Whether a piece is the first of its line. */
const startsWith = ({ line, startAt }: Piece): boolean => line.startsAt === startAt

/**
 * @param counted the values that the invoice shows
 * @returns undefined if the price is due once and was due in an earlier piece of its line
 */
function invoiceLine(
  { line, startAt, endAt }: Piece<CardLine> | Piece<PriceLine>,
  { rate, value, price }: Priced,
  counted: Pick<InvoiceLine, 'quantity' | 'eventCount'>,
  request: ChargeRequest,
): InvoiceLine | undefined {
  if (isDueOnce(price.terms) && !request.startsHere) return undefined
  const { billableQuantity, tiers, bound, exactAmount, amount } = chargeOf(readTerms(price.terms), request)
  // Why no spread: see chargeOf.
  const due: InvoiceLine = {
    lineId: line.id,
    rate,
    price,
    startAt,
    endAt,
    value,
    quantity: counted.quantity,
    eventCount: counted.eventCount,
    discountPercent: line.discountPercent,
    share: request.share,
    billableQuantity,
    exactAmount,
    amount,
  }
  if (tiers !== undefined) due.tiers = tiers
  if (bound !== undefined) due.bound = bound
  return due
}
