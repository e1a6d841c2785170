import { DomainError } from '../../errors/domain-error.ts'
import type { Pool } from '../core/pool.ts'

/** The name of the work that computes all rollups again. */
export const REBUILD = 'rebuild'

const TAKE = "SELECT pg_try_advisory_lock(hashtext('tally.command'), hashtext($1)) AS taken"
const GIVE_BACK = "SELECT pg_advisory_unlock(hashtext('tally.command'), hashtext($1))"

/**
 * Runs work that only one process may run at a time. It holds a connection during that time.
 *
 * @throws DomainError conflict when the work is already running
 */
export async function runExclusively<T>(pool: Pool, name: string, work: () => Promise<T>): Promise<T> {
  const db = await pool.connect()
  let lost: Error | undefined // set when the connection is lost, and the lock with it
  try {
    const { rows } = await db.query<{ taken: boolean }>(TAKE, [name])
    if (rows[0]?.taken !== true)
      throw new DomainError('conflict', `${name} is under way already: one at a time`)
    try {
      return await work()
    } finally {
      await db.query(GIVE_BACK, [name]).catch((err: unknown) => {
        lost = err instanceof Error ? err : new Error(String(err))
      })
    }
  } finally {
    db.release(lost)
  }
}

/**
 * Whether work was not done because it runs elsewhere, or because another process has taken it over. In both cases the
 * error is a conflict, from runExclusively or from the work itself.
 */
export const isElsewhere = (err: unknown): boolean => err instanceof DomainError && err.code === 'conflict'
