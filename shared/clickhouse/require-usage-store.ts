import { reach } from '../errors/reach.ts'
import { StartupError } from '../errors/startup-error.ts'
import type { Queryable } from '../postgres/core/pool.ts'
import { usageStoreRepository } from '../postgres/usage-store.ts'
import { type ClickHouse, queryRows } from './clickhouse.ts'

// One; a migration that was cut short may have made several.
const IDS = 'SELECT toString(id) AS id FROM usage_store ORDER BY id'

/**
 * Looks whether this is the ClickHouse that usage is loaded into.
 *
 * @param enters whether the first there is becomes that one
 * @throws StartupError in one line when it is another, none is known yet, or a server is out of reach
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
