import { type Ratio, RATIO_ZERO, subtractRatios } from '../../amount/ratio.ts'
import type { Invoice } from './invoice.ts'
import { groupOf, type Rateable } from './matches.ts'
import type { InvoicePlan, Piece } from './plan.ts'
import { compareCodePoints, type InvoiceLine } from './rate-usage.ts'

/** A number in the earlier invoice and in the current invoice. */
export interface NumberDifference {
  /** Null if the earlier invoice does not have the number. Then the number counts as 0. */
  then: Ratio | null
  now: Ratio | null
  /** `now` minus `then`. */
  difference: Ratio
}

/** Identifies a line in two invoices of one plan. */
export interface LineKey {
  lineId: string
  /** Null for a price that the contract names itself. */
  rateId: string | null
  value: string | null
  startAt: number
}

/** A line that is in one of the invoices, or in both. */
export interface LineDifference extends LineKey {
  quantity: NumberDifference
  amount: NumberDifference
}

/** The differences between an invoice and the invoice as it was known earlier. */
export interface InvoiceDifference {
  /** In the order of the invoice. */
  lines: LineDifference[]
  subtotal: NumberDifference
  minimumAdjustment: NumberDifference
  total: NumberDifference
  creditTotal: NumberDifference
  amountDue: NumberDifference
}

/** Compares two invoices of one plan. */
export function differenceOf(
  { pieces }: Pick<InvoicePlan, 'pieces'>,
  then: Invoice,
  now: Invoice,
): InvoiceDifference {
  const differenceIn = (part: 'subtotal' | 'minimumAdjustment' | 'total' | 'creditTotal' | 'amountDue') =>
    numberDifferenceOf(then[part], now[part])
  return {
    lines: linesOf(pieces, then.lines, now.lines),
    subtotal: differenceIn('subtotal'),
    minimumAdjustment: differenceIn('minimumAdjustment'),
    total: differenceIn('total'),
    creditTotal: differenceIn('creditTotal'),
    amountDue: differenceIn('amountDue'),
  }
}

/** The lines that count an event: one for each rate that matches the event, in each piece that contains its time. */
export function linesReachedBy(
  { pieces, asOf }: Pick<InvoicePlan, 'pieces' | 'asOf'>,
  event: Rateable & { occurredAt: number },
): (LineKey & { rateId: string })[] {
  const { occurredAt } = event
  return pieces
    .filter(({ startAt, endAt }) => startAt <= occurredAt && occurredAt < Math.min(endAt, asOf))
    .flatMap(({ line, startAt, rates }) =>
      rates.flatMap((rate) => {
        const value = groupOf(rate, event)
        return value === undefined ? [] : [{ lineId: line.id, rateId: rate.id, value, startAt }]
      }),
    )
}

function linesOf(
  pieces: readonly Piece[],
  then: readonly InvoiceLine[],
  now: readonly InvoiceLine[],
): LineDifference[] {
  const [before, after] = [byKey(then), byKey(now)]
  const placeOf = ({ lineId, rateId, startAt }: LineKey) => {
    const piece = pieces.findIndex(({ line, ...range }) => line.id === lineId && range.startAt === startAt)
    return { piece, rate: pieces[piece]?.rates.findIndex(({ id }) => id === rateId) ?? -1 }
  }
  return [...new Map([...before, ...after]).entries()]
    .map(([key, line]) => ({ key, id: keyOf(line), place: placeOf(keyOf(line)) }))
    .sort(
      (a, b) =>
        a.place.piece - b.place.piece || a.place.rate - b.place.rate || byValue(a.id.value, b.id.value),
    )
    .map(({ key, id }) => ({
      ...id,
      quantity: numberDifferenceOf(before.get(key)?.quantity, after.get(key)?.quantity),
      amount: numberDifferenceOf(before.get(key)?.amount, after.get(key)?.amount),
    }))
}

const keyOf = ({ lineId, rate, value, startAt }: InvoiceLine): LineKey => ({
  lineId,
  rateId: rate?.id ?? null,
  value,
  startAt,
})

const byKey = (lines: readonly InvoiceLine[]): Map<string, InvoiceLine> =>
  new Map(lines.map((line) => [JSON.stringify(keyOf(line)), line]))

/** Compares values for the order of an invoice. Null, which means all other values, comes last. */
function byValue(a: string | null, b: string | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  return compareCodePoints(a, b)
}

const numberDifferenceOf = (then: Ratio | undefined, now: Ratio | undefined): NumberDifference => ({
  then: then ?? null,
  now: now ?? null,
  difference: subtractRatios(now ?? RATIO_ZERO, then ?? RATIO_ZERO),
})
