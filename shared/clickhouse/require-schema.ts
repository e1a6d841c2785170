import { ClickHouseError } from '@clickhouse/client'
import { StartupError } from '../errors/startup-error.ts'
import { type ClickHouse, queryRows } from './clickhouse.ts'
import { pendingClickHouseMigrations } from './pending-migrations.ts'

/** ClickHouse's codes for a missing table and a missing database. */
const MISSING = new Set(['60', '81'])

/**
 * Checks that exactly the migrations of this version were applied. Services never apply migrations themselves.
 *
 * @throws StartupError when a migration is missing, or a newer version has applied migrations
 */
export async function requireClickHouseSchema(client: ClickHouse): Promise<void> {
  const [next] = await pendingClickHouseMigrations(await readApplied(client))
  if (next !== undefined)
    throw new StartupError(
      `ClickHouse (CLICKHOUSE_URL) is not migrated, ${next.name} is missing: run npm run migrate`,
    )
}

async function readApplied(client: ClickHouse): Promise<{ name: string; checksum: string }[]> {
  const query = 'SELECT name, checksum FROM schema_migrations'
  try {
    return await queryRows(client, query, {})
  } catch (err) {
    if (err instanceof ClickHouseError && MISSING.has(err.code)) return []
    throw err
  }
}
