import { setImmediate as nextRound } from 'node:timers/promises'

/** How long work may run on the event loop without a break. */
const WORK_MS = 5

/**
 * The number of very short steps, such as a line each, between two looks at the clock: a look takes as long as one
 * step.
 */
export const SMALL_STEPS = 64

/** For long work on the event loop: everything else in the process waits until it yields. */
export interface Yielder {
  /** Call it at each step. */
  isDue(): boolean
  /** Resolves after everything else that waits for the event loop has run. */
  yieldToOthers(): Promise<void>
}

/** @param steps the number of steps between two looks at the clock */
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
