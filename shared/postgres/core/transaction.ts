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
 * Runs work in one transaction that sees the rows of one namespace only: row level security compares each row's
 * namespace_id with the setting made here, a second line of defence behind the statements' own conditions.
 *
 * On a pool of requests, companies have their turn.
 *
 * @param work what it does outside of the database it may do again: a transaction that PostgreSQL ends because two wait
 *   for each other (two accounts that swap their external ids) has left nothing behind, and is run once more
 * @param lock what of the namespace the work locks first, in words of the caller's own: of those with the same words a
 *   few at a time take a connection, as the others would wait for that lock with theirs in hand
 * @throws DomainError overloaded when no turn comes in time, or another process does not give up a lock; nothing was
 *   done then
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

/**
 * The same, and leaves nothing behind: what the work writes it alone can read, and is rolled back when it resolves too.
 */
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
          'the same is being changed by others: nothing was done, try again',
          {
            cause: err,
          },
        )
      if (!isDeadlock(err) || attempt === ATTEMPTS_MAX) throw err
    }
  }
}

/**
 * Reads rows of every namespace in one transaction, where a table lets maintenance do so: what sends on or proves what
 * all companies have left behind. Nothing that answers a caller may use it.
 */
export const inEveryNamespace = <T>(pool: Pool, read: (db: PoolClient) => Promise<T>): Promise<T> =>
  run(pool, read, { begin: "BEGIN; SET LOCAL tally.every_namespace = 'on'" })

/** How a transaction ends whose work resolved. */
type End = 'COMMIT' | 'ROLLBACK'

/** @param begin one message, as each is a way to the database and back */
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
    db.release(broken) // a connection that cannot even roll back is thrown away
  }
}
