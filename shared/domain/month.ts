/** The start of the UTC month a second lies in; both in Unix seconds. */
export function monthOf(second: number): number {
  const date = new Date(second * 1_000)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / 1_000
}

/**
 * So many months later, at the same time of the same day; where the month has no such day, of its last.
 *
 * @param second in Unix seconds, as is what it gives
 * @param months negative: before
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

/** The start of the UTC month after the one a second lies in; both in Unix seconds. */
export function monthAfter(second: number): number {
  const date = new Date(second * 1_000)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) / 1_000
}
