import { reach } from '../errors/reach.ts'
import { StartupError } from '../errors/startup-error.ts'
import type { Queryable } from '../postgres/core/pool.ts'
import { usageStoreRepository } from '../postgres/usage-store.ts'
import { type ClickHouse, queryRows } from './clickhouse.ts'

// The first one; a migration that was interrupted may have made several.
const IDS = 'SELECT toString(id) AS id FROM usage_store ORDER BY id'

/**
 * Checks that this is the ClickHouse that usage is loaded into.
 *
 * @param enters whether this one is registered when none is yet
 * @throws StartupError in one line when it is another one, when none is known yet, or when a server is out of reach
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
    throw new StartupError('ClickHouse has lost which one it is: its table usage_store is empty')
  const registered = await reach('PostgreSQL (DATABASE_URL)', async () => {
    const stores = usageStoreRepository(db)
    if (enters) await stores.enter(first)
    return stores.findId()
  })
  if (registered === undefined)
    throw new StartupError('no ClickHouse is known to hold the usage yet: run npm run migrate')
  if (!ids.includes(registered))
    throw new StartupError(
      `the usage of this Tally is in another ClickHouse (${registered}) than this one (${first}), which would get a part of it: set DATABASE_URL, CLICKHOUSE_URL, CLICKHOUSE_DATABASE and DATA_DIR so that they belong together; docs/operations.md says more under "Backup and restore"`,
    )
}
