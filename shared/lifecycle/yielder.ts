import { setImmediate as nextRound } from 'node:timers/promises'

/** The longest time that work may run on the event loop without a break. */
const WORK_MS = 5

/**
 * The number of very short steps between two readings of the clock, for example if each step handles one line. Reading
 * the clock takes as long as one such step.
 */
export const SMALL_STEPS = 64

/** Divides long work on the event loop: everything else in the process waits until the work yields. */
export interface Yielder {
  /** Whether the work must yield now. Call it at each step. */
  isDue(): boolean
  /** Resolves after everything else that waits for the event loop has run. */
  yieldToOthers(): Promise<void>
}

/** @param steps the number of steps between two readings of the clock */
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
