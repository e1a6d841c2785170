import pg from 'pg'
import { DomainError } from '../../errors/domain-error.ts'
import type { Pool, PoolClient } from './pool.ts'
import { turnsOf } from './pool-turns.ts'
import { isDeadlock, isLockTimeout } from './violations.ts'

const ATTEMPTS_MAX = 3

/** Runs work in one transaction: committed when it resolves, rolled back when it throws. */
export function withTransaction<T>(pool: Pool, work: (db: PoolClient) => Promise<T>): Promise<T> {
  return run(pool, work)
}

/**
 * Runs work in one transaction that sees the rows of one namespace only. Row level security compares each row's
 * namespace_id with the setting made here. This is a second safeguard, because the statements have conditions of their
 * own.
 *
 * On a pool with turns, companies take turns.
 *
 * @param work its effects outside of the database must be safe to repeat. If PostgreSQL ends the transaction because of
 *   a deadlock, nothing was written, and the work runs again, at most ATTEMPTS_MAX times. For example, two accounts
 *   that swap their external ids can cause a deadlock
 * @param lock the name of the lock that the work takes first in the namespace. Only a few transactions with the same
 *   name take a connection at a time. Further transactions would only hold a connection while they wait for that lock
 * @throws DomainError overloaded when it waits too long for a turn, or for a lock that another transaction holds.
 *   Nothing was written then
 */
export const inNamespace = <T>(
  pool: Pool,
  namespaceId: string,
  work: (db: PoolClient) => Promise<T>,
  lock?: string,
): Promise<T> => {
  const locks = lock === undefined ? undefined : turnsOf(pool)?.locks
  const run = () => runInNamespace(pool, namespaceId, work, 'COMMIT')
  return locks === undefined ? run() : locks.run(run, { tenant: `${namespaceId} ${lock}` })
}

/** Runs work as inNamespace does, but always rolls back. So only the work itself can read the rows that it writes. */
export const inNamespaceUndone = <T>(
  pool: Pool,
  namespaceId: string,
  work: (db: PoolClient) => Promise<T>,
): Promise<T> => runInNamespace(pool, namespaceId, work, 'ROLLBACK')

async function runInNamespace<T>(
  pool: Pool,
  namespaceId: string,
  work: (db: PoolClient) => Promise<T>,
  end: End,
): Promise<T> {
  const begin = `BEGIN; SET LOCAL tally.namespace_id = ${pg.escapeLiteral(namespaceId)}`
  const runOnce = () => run(pool, work, { begin, end })
  const turns = turnsOf(pool)?.connections
  for (let attempt = 1; ; attempt++) {
    try {
      return await (turns === undefined ? runOnce() : turns.run(runOnce, { tenant: namespaceId }))
    } catch (err) {
      if (isLockTimeout(err))
        throw new DomainError(
          'overloaded',
          'other requests are changing the same resource: nothing was done, try again',
          {
            cause: err,
          },
        )
      if (!isDeadlock(err) || attempt === ATTEMPTS_MAX) throw err
    }
  }
}

/**
 * Reads rows of every namespace in one transaction, from tables that allow it for maintenance. Only work that sends or
 * checks rows of all companies may use it, never code that answers a caller.
 */
export const inEveryNamespace = <T>(pool: Pool, read: (db: PoolClient) => Promise<T>): Promise<T> =>
  run(pool, read, { begin: "BEGIN; SET LOCAL tally.every_namespace = 'on'" })

/** How a transaction ends when its work has resolved. */
type End = 'COMMIT' | 'ROLLBACK'

/** @param begin it is one message, because each message costs a round trip to the database */
async function run<T>(
  pool: Pool,
  work: (db: PoolClient) => Promise<T>,
  { begin = 'BEGIN', end = 'COMMIT' }: { begin?: string; end?: End } = {},
): Promise<T> {
  const db = await pool.connect()
  let broken: Error | undefined
  try {
    await db.query(begin)
    const result = await work(db)
    await db.query(end)
    return result
  } catch (err) {
    await db.query('ROLLBACK').catch((rollbackErr: unknown) => {
      broken = rollbackErr instanceof Error ? rollbackErr : new Error(String(rollbackErr))
    })
    throw err
  } finally {
    db.release(broken) // a connection that cannot roll back is discarded
  }
}
