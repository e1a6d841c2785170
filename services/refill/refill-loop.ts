import { setTimeout as sleep } from 'node:timers/promises'
import type { Activity } from '../../shared/lifecycle/activity.ts'
import { loggableError } from '../../shared/logging/loggable-error.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { RefillMetrics, RefillStep } from './refill-metrics.ts'

/** Repeated work of the refill service. */
export interface RefillLoop {
  /** Its name in metrics and the log. */
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
 * Does the work whenever it is due, until the signal aborts. Of several failures in a row only the first is logged as a
 * warning.
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
        log[isFailing ? 'debug' : 'warn'](facts, 'could not look after balances, trying again')
        isFailing = true
      }
    await sleep(checkMs, undefined, { signal }).catch(() => undefined)
  }
}
