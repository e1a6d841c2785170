/** Microseconds since 1970 (UTC). A double holds them exactly until the year 2255. */
export type Micros = number

/** Reads the time. Every component that needs "now" gets a clock; tests pass their own. */
export type Clock = () => Micros

export const MICROS_PER_SECOND = 1_000_000
export const MICROS_PER_MS = 1_000

/** How far the wall clock and the monotonic clock may drift apart before the latter is adjusted, in microseconds. */
const DRIFT_MAX = 2_000

/**
 * If the wall clock is set back by more than this many microseconds, this clock follows. Otherwise each reading adds
 * one microsecond until the wall clock catches up.
 */
const SET_BACK_MAX = 1_000_000

/**
 * A clock with true microseconds that follows the system's wall clock. It never shows one microsecond twice, unless the
 * wall clock is set back by more than a second.
 *
 * Why not Date.now(): it has milliseconds, so two corrections of one event in the same millisecond would tie. Why not
 * performance.now() alone: it starts at the time of the wall clock and then ignores every adjustment of the wall clock.
 */
export function microsecondClock(
  wallMs: () => number = Date.now,
  monotonicMs: () => number = () => performance.now(),
): Clock {
  let anchor = wallMs() * 1_000 - monotonicMs() * 1_000
  let last = 0
  return () => {
    const wall = wallMs() * 1_000
    const elapsed = monotonicMs() * 1_000
    let now = Math.floor(anchor + elapsed)
    if (now < wall - DRIFT_MAX || now > wall + 1_000 + DRIFT_MAX) {
      anchor = wall - elapsed
      now = wall
    }
    last = now > last || last - now > SET_BACK_MAX ? now : last + 1
    return last
  }
}

/** The whole second that contains an instant, as in the API. */
export const unixSeconds = (at: Micros): number => Math.floor(at / MICROS_PER_SECOND)
