import { ClickHouseError } from '@clickhouse/client'
import { APPLIED_COLUMNS, type AppliedMigration } from '../config/migration-files.ts'
import { StartupError } from '../errors/startup-error.ts'
import { type ClickHouse, queryRows } from './clickhouse.ts'
import { pendingClickHouseMigrations } from './pending-migrations.ts'

/** ClickHouse's codes for a missing column, table and database. */
const MISSING = new Set(['47', '60', '81'])

/**
 * Checks that the tables are those that this version needs. Services never apply migrations themselves.
 *
 * @throws StartupError when a migration is missing, or the database needs a later version
 */
export async function requireClickHouseSchema(client: ClickHouse): Promise<void> {
  const [next] = await pendingClickHouseMigrations(await readApplied(client))
  if (next !== undefined)
    throw new StartupError(
      `ClickHouse (CLICKHOUSE_URL) is not migrated, ${next.name} is missing: run npm run migrate`,
    )
}

async function readApplied(client: ClickHouse): Promise<AppliedMigration[]> {
  try {
    return await queryRows(client, `SELECT ${APPLIED_COLUMNS} FROM schema_migrations`, {})
  } catch (err) {
    if (err instanceof ClickHouseError && MISSING.has(err.code)) return []
    throw err
  }
}
