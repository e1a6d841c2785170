import type { Pool, PoolClient } from './pool.ts'

/** Runs work in one transaction: committed when it resolves, rolled back when it throws. */
export function withTransaction<T>(pool: Pool, work: (db: PoolClient) => Promise<T>): Promise<T> {
  return run(pool, work)
}

/**
 * Runs work in one transaction that sees the rows of one namespace only: row level security compares each row's
 * namespace_id with the setting made here, a second line of defence behind the statements' own conditions.
 */
export function inNamespace<T>(
  pool: Pool,
  namespaceId: string,
  work: (db: PoolClient) => Promise<T>,
): Promise<T> {
  return run(pool, async (db) => {
    await db.query("SELECT set_config('tally.namespace_id', $1, true)", [namespaceId])
    return work(db)
  })
}

async function run<T>(pool: Pool, work: (db: PoolClient) => Promise<T>): Promise<T> {
  const db = await pool.connect()
  let broken: Error | undefined
  try {
    await db.query('BEGIN')
    const result = await work(db)
    await db.query('COMMIT')
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
