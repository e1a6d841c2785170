import { setTimeout as sleep } from 'node:timers/promises'
import { DomainError } from '../errors/domain-error.ts'
import { LOADER_GROUP, type EventLog } from './event-log.ts'

/**
 * Waits until all that the event log holds now can be seen in ClickHouse.
 *
 * @throws DomainError overloaded when that takes too long
 */
export type UntilLoaded = () => Promise<void>

const LOOK_FIRST_MS = 20
const LOOK_LAST_MS = 250

/** @param timeoutMs how long it may take */
export function untilLoadedIn(log: Pick<EventLog, 'lag'>, timeoutMs: number): UntilLoaded {
  return async () => {
    const giveUpAt = performance.now() + timeoutMs
    let lags = await log.lag(LOADER_GROUP)
    const ends = new Map(lags.map(({ partition, end }) => [partition, end]))
    const isBehind = () => lags.some(({ partition, committed }) => committed < (ends.get(partition) ?? 0))
    for (let waitMs = LOOK_FIRST_MS; isBehind(); waitMs = Math.min(waitMs * 2, LOOK_LAST_MS)) {
      if (performance.now() + waitMs > giveUpAt)
        throw new DomainError(
          'overloaded',
          'the usage reported last is not loaded yet, and this event may be among it: try again',
        )
      await sleep(waitMs)
      lags = await log.lag(LOADER_GROUP)
    }
  }
}
