import { setTimeout as sleep } from 'node:timers/promises'
import { LOADER_GROUP, type EventLog } from '../../shared/event-log/event-log.ts'

/** Waits until all usage that was accepted before is counted. @returns false when that takes too long */
export type Drain = (timeoutMs: number) => Promise<boolean>

const POLL_MS = 50

/**
 * What was accepted is in the log before anybody hears of it, so it is enough to see where the log ends now and to wait
 * until the loaders have committed up to there: no clock is asked, and what is accepted meanwhile is not waited for.
 */
export function drainOf(eventLog: Pick<EventLog, 'lag'>): Drain {
  return async (timeoutMs) => {
    const deadline = performance.now() + timeoutMs
    const before = await eventLog.lag(LOADER_GROUP)
    const ends = new Map(before.map(({ partition, end }) => [partition, end]))
    for (let lags = before; ; lags = await eventLog.lag(LOADER_GROUP)) {
      if (lags.every(({ partition, committed }) => committed >= (ends.get(partition) ?? 0))) return true
      const left = deadline - performance.now()
      if (left <= 0) return false
      await sleep(Math.min(POLL_MS, left))
    }
  }
}
