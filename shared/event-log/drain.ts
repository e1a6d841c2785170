import { setTimeout as sleep } from 'node:timers/promises'
import { type EventLog, LOADER_GROUP } from './event-log.ts'
import { readTogether } from './read-together.ts'

/**
 * Waits until all usage that was accepted before the call is visible in ClickHouse.
 *
 * @returns false when that takes longer than timeoutMs
 */
export type Drain = (timeoutMs: number) => Promise<boolean>

const LOOK_FIRST_MS = 20
const LOOK_LAST_MS = 250

/**
 * Makes a Drain. An event is in the log before its report is answered. So it is enough to read the end offsets of the
 * log now, and to wait until the loaders have committed these offsets. This needs no clock, and does not wait for
 * events that are accepted later.
 */
export function drainOf(log: Pick<EventLog, 'lag'>): Drain {
  // Reads of the lag are shared, because reports use the same connections. Clients may often ask for events that nobody
  // reported, and each such request reads the lag.
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
