/** The start of the UTC month that contains a second; both in Unix seconds. */
export function monthOf(second: number): number {
  const date = new Date(second * 1_000)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / 1_000
}

/**
 * The same day and time some months later; where the month has no such day, its last day.
 *
 * @param second in Unix seconds, as is the result
 * @param months negative: earlier
 */
export function monthsAfter(second: number, months: number): number {
  const date = new Date(second * 1_000)
  const day = date.getUTCDate()
  date.setUTCDate(1) // so that no month is skipped
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
