import { type Clock, type Micros, MICROS_PER_MS } from './microsecond-clock.ts'

/**
 * How fast it goes on while the wall clock is behind. Slower than that one, so that it is caught up with; and not much
 * slower, because the list of events waits for whole seconds of it to end.
 */
const PACE = 0.5

/** A clock that follows another, and never goes back. */
export interface RisingClock {
  /** A time later than any that was shown or asked for before. */
  next(): Micros
  /** The same without a look at the other clock, which may be wrong: it goes on slowly from where it stands. */
  goOn(): Micros
  /** Nothing before this is shown from now on. */
  raiseTo(at: Micros): void
  /** What it has shown last, or was raised to; minus infinity before that. */
  reached(): Micros
  /** How far it is ahead of the clock that it follows: of one that was set back, or was ahead before. */
  lead(): Micros
}

/**
 * Follows a wall clock; once that is set back, goes on from where it stands at half its pace, until the wall clock has
 * passed it.
 *
 * @param monotonicMs a clock that nobody sets
 */
export function risingClock(wall: Clock, monotonicMs: () => number = () => performance.now()): RisingClock {
  let last = -Infinity
  /** From where it goes on by itself: what it showed of the wall clock last, or was raised to, and when that was. */
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
