import type { AnyRequest } from '../../../shared/http/operation.ts'
import { readClock } from '../../../shared/postgres/core/clock.ts'
import type { PoolClient } from '../../../shared/postgres/core/pool.ts'
import { secondsOf } from './body-fields.ts'

/**
 * The time of a change for the caller, in Unix seconds: this process's time or the database's, whichever is later. Call
 * it only after all locks of the change are held.
 *
 * Why the database's time, too: no change may get a time that an answered preview already covers. Previews cover times
 * by the database's clock (complete-up-to.ts), and this host's clock may be behind. Why not the time of the request:
 * the request may have waited for other requests, and these read agreements without its change.
 */
export async function changeTime(
  db: PoolClient,
  { clock, aheadMs }: Pick<AnyRequest, 'clock' | 'aheadMs'>,
): Promise<number> {
  const byDatabase = (await readClock(db)).getTime() + aheadMs
  return secondsOf(new Date(Math.max(clock().getTime(), byDatabase)))
}
