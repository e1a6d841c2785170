import type { AnyRequest } from '../../../shared/http/operation.ts'
import { readClock } from '../../../shared/postgres/core/clock.ts'
import type { PoolClient } from '../../../shared/postgres/core/pool.ts'
import { secondsOf } from './body-fields.ts'

/**
 * What time a change bears: for the caller, in Unix seconds, by this process and by the database, whichever is later.
 * To be asked once whatever the change waits for is locked.
 *
 * Why by the database, too: what was known up to a second is told by its clock, and a change that came later must not
 * bear that second because the clock of this host is behind. And why not when the request came: it may have waited for
 * others, who saw agreements as they were.
 */
export async function changeTime(
  db: PoolClient,
  { clock, aheadMs }: Pick<AnyRequest, 'clock' | 'aheadMs'>,
): Promise<number> {
  const byDatabase = (await readClock(db)).getTime() + aheadMs
  return secondsOf(new Date(Math.max(clock().getTime(), byDatabase)))
}
