/** The start of the UTC month a second lies in; both in Unix seconds. */
export function monthOf(second: number): number {
  const date = new Date(second * 1_000)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / 1_000
}

/** The start of the month after. @param month the start of a month, in Unix seconds */
export function monthAfter(month: number): number {
  const date = new Date(month * 1_000)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) / 1_000
}
