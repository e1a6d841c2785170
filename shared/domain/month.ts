/** The start of the UTC month that contains a second; both in Unix seconds. */
export function monthOf(second: number): number {
  const date = new Date(second * 1_000)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / 1_000
}

/**
 * The same day and time some months later. If that month has no such day, its last day.
 *
 * @param second Unix seconds. The result is in Unix seconds, too
 * @param months negative for earlier months
 */
export function monthsAfter(second: number, months: number): number {
  const date = new Date(second * 1_000)
  const day = date.getUTCDate()
  date.setUTCDate(1) // a day that every month has, so that setUTCMonth skips no month
  date.setUTCMonth(date.getUTCMonth() + months)
  date.setUTCDate(Math.min(day, daysOfMonth(date)))
  return date.getTime() / 1_000
}

const daysOfMonth = (date: Date): number =>
  new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()

/** The start of the UTC month after the one that contains a second; both in Unix seconds. */
export function monthAfter(second: number): number {
  const date = new Date(second * 1_000)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) / 1_000
}
