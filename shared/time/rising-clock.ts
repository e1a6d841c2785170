import { type Clock, type Micros, MICROS_PER_MS } from './microsecond-clock.ts'

/**
 * The pace of a rising clock while the wall clock is behind it. It is below 1, so that the wall clock catches up. It is
 * not much lower, because the list of events waits for whole seconds of the rising clock to end.
 */
const PACE = 0.5

/** A clock that follows another, and never goes back. */
export interface RisingClock {
  /** A time later than all times shown before. */
  next(): Micros
  /**
   * A time later than all times shown before. The other clock, which may be wrong, is not read: this clock goes on
   * slowly from its last time.
   */
  goOn(): Micros
  /** From now on only times later than `at` are shown. */
  raiseTo(at: Micros): void
  /** The last time that it has shown or was raised to; minus infinity when there is none. */
  reached(): Micros
  /** How far it is ahead of the clock that it follows, because the other clock was set back, or was ahead before. */
  lead(): Micros
}

/**
 * Follows a wall clock. When the wall clock is set back, the rising clock goes on at half the pace until the wall clock
 * has passed it.
 *
 * @param monotonicMs a clock that is never set
 */
export function risingClock(wall: Clock, monotonicMs: () => number = () => performance.now()): RisingClock {
  let last = -Infinity
  /**
   * From where it goes on by itself: the last time of the wall clock that it showed, or to which it was raised, and the
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
