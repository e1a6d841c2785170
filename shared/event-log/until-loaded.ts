import { DomainError } from '../errors/domain-error.ts'
import { drainOf } from './drain.ts'
import type { EventLog } from './event-log.ts'

/**
 * Waits until all events that are in the event log now are visible in ClickHouse.
 *
 * @throws DomainError overloaded when that takes too long
 */
export type UntilLoaded = () => Promise<void>

/** @param timeoutMs the longest time to wait */
export function untilLoadedIn(log: Pick<EventLog, 'lag'>, timeoutMs: number): UntilLoaded {
  const drain = drainOf(log)
  return async () => {
    if (!(await drain(timeoutMs)))
      throw new DomainError(
        'overloaded',
        'the latest usage is not loaded yet, and may include this event: try again',
      )
  }
}
