import { setTimeout as sleep } from 'node:timers/promises'
import type { Activity } from '../../shared/lifecycle/activity.ts'
import { loggableError } from '../../shared/logging/loggable-error.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { RefillMetrics, RefillStep } from './refill-metrics.ts'

/** A loop of the refill service, which repeats its work. */
export interface RefillLoop {
  /** The name of the loop in metrics and in the log. */
  step: RefillStep
  activity: Activity
  isDue: () => boolean
  /** Runs one round; the signal ends it early. */
  work: (signal: AbortSignal) => Promise<void>
}

export interface RunLoopDeps {
  /** The pause between checks of whether the work is due. */
  checkMs: number
  metrics: Pick<RefillMetrics, 'failed'>
  log: Pick<Logger, 'warn' | 'debug'>
}

/**
 * Does the work whenever it is due, until the signal aborts. If it fails several times in a row, only the first failure
 * is logged as a warning.
 */
export async function runLoop(
  { step, activity, isDue, work }: RefillLoop,
  { checkMs, metrics, log }: RunLoopDeps,
  signal: AbortSignal,
): Promise<void> {
  let isFailing = false
  while (!signal.aborted) {
    if (isDue())
      try {
        await activity.attempt(() => work(signal))
        isFailing = false
      } catch (err) {
        metrics.failed(step)
        const facts = { err: loggableError(err), step }
        log[isFailing ? 'debug' : 'warn'](facts, 'a step of refills failed, trying again')
        isFailing = true
      }
    await sleep(checkMs, undefined, { signal }).catch(() => undefined)
  }
}
