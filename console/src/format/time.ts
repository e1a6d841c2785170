/** Where instants are shown. Days are UTC days in both. */
export type Zone = 'utc' | 'local'

export const DAY_S = 86_400

const isoOf = (seconds: number): string => new Date(seconds * 1_000).toISOString()

/** The UTC day of an instant, as `2026-11-28`. */
export const utcDay = (seconds: number): string => isoOf(seconds).slice(0, 10)

/** The first second of the UTC day of an instant. */
export const startOfDay = (seconds: number): number => seconds - (((seconds % DAY_S) + DAY_S) % DAY_S)

/** An instant to the second, as `2026-11-28 09:30:00`. */
export function instantText(seconds: number, zone: Zone, timeZone?: string): string {
  if (zone === 'utc') return isoOf(seconds).slice(0, 19).replace('T', ' ')
  // Sweden writes dates with the year first, and hours from 0 to 23.
  const format = new Intl.DateTimeFormat('sv-SE', {
    dateStyle: 'short',
    timeStyle: 'medium',
    ...(timeZone === undefined ? {} : { timeZone }),
  })
  return format.format(new Date(seconds * 1_000))
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** A UTC day for an axis: `28 Nov`, or `28 Nov 2025` where the year has to be said. */
export function dayLabel(seconds: number, withYear: boolean): string {
  const date = new Date(seconds * 1_000)
  const day = `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()] ?? ''}`
  return withYear ? `${day} ${date.getUTCFullYear()}` : day
}

/** A UTC month for an axis: `Nov`, or `Nov 2025` where the year has to be said. */
export function monthLabel(seconds: number, withYear: boolean): string {
  const date = new Date(seconds * 1_000)
  return (MONTHS[date.getUTCMonth()] ?? '') + (withYear ? ` ${date.getUTCFullYear()}` : '')
}

/** What usage is added up by: UTC days or calendar months. */
export type Period = 'day' | 'month'

/** A UTC day or month by its first second: `2026-11-28` or `2026-11`. */
export const periodText = (seconds: number, period: Period): string =>
  period === 'day' ? utcDay(seconds) : utcDay(seconds).slice(0, 7)

/** The first second of the UTC month of an instant. */
export const startOfMonth = (seconds: number): number =>
  Date.parse(`${utcDay(seconds).slice(0, 7)}-01T00:00:00Z`) / 1_000

export const startOfPeriod = (seconds: number, period: Period): number =>
  period === 'day' ? startOfDay(seconds) : startOfMonth(seconds)

const DAY = /^\d{4}-\d{2}-\d{2}$/
const INSTANT = /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2})(:\d{2})?)?$/

/**
 * Reads a UTC day, `2026-11-28`. @returns its first second; undefined if there is no such day
 *
 * @internal
 */
export const parseDay = (text: string): number | undefined =>
  DAY.test(text) ? parseInstant(text) : undefined

/**
 * Reads an instant in UTC: a day, or a day and a time, `2026-11-28 09:30` or `2026-11-28 09:30:15`.
 *
 * @returns Unix seconds; undefined if there is no such instant
 */
export function parseInstant(text: string): number | undefined {
  const [match, day = '', minutes = '00:00', seconds = ':00'] = INSTANT.exec(text.trim()) ?? []
  if (match === undefined) return undefined
  const parsed = Date.parse(`${day}T${minutes}${seconds}Z`)
  // A browser takes 31 February for 3 March.
  return isNaN(parsed) || utcDay(parsed / 1_000) !== day ? undefined : parsed / 1_000
}

/** A range of whole UTC days, both included. */
export interface DayRange {
  from: string
  to: string
}

/** The last days up to today. */
export const lastDays = (now: number, days: number): DayRange => ({
  from: utcDay(startOfDay(now) - (days - 1) * DAY_S),
  to: utcDay(now),
})

/** The month of now up to today, and the whole month before. */
export function monthsOf(now: number): { current: DayRange; before: DayRange } {
  const today = utcDay(now)
  const first = `${today.slice(0, 7)}-01`
  const end = (parseDay(first) ?? now) - 1
  return {
    current: { from: first, to: today },
    before: { from: `${utcDay(end).slice(0, 7)}-01`, to: utcDay(end) },
  }
}

/** The most days that one request may ask for. */
const DAYS_MAX = 3_700

/** The days that rows by day are of; undefined if there are none. */
export function rangeOfRows(rows: readonly { startAt: number }[]): DayRange | undefined {
  const [first, last] = [rows[0], rows.at(-1)]
  return first === undefined || last === undefined
    ? undefined
    : { from: utcDay(first.startAt), to: utcDay(last.startAt) }
}

/** The half-open range of the API. @returns what is wrong with the range, if something is */
export function secondsOf({ from, to }: DayRange): { startAt: number; endAt: number } | string {
  const [startAt, last] = [parseDay(from), parseDay(to)]
  if (startAt === undefined) return `${from} is no day: write it as 2026-11-28`
  if (last === undefined) return `${to} is no day: write it as 2026-11-28`
  if (last < startAt) return 'the range ends before it begins'
  if ((last - startAt) / DAY_S >= DAYS_MAX) return `a range has at most ${DAYS_MAX} days`
  return { startAt, endAt: last + DAY_S }
}

/** How long ago an instant was, for what is fresh: `now`, `12 s ago`, `3 min ago`, `5 h ago`, `9 days ago`. */
export function agoText(seconds: number): string {
  if (seconds < 2) return 'now'
  if (seconds < 60) return `${Math.floor(seconds)} s ago`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 2 * DAY_S) return `${Math.floor(seconds / 3_600)} h ago`
  return `${Math.floor(seconds / DAY_S)} days ago`
}

/** How far apart two times are, in one whole unit: `12 s`, `3 min`, `5 h`, `1 day`. @param seconds on either side of 0 */
export function distanceText(seconds: number): string {
  const apart = Math.abs(seconds)
  if (apart < 60) return `${apart} s`
  if (apart < 3_600) return `${Math.floor(apart / 60)} min`
  if (apart < DAY_S) return `${Math.floor(apart / 3_600)} h`
  const days = Math.floor(apart / DAY_S)
  return `${days} ${days === 1 ? 'day' : 'days'}`
}
