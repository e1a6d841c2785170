import { DomainError } from '../../errors/domain-error.ts'
import type { Pool } from '../core/pool.ts'

/** The name of the work that computes all rollups again. */
export const REBUILD = 'rebuild'

const TAKE = "SELECT pg_try_advisory_lock(hashtext('tally.command'), hashtext($1)) AS taken"
const GIVE_BACK = "SELECT pg_advisory_unlock(hashtext('tally.command'), hashtext($1))"

/**
 * Runs work that may run only once at a time, in any process. It holds a connection during that time.
 *
 * @throws DomainError conflict when it is already running
 */
export async function runExclusively<T>(pool: Pool, name: string, work: () => Promise<T>): Promise<T> {
  const db = await pool.connect()
  let lost: Error | undefined // and with it the lock
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
 * Whether work was not done because it runs elsewhere or was taken over: a conflict, from runExclusively or from the
 * work.
 */
export const isElsewhere = (err: unknown): boolean => err instanceof DomainError && err.code === 'conflict'
