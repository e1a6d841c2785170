import { monthAfter, monthOf, monthsAfter } from './month.ts'
import { DAY_S, type TimeRange } from './time-range.ts'

/** A unit of the UTC calendar by which usage is grouped. */
export type Period = 'day' | 'month'

/** The starts of all UTC days or months that overlap a half-open range, in order; empty for an empty range. */
export function periodStartsIn(period: Period, { startAt, endAt }: TimeRange): number[] {
  const starts: number[] = []
  if (startAt >= endAt) return starts
  for (let start = START_OF[period](startAt); start < endAt; start = NEXT[period](start)) starts.push(start)
  return starts
}

/** The number of UTC days that overlap a half-open range. */
export const daysIn = ({ startAt, endAt }: TimeRange): number =>
  startAt >= endAt ? 0 : Math.floor((endAt - 1) / DAY_S) - Math.floor(startAt / DAY_S) + 1

/**
 * The same UTC date and time some years earlier; 29 February becomes the 28th in a year without a 29th.
 *
 * @internal
 */
export const yearsBefore = (second: number, years: number): number =>
  Math.floor(monthsAfter(second, -12 * years))

/**
 * Calendar years before now: reported usage and the start of a new contract must not be older than this. The default
 * range of a request for usage begins at this time.
 */
export const YEARS_BACK = 5

/** The second that is YEARS_BACK years before `now`. Both are in Unix seconds. */
export const earliestSecond = (now: number): number => yearsBefore(now, YEARS_BACK)

const START_OF: Record<Period, (second: number) => number> = {
  day: (second) => second - (second % DAY_S),
  month: monthOf,
}

const NEXT: Record<Period, (start: number) => number> = {
  day: (start) => start + DAY_S,
  month: monthAfter,
}
