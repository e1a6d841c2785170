/** How far the clocks of processes may be apart. */
const CLOCK_DIFFERENCE_MAX_MS = 60_000
const SECOND_MS = 1_000

/**
 * The whole second refills are effective from, and at which they count grants: now, but not before the last refill of
 * one of the configurations. Another process with a clock ahead of ours may have made that one, and we would not count
 * it yet. A last one much later than now was made under a test clock that was taken back since: it is a grant of the
 * future, as for every reader of the balance.
 *
 * @param now by the namespace's clock
 * @param last from when on the last refills are effective; null stands for none
 */
export function refillInstant(now: Date, last: readonly (Date | null)[]): Date {
  const second = Math.floor(now.getTime() / SECOND_MS) * SECOND_MS
  const times = last.map((at) => at?.getTime() ?? second)
  return new Date(Math.max(second, ...times.filter((ms) => ms - second <= CLOCK_DIFFERENCE_MAX_MS)))
}
