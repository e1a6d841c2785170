import type { Queryable } from './pool.ts'

/** Reads the database's current time. Within a transaction, this is not the time at which the transaction began. */
export async function readClock(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ at: Date }>('SELECT clock_timestamp() AS at')
  const [row] = rows
  if (row === undefined) throw new Error('the database returned no time')
  return row.at
}
