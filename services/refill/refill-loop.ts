import { setTimeout as sleep } from 'node:timers/promises'
import type { Activity } from '../../shared/lifecycle/activity.ts'
import { loggableError } from '../../shared/logging/loggable-error.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { RefillMetrics, RefillStep } from './refill-metrics.ts'

/** Work of the refill service that comes again and again. */
export interface RefillLoop {
  /** By which metrics and the log name it. */
  step: RefillStep
  activity: Activity
  isDue: () => boolean
  /** One round; the signal ends it early. */
  work: (signal: AbortSignal) => Promise<void>
}

export interface RunLoopDeps {
  /** The pause after each look at whether the work is due. */
  checkMs: number
  metrics: Pick<RefillMetrics, 'failed'>
  log: Pick<Logger, 'warn' | 'debug'>
}

/** Does the work whenever it is due, until the signal; of failures in a row the first alone is a warning. */
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
