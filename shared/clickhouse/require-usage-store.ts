import { reach } from '../errors/reach.ts'
import { StartupError } from '../errors/startup-error.ts'
import type { Queryable } from '../postgres/core/pool.ts'
import { usageStoreRepository } from '../postgres/usage-store.ts'
import { type ClickHouse, queryRows } from './clickhouse.ts'

// After an interrupted migration, there may be several ids. Then the first one is registered.
const IDS = 'SELECT toString(id) AS id FROM usage_store ORDER BY id'

/**
 * Checks that this ClickHouse is the one that PostgreSQL has registered as the store of the usage.
 *
 * @param enters whether this ClickHouse is registered if none is registered yet
 * @throws StartupError in one line when another ClickHouse is registered, when none is, or when a server is out of
 *   reach
 */
export async function requireUsageStore(
  client: ClickHouse,
  db: Queryable,
  { enters }: { enters: boolean },
): Promise<void> {
  const rows = await reach('ClickHouse (CLICKHOUSE_URL)', () => queryRows<{ id: string }>(client, IDS, {}))
  const ids = rows.map(({ id }) => id)
  const [first] = ids
  if (first === undefined)
    throw new StartupError('this ClickHouse cannot be identified: its table usage_store is empty')
  const registered = await reach('PostgreSQL (DATABASE_URL)', async () => {
    const stores = usageStoreRepository(db)
    if (enters) await stores.enter(first)
    return stores.findId()
  })
  if (registered === undefined)
    throw new StartupError('no ClickHouse is registered as the store of the usage yet: run npm run migrate')
  if (!ids.includes(registered))
    throw new StartupError(
      `the usage of this Tally is in another ClickHouse (${registered}) than this one (${first}), which would get a part of it: set DATABASE_URL, CLICKHOUSE_URL, CLICKHOUSE_DATABASE and DATA_DIR so that they belong together; docs/operations.md says more under "Backup and restore"`,
    )
}
