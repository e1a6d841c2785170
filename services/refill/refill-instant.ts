/** How far the clocks of processes may be apart. */
const CLOCK_DIFFERENCE_MAX_MS = 60_000
const SECOND_MS = 1_000

/**
 * The whole second a refill is effective from, and at which it counts grants: now, but not before the last refill of the
 * configuration. Another process with a clock ahead of ours may have made that one, and we would not count it yet. A last
 * one much later than now was made under a test clock that was taken back since: it is a grant of the future, as for every
 * reader of the balance.
 *
 * @param now by the namespace's clock
 * @param last from when on the last refill is effective
 */
export function refillInstant(now: Date, last: Date | null): Date {
  const second = Math.floor(now.getTime() / SECOND_MS) * SECOND_MS
  const lastMs = last?.getTime() ?? -Infinity
  return new Date(lastMs > second && lastMs - second <= CLOCK_DIFFERENCE_MAX_MS ? lastMs : second)
}
