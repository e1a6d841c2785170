import type { Queryable } from './pool.ts'

/** What time it is by the database, also within a transaction that has begun long ago. */
export async function readClock(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ at: Date }>('SELECT clock_timestamp() AS at')
  const [row] = rows
  if (row === undefined) throw new Error('the database tells no time')
  return row.at
}
