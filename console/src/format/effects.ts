import { compareDecimals, differenceOf, isNegative, isZero, sumDecimals } from './decimal.ts'

/** A number then and now, as the API writes it. */
interface Change {
  then: string | null
  now: string | null
  difference: string
}

/** The parts of a difference between two previews from which the amount that is due follows. */
interface Difference<Line> {
  lines: readonly Line[]
  minimum_adjustment: Change
  credit_total: Change
}

/** What one part of an invoice does to the amount that is due. `line` is null for the minimum and for credit. */
export interface Effect<Line> {
  kind: 'line' | 'minimum' | 'credit'
  line: Line | null
  amount: Change
  /** Decimal text: above 0 if more is due. */
  effect: string
}

/** What changed the amount that is due, the largest effect first. The effects add up to its difference, exactly. */
export function effectsOf<Line extends { amount: Change }>(difference: Difference<Line>): Effect<Line>[] {
  const { lines, minimum_adjustment: minimum, credit_total: credit } = difference
  const effects: Effect<Line>[] = [
    ...lines.map((line) => ({
      kind: 'line' as const,
      line,
      amount: line.amount,
      effect: line.amount.difference,
    })),
    { kind: 'minimum', line: null, amount: minimum, effect: minimum.difference },
    { kind: 'credit', line: null, amount: credit, effect: differenceOf(credit.difference, '0') },
  ]
  return effects
    .filter(({ effect }) => !isZero(effect))
    .sort((a, b) => compareDecimals(sizeOf(b.effect), sizeOf(a.effect)))
}

const sizeOf = (text: string): string => (isNegative(text) ? text.slice(1) : text)

/** An event that came or changed, with its content then and now. */
interface ChangedEvent<State> {
  occurred_at: number
  then: State | null
  now: State
}

interface EventState {
  quantity: string
  voided: boolean
}

export type EventChange = 'late' | 'new' | 'voided' | 'corrected'

/** A late event occurred before the time that is compared with, and came after it. */
export const changeOf = (
  { then, now, occurred_at: at }: ChangedEvent<EventState>,
  since: number,
): EventChange => (then === null ? (at < since ? 'late' : 'new') : now.voided ? 'voided' : 'corrected')

/** The quantity that counts in a state. */
export const countedIn = (state: EventState | null): string =>
  state === null || state.voided ? '0' : state.quantity

/** Events of one kind behind a line. */
export interface Cause {
  kind: EventChange
  count: number
  /** What they add to the quantity; undefined where quantities do not add up to that of the line. */
  quantity: string | undefined
}

/**
 * The events that changed a line, by kind.
 *
 * @param counts whether a state of an event counts in the line
 * @param difference the difference of the line's quantity. Without all events, or with another aggregation than a sum,
 *   the quantities of events do not explain it, and are left out
 */
export function causesOf<State extends EventState>(
  events: readonly ChangedEvent<State>[],
  since: number,
  counts: (state: State) => boolean,
  difference: string,
): Cause[] {
  const inLine = (state: State | null) => (state !== null && counts(state) ? state : null)
  const added = ({ then, now }: ChangedEvent<State>) =>
    differenceOf(countedIn(inLine(then)), countedIn(inLine(now)))
  const own = events.filter(({ then, now }) => inLine(then) !== null || inLine(now) !== null)
  const isExplained = compareDecimals(sumDecimals(own.map(added)), difference) === 0
  return (['late', 'new', 'corrected', 'voided'] as const).flatMap((kind) => {
    const some = own.filter((event) => changeOf(event, since) === kind)
    if (some.length === 0) return []
    return [{ kind, count: some.length, quantity: isExplained ? sumDecimals(some.map(added)) : undefined }]
  })
}
