import { monthsAfter } from '../month.ts'
import { DAY_S, type TimeRange } from '../time-range.ts'

/** The length of a contract's periods. */
export type Cadence = 'day' | 'week' | 'month' | 'quarter' | 'half_year' | 'year'

/** Decides when periods begin. */
export interface Schedule {
  /** One of the boundaries, in Unix seconds. There are periods before it, too. */
  anchorAt: number
  cadence: Cadence
}

/** Cadences of a fixed length, in seconds. */
const LENGTH_S: Partial<Record<Cadence, number>> = { day: DAY_S, week: 7 * DAY_S }

/** The other cadences, in months of the UTC calendar. */
const MONTHS: Partial<Record<Cadence, number>> = { month: 1, quarter: 3, half_year: 6, year: 12 }

/**
 * The second at which a period begins and the period before it ends.
 *
 * @param k the number of periods after the anchor; negative for periods before the anchor
 * @returns Unix seconds. Boundaries keep the anchor's time and day of the month; in a month without that day, the
 *   boundary is on the last day
 */
export function boundary({ anchorAt, cadence }: Schedule, k: number): number {
  const length = LENGTH_S[cadence]
  // Why each boundary is computed from the anchor: if it were computed from the boundary before, a 31st would become
  // the 28th in February and stay so in all later months.
  return length === undefined ? monthsAfter(anchorAt, k * monthsOf(cadence)) : anchorAt + k * length
}

/** The index k of the period that contains a second: boundary(k) ≤ second < boundary(k + 1). */
export function periodIndex(schedule: Schedule, second: number): number {
  const { anchorAt, cadence } = schedule
  const length = LENGTH_S[cadence]
  if (length !== undefined) return Math.floor((second - anchorAt) / length)
  // The boundary k may lie after `second`, later in the same month.
  const k = Math.floor((monthNumber(second) - monthNumber(anchorAt)) / monthsOf(cadence))
  return boundary(schedule, k) <= second ? k : k - 1
}

/** The whole period that contains a second, even if the contract covers only a part of it. */
export function periodAt(schedule: Schedule, second: number): TimeRange {
  const k = periodIndex(schedule, second)
  return { startAt: boundary(schedule, k), endAt: boundary(schedule, k + 1) }
}

function monthsOf(cadence: Cadence): number {
  const months = MONTHS[cadence]
  if (months === undefined) throw new RangeError(`${cadence} is no cadence of months`)
  return months
}

/** Months since January of the year 0. */
function monthNumber(second: number): number {
  const date = new Date(second * 1_000)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}
