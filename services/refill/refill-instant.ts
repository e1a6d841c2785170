/** How much the clocks of processes may differ. */
const CLOCK_DIFFERENCE_MAX_MS = 60_000
const SECOND_MS = 1_000

/**
 * The whole second at which refills are effective and grants are counted: now, but not before the last refill of one of
 * the configurations. A process whose clock is ahead may have made that refill, and at our time it would not count yet.
 * A last refill much later than now was made under a test clock that was set back since. Such a refill does not count
 * yet, here as for every reader of the balance.
 *
 * @param now by the namespace's clock
 * @param last the times from which the last refills are effective; null means no refill
 */
export function refillInstant(now: Date, last: readonly (Date | null)[]): Date {
  const second = Math.floor(now.getTime() / SECOND_MS) * SECOND_MS
  const times = last.map((at) => at?.getTime() ?? second)
  return new Date(Math.max(second, ...times.filter((ms) => ms - second <= CLOCK_DIFFERENCE_MAX_MS)))
}
