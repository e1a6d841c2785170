import type { Queryable } from './pool.ts'

/** The database's current time, also within a transaction that began long ago. */
export async function readClock(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ at: Date }>('SELECT clock_timestamp() AS at')
  const [row] = rows
  if (row === undefined) throw new Error('the database returned no time')
  return row.at
}
