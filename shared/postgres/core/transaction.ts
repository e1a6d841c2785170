import type { Pool, PoolClient } from './pool.ts'
import { isDeadlock } from './violations.ts'

const ATTEMPTS_MAX = 3

/** Runs work in one transaction: committed when it resolves, rolled back when it throws. */
export function withTransaction<T>(pool: Pool, work: (db: PoolClient) => Promise<T>): Promise<T> {
  return run(pool, work)
}

/**
 * Runs work in one transaction that sees the rows of one namespace only: row level security compares each row's
 * namespace_id with the setting made here, a second line of defence behind the statements' own conditions.
 *
 * @param work what it does outside of the database it may do again: a transaction that PostgreSQL ends because two wait
 *   for each other (two accounts that swap their external ids) has left nothing behind, and is run once more
 */
export const inNamespace = <T>(
  pool: Pool,
  namespaceId: string,
  work: (db: PoolClient) => Promise<T>,
): Promise<T> => runInNamespace(pool, namespaceId, work, 'COMMIT')

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
  for (let attempt = 1; ; attempt++) {
    try {
      return await run(
        pool,
        async (db) => {
          await db.query("SELECT set_config('tally.namespace_id', $1, true)", [namespaceId])
          return work(db)
        },
        end,
      )
    } catch (err) {
      if (!isDeadlock(err) || attempt === ATTEMPTS_MAX) throw err
    }
  }
}

/**
 * Reads rows of every namespace in one transaction, where a table lets maintenance do so: what sends on or proves what
 * all companies have left behind. Nothing that answers a caller may use it.
 */
export const inEveryNamespace = <T>(pool: Pool, read: (db: PoolClient) => Promise<T>): Promise<T> =>
  run(pool, async (db) => {
    await db.query("SELECT set_config('tally.every_namespace', 'on', true)")
    return read(db)
  })

/** How a transaction ends whose work resolved. */
type End = 'COMMIT' | 'ROLLBACK'

async function run<T>(pool: Pool, work: (db: PoolClient) => Promise<T>, end: End = 'COMMIT'): Promise<T> {
  const db = await pool.connect()
  let broken: Error | undefined
  try {
    await db.query('BEGIN')
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
