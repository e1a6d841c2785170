import { DAY_S, dayLabel, instantText, startOfDay, utcDay } from './time.ts'

/** The first second of the month that lies some months after the one of an instant. */
export function startOfMonth(seconds: number, monthsLater = 0): number {
  const date = new Date(seconds * 1_000)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + monthsLater, 1) / 1_000
}

/** A month: `Jan 2026`. */
export const monthText = (seconds: number): string => dayLabel(startOfMonth(seconds), true).slice(2)

const isMonth = (startAt: number, endAt: number): boolean =>
  startOfMonth(startAt) === startAt && startOfMonth(startAt, 1) === endAt

/**
 * A period from a second up to another one, which is not part of it: `Jan 2026`, `2026-01-15`, `2026-01-15 to
 * 2026-02-14`, or both instants where days are not whole.
 */
export function periodText(startAt: number, endAt: number): string {
  if (isMonth(startAt, endAt)) return monthText(startAt)
  if (startOfDay(startAt) !== startAt || startOfDay(endAt) !== endAt)
    return `${instantText(startAt, 'utc')} to ${instantText(endAt, 'utc')}`
  return endAt - startAt === DAY_S ? utcDay(startAt) : `${utcDay(startAt)} to ${utcDay(endAt - 1)}`
}

/** What the periods before and after a period are called: the months beside a month, otherwise only which one it is. */
export function besidePeriod(startAt: number, endAt: number): { before: string; after: string } {
  return isMonth(startAt, endAt)
    ? { before: monthText(startAt - 1), after: monthText(endAt) }
    : { before: 'Earlier', after: 'Later' }
}

/** An instant as it stands in an address: `2026-02-08T00:00:00`, in UTC. */
export const instantParameter = (seconds: number): string => instantText(seconds, 'utc').replace(' ', 'T')

const DAYS: Readonly<Record<string, number>> = { day: 1, week: 7 }
const MONTHS: Readonly<Record<string, number>> = { month: 1, quarter: 3, half_year: 6, year: 12 }

/**
 * A line of time has no room for more periods. A contract by the day that ends in 9999 has millions.
 *
 * @internal
 */
export const STARTS_MAX = 1_000

/**
 * The seconds in which periods begin; none if there are more than STARTS_MAX. They are always counted from the anchor:
 * from 31 January, months begin on 28 February and on 31 March.
 */
export function periodStarts(cadence: string, anchorAt: number, from: number, to: number): number[] {
  const [days, months] = [DAYS[cadence], MONTHS[cadence]]
  const startOf = (index: number): number =>
    days === undefined ? monthsAfter(anchorAt, index * (months ?? 1)) : anchorAt + index * days * DAY_S
  // A month is taken for so short or so long that the first index is never too late.
  const length = days ?? (months ?? 1) * (from < anchorAt ? 28 : 31)
  const starts: number[] = []
  for (let index = Math.floor((from - anchorAt) / (length * DAY_S)) - 1; ; index++) {
    const at = startOf(index)
    if (at > to) return starts
    if (at >= from && starts.push(at) > STARTS_MAX) return []
  }
}

/** The instant some months later, at the same time of the same day of the month, or of the last day it has. */
function monthsAfter(seconds: number, months: number): number {
  const first = startOfMonth(seconds, months)
  const daysOfIt = (startOfMonth(first, 1) - first) / DAY_S
  const [day, time] = [new Date(seconds * 1_000).getUTCDate(), seconds - startOfDay(seconds)]
  return first + (Math.min(day, daysOfIt) - 1) * DAY_S + time
}
