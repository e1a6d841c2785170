/** Microseconds since 1970 (UTC). A double holds them exactly until the year 2255. */
export type Micros = number

/** Reads the time. Every component that needs the time gets a clock. Tests pass clocks of their own. */
export type Clock = () => Micros

export const MICROS_PER_SECOND = 1_000_000
export const MICROS_PER_MS = 1_000

/** If this clock differs from the wall clock by more than this many microseconds, it is set to the wall clock. */
const DRIFT_MAX = 2_000

/**
 * If the wall clock is set back by more than this many microseconds, this clock is set back, too. If it is set back by
 * less, each reading adds one microsecond until the wall clock has caught up.
 */
const SET_BACK_MAX = 1_000_000

/**
 * A clock with microseconds that follows the system's wall clock. It never returns the same time twice, unless the wall
 * clock is set back by more than a second.
 *
 * Why not Date.now(): it has only milliseconds, so two corrections of one event in the same millisecond would have the
 * same time. Why not performance.now() alone: it ignores every adjustment of the wall clock after the process started.
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

/** The whole second that contains an instant. The API has times in this unit. */
export const unixSeconds = (at: Micros): number => Math.floor(at / MICROS_PER_SECOND)
