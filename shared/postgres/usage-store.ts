import type { Queryable } from './core/pool.ts'

const ENTER = 'INSERT INTO usage_store (id) VALUES ($1) ON CONFLICT DO NOTHING'
const FIND = 'SELECT id FROM usage_store'

/** Records which ClickHouse has the usage of this Tally. */
export const usageStoreRepository = (db: Queryable) => ({
  async findId(): Promise<string | undefined> {
    const { rows } = await db.query<{ id: string }>(FIND)
    return rows[0]?.id
  },

  /** Registers a ClickHouse if none is registered yet. If two are registered at the same time, only one succeeds. */
  async enter(id: string): Promise<void> {
    await db.query(ENTER, [id])
  },
})
