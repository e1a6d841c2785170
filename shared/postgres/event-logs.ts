import type { Micros } from '../time/microsecond-clock.ts'
import type { Queryable } from './core/pool.ts'

/** The event log that every process must use. */
export interface LogInForce {
  id: string
  /** The time from which this log is in use; 0 for the first log. */
  since: Micros
}

const FIND = `
  SELECT id, CASE WHEN count(*) OVER () = 1 THEN 0 ELSE (extract(epoch FROM in_force_since) * 1000000)::bigint END AS since
  FROM event_logs ORDER BY in_force_since DESC LIMIT 1`
const ENTER = `
  INSERT INTO event_logs (id) VALUES ($1)
  ON CONFLICT (id) DO UPDATE SET in_force_since = clock_timestamp()`

export const eventLogRepository = (db: Queryable) => ({
  async findInForce(): Promise<LogInForce | undefined> {
    const { rows } = await db.query<{ id: string; since: string }>(FIND)
    return rows.map(({ id, since }) => ({ id, since: Number(since) }))[0]
  },

  /** Makes this log the one in use, from now on. */
  async enter(id: string): Promise<void> {
    await db.query(ENTER, [id])
  },
})
