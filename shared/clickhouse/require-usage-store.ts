import { StartupError } from '../errors/startup-error.ts'
import type { Queryable } from '../postgres/core/pool.ts'
import { usageStoreRepository } from '../postgres/usage-store.ts'
import { queryRows, type ClickHouse } from './clickhouse.ts'

// The least: a migration that was cut short may have made two.
const ID = 'SELECT toString(min(id)) AS id FROM usage_store'

/**
 * Looks whether this is the ClickHouse that usage is loaded into.
 *
 * @param enters whether the first there is becomes that one
 * @throws StartupError when it is another, or none is known yet
 */
export async function requireUsageStore(
  client: ClickHouse,
  db: Queryable,
  { enters }: { enters: boolean },
): Promise<void> {
  const [row] = await queryRows<{ id: string }>(client, ID, {})
  const id = row?.id ?? ''
  const stores = usageStoreRepository(db)
  if (enters) await stores.enter(id)
  const known = await stores.findId()
  if (known === undefined)
    throw new StartupError('no ClickHouse is known to hold the usage yet: run npm run migrate')
  if (known !== id)
    throw new StartupError(
      `the usage of this Tally is in another ClickHouse (${known}) than this one (${id}), which would get a part of it: set DATABASE_URL, CLICKHOUSE_URL and DATA_DIR so that they belong together, or do as docs/operations.md says under "Backup and restore"`,
    )
}
