import { setImmediate as nextRound } from 'node:timers/promises'

/** How long work may keep the event loop without a break. */
const WORK_MS = 5

/**
 * Steps that take no time to speak of, such as a line each, before the clock is looked at: that takes as long as one.
 */
export const SMALL_STEPS = 64

/** For long work on the event loop: everything else in the process waits meanwhile. */
export interface Yielder {
  /** To be asked at each step. */
  isDue(): boolean
  /** Goes on after everything else that waits for the event loop. */
  yieldToOthers(): Promise<void>
}

/** @param steps before each look at the clock */
export function yielder(steps = 1): Yielder {
  let since = performance.now()
  let left = steps
  return {
    isDue() {
      if (--left > 0) return false
      left = steps
      return performance.now() - since >= WORK_MS
    },
    async yieldToOthers() {
      await nextRound()
      since = performance.now()
    },
  }
}
