import { setImmediate as nextRound } from 'node:timers/promises'

/** For so long something is worked on without a break. */
const WORK_MS = 5

/** Steps that take no time to speak of, such as a line each, before the clock is looked at: that takes as long as one. */
export const SMALL_STEPS = 64

/** For long work on the event loop: everything else in the process waits meanwhile. */
export interface Breather {
  /** To be asked at each step. */
  isDue(): boolean
  /** Lets the others have their turn. */
  breathe(): Promise<void>
}

/** @param steps before each look at the clock */
export function breather(steps = 1): Breather {
  let since = performance.now()
  let left = steps
  return {
    isDue() {
      if (--left > 0) return false
      left = steps
      return performance.now() - since >= WORK_MS
    },
    async breathe() {
      await nextRound()
      since = performance.now()
    },
  }
}
