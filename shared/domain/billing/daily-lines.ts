import {
  compareRatios,
  isZeroRatio,
  type Ratio,
  RATIO_ZERO,
  roundHalfUp,
  subtractRatios,
} from '../../amount/ratio.ts'
import { DAY_S } from '../time-range.ts'
import type { UsageSource } from '../usage-source.ts'
import type { Invoice } from './invoice.ts'
import type { InvoiceLine } from './rate-usage.ts'

/** What a row is about: a line that charges usage or something fixed, the contract's minimum, or usage without a rate. */
type DailyLineKind = 'usage' | 'fixed' | 'minimum' | 'unrated'

/** What one UTC day added to a line of an invoice. */
export interface DailyLine {
  /** In days since 1970. */
  day: number
  kind: DailyLineKind
  /** Undefined for a minimum and for usage without a rate. */
  line: Pick<InvoiceLine, 'lineId' | 'rate' | 'value' | 'price'> | undefined
  /** The source of the usage; null if no usage is measured. */
  source: UsageSource | null
  /** From when on the line is in force, in Unix seconds. */
  startAt: number
  added: Measures
  /** At the end of the day. Its exact amount is exact. */
  toDate: Measures
}

/** All have at most 18 decimal places, except the exact amount to date. */
interface Measures {
  quantity: Ratio
  events: bigint
  exactAmount: Ratio
  amount: Ratio
}

/** An invoice that counts only usage before some time. */
interface InvoiceAt {
  /** In Unix seconds. */
  before: number
  invoice: Pick<Invoice, 'lines' | 'minimumAdjustment' | 'unrated'>
}

type LineState = Omit<DailyLine, 'day' | 'added'>

const PLACES = 18
const NOTHING: Measures = { quantity: RATIO_ZERO, events: 0n, exactAmount: RATIO_ZERO, amount: RATIO_ZERO }

/** The lines of a period, which become more with the invoice of each day. */
export interface DailyLines {
  lines: DailyLine[]
  /**
   * Adds what a day added. Nothing of the invoice is kept but how far each line is.
   *
   * @param cut has the usage before the end of the day
   * @param isLast whether it has all usage
   */
  addDay: (cut: InvoiceAt, isLast: boolean) => void
}

/**
 * What each day added to the lines of an invoice. A line has an entry for its first day, and for each day on which
 * something changed. The entries of a line sum to the line of the last invoice; exact amounts do so after they are
 * rounded to 18 places.
 *
 * A line that begins later has its first entry on the day on which it begins, even if that day is yet to come.
 *
 * @param period the period of the invoices. They are of one plan, and are added in the order of their days
 */
export function dailyLines(period: { startAt: number }): DailyLines {
  const lines: DailyLine[] = []
  const known = new Map<string, LineState>()
  const addDay = ({ before, invoice }: InvoiceAt, isLast: boolean) => {
    const states = new Map(statesOf(period, invoice).map((state) => [keyOf(state), state]))
    for (const [key, state] of states) {
      if (state.startAt >= before && !isLast) continue
      const day = dayOf(Math.max(before - 1, state.startAt))
      const earlier = known.get(key)
      const added = subtract(state.toDate, earlier?.toDate ?? NOTHING)
      known.set(key, state)
      if (earlier === undefined || !isNothing(added)) lines.push({ ...state, day, added })
    }
    for (const [key, state] of known) {
      if (states.has(key)) continue
      known.delete(key)
      const gone = { ...state, day: dayOf(before - 1), toDate: NOTHING }
      lines.push({ ...gone, added: subtract(NOTHING, state.toDate) })
    }
  }
  return { lines, addDay }
}

const dayOf = (second: number): number => Math.floor(second / DAY_S)

const subtract = (a: Measures, b: Measures): Measures => ({
  quantity: subtractRatios(a.quantity, b.quantity),
  events: a.events - b.events,
  exactAmount: subtractRatios(roundHalfUp(a.exactAmount, PLACES), roundHalfUp(b.exactAmount, PLACES)),
  amount: subtractRatios(a.amount, b.amount),
})

const isNothing = ({ quantity, events, exactAmount, amount }: Measures): boolean =>
  events === 0n && [quantity, exactAmount, amount].every(isZeroRatio)

/** Identifies a line in all invoices of a plan. */
const keyOf = ({ kind, line, source, startAt }: LineState): string =>
  JSON.stringify(
    line === undefined ? [kind, source] : [line.lineId, line.rate?.id ?? null, line.value, startAt],
  )

function statesOf(
  { startAt }: { startAt: number },
  { lines, minimumAdjustment, unrated }: InvoiceAt['invoice'],
): LineState[] {
  const states = lines.map((line): LineState => {
    const { lineId, rate, value, price } = line
    const source = rate?.source ?? null
    return {
      kind: source === null ? 'fixed' : 'usage',
      line: { lineId, rate, value, price },
      source,
      startAt: line.startAt,
      toDate: {
        quantity: line.quantity,
        events: line.eventCount ?? 0n,
        exactAmount: line.exactAmount,
        amount: line.amount,
      },
    }
  })
  const whole = { line: undefined, startAt }
  if (compareRatios(minimumAdjustment, RATIO_ZERO) > 0)
    states.push({
      ...whole,
      kind: 'minimum',
      source: null,
      toDate: { ...NOTHING, exactAmount: minimumAdjustment, amount: minimumAdjustment },
    })
  for (const { source, eventCount, quantity } of unrated)
    states.push({
      ...whole,
      kind: 'unrated',
      source,
      toDate: { ...NOTHING, quantity, events: eventCount },
    })
  return states
}
