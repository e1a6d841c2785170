/** The maximum difference between the clocks of processes. */
const CLOCK_DIFFERENCE_MAX_MS = 60_000
const SECOND_MS = 1_000

/**
 * The whole second from which refills are effective, and at which grants are summed. It is now, or the time of the last
 * refill of one of the configurations if that is later: a process whose clock is ahead may have made that refill, and
 * the sum must include it. A last refill much later than now was made under a test clock that was set back since. Such
 * a refill is not in force yet, here as for every reader of the balance.
 *
 * @param now by the namespace's clock
 * @param last the times from which the last refills are effective; null means no refill
 */
export function refillInstant(now: Date, last: readonly (Date | null)[]): Date {
  const second = Math.floor(now.getTime() / SECOND_MS) * SECOND_MS
  const times = last.map((at) => at?.getTime() ?? second)
  return new Date(Math.max(second, ...times.filter((ms) => ms - second <= CLOCK_DIFFERENCE_MAX_MS)))
}
