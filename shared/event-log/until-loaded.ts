import { DomainError } from '../errors/domain-error.ts'
import { drainOf } from './drain.ts'
import type { EventLog } from './event-log.ts'

/**
 * Waits until all that the event log holds now can be seen in ClickHouse.
 *
 * @throws DomainError overloaded when that takes too long
 */
export type UntilLoaded = () => Promise<void>

/** @param timeoutMs how long it may take */
export function untilLoadedIn(log: Pick<EventLog, 'lag'>, timeoutMs: number): UntilLoaded {
  const drain = drainOf(log)
  return async () => {
    if (!(await drain(timeoutMs)))
      throw new DomainError(
        'overloaded',
        'the usage reported last is not loaded yet, and this event may be among it: try again',
      )
  }
}
