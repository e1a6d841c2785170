import { type Clock, type Micros, MICROS_PER_MS } from './microsecond-clock.ts'

/**
 * Its pace while the wall clock is behind. Below 1, so that the wall clock catches up; not much lower, because the
 * list of events waits for whole seconds of it to end.
 */
const PACE = 0.5

/** A clock that follows another, and never goes back. */
export interface RisingClock {
  /** A time later than any before. */
  next(): Micros
  /**
   * A time later than any before, without reading the other clock, which may be wrong: it goes on slowly from its
   * last time.
   */
  goOn(): Micros
  /** From now on no earlier time is shown. */
  raiseTo(at: Micros): void
  /** The last time it has shown, or was raised to; minus infinity before that. */
  reached(): Micros
  /** How far it is ahead of the clock that it follows, because that was set back, or was ahead before. */
  lead(): Micros
}

/**
 * Follows a wall clock. When that is set back, it goes on at half the pace until the wall clock has passed it.
 *
 * @param monotonicMs a clock that is never set
 */
export function risingClock(wall: Clock, monotonicMs: () => number = () => performance.now()): RisingClock {
  let last = -Infinity
  /**
   * Where it goes on by itself: the last time of the wall clock that it showed, or was raised to, and when that was.
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
