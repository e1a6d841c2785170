import { type Clock, type Micros, MICROS_PER_MS } from './microsecond-clock.ts'

/**
 * The pace of a rising clock while the wall clock is behind it. The pace is below 1, so that the wall clock catches up.
 * It is not much lower, because the list of events shows what was accepted in a second only after the rising clock has
 * passed the end of that second.
 */
const PACE = 0.5

/** A clock that follows another clock, and never goes back. */
export interface RisingClock {
  /** Returns a time later than all times returned before. */
  next(): Micros
  /**
   * Returns a time later than all times returned before, without reading the other clock, which may be wrong. This
   * clock goes on slowly from its last time.
   */
  goOn(): Micros
  /** From now on, this clock returns only times later than `at`. */
  raiseTo(at: Micros): void
  /** The last time that this clock has returned or was raised to; minus infinity if there is none. */
  reached(): Micros
  /** By how much this clock is ahead of the other clock, for example because the other clock was set back. */
  lead(): Micros
}

/**
 * Follows a wall clock. When the wall clock is set back, the rising clock goes on at half the pace until the wall clock
 * has passed it.
 *
 * @param monotonicMs a clock that nobody can set
 */
export function risingClock(wall: Clock, monotonicMs: () => number = () => performance.now()): RisingClock {
  let last = -Infinity
  /**
   * The point from which goOn counts: the last time that was taken from the wall clock or from raiseTo, and the
   * monotonic time at that moment.
   */
  let base = { at: last, ms: 0 }
  const raiseTo = (at: Micros) => {
    if (at <= last) return
    last = at
    base = { at, ms: monotonicMs() }
  }
  const goOn = (): Micros => {
    const passed = Math.floor((monotonicMs() - base.ms) * MICROS_PER_MS * PACE)
    last = Math.max(last + 1, base.at + passed)
    return last
  }
  return {
    next() {
      const now = wall()
      if (now <= last) return goOn()
      raiseTo(now)
      return last
    },
    goOn,
    raiseTo,
    reached: () => last,
    lead: () => Math.max(0, last - wall()),
  }
}
