import { setImmediate as nextRound } from 'node:timers/promises'

/** For so long something is worked on without a break. */
const WORK_MS = 5

/** For long work on the event loop: everything else in the process waits meanwhile. */
export interface Breather {
  /** To be asked at each step. */
  isDue(): boolean
  /** Lets the others have their turn. */
  breathe(): Promise<void>
}

/** @param steps of the work that take no time to speak of: to look at the clock takes as long as a small one */
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
