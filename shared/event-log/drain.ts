import { setTimeout as sleep } from 'node:timers/promises'
import { type EventLog, LOADER_GROUP } from './event-log.ts'
import { readTogether } from './read-together.ts'

/** Waits until all usage that was accepted before can be seen in ClickHouse. @returns false when that takes too long */
export type Drain = (timeoutMs: number) => Promise<boolean>

const LOOK_FIRST_MS = 20
const LOOK_LAST_MS = 250

/**
 * What was accepted is in the log before anybody hears of it, so it is enough to see where the log ends now and to wait
 * until the loaders have committed up to there: no clock is asked, and what is accepted meanwhile is not waited for.
 */
export function drainOf(log: Pick<EventLog, 'lag'>): Drain {
  // Whoever asks for events that nobody reported may do so often, and reports share these connections.
  const readLag = readTogether(() => log.lag(LOADER_GROUP))
  return async (timeoutMs) => {
    const deadline = performance.now() + timeoutMs
    let lags = await readLag()
    const ends = new Map(lags.map(({ partition, end }) => [partition, end]))
    const isBehind = () => lags.some(({ partition, committed }) => committed < (ends.get(partition) ?? 0))
    for (let waitMs = LOOK_FIRST_MS; isBehind(); waitMs = Math.min(waitMs * 2, LOOK_LAST_MS)) {
      const leftMs = deadline - performance.now()
      if (leftMs <= 0) return false
      await sleep(Math.min(waitMs, leftMs))
      lags = await readLag()
    }
    return true
  }
}
