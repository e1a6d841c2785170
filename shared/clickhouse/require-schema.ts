import path from 'node:path'
import { ClickHouseError } from '@clickhouse/client'
import { pendingMigrations, readMigrations } from '../config/migration-files.ts'
import { PROJECT_ROOT } from '../config/project-root.ts'
import { StartupError } from '../errors/startup-error.ts'
import { type ClickHouse, queryRows } from './clickhouse.ts'

/** ClickHouse's codes for a missing table and a missing database. */
const MISSING = new Set(['60', '81'])

/**
 * Checks that exactly the migrations of this version were applied. Services never apply migrations themselves.
 *
 * @throws StartupError when a migration is missing, or a newer version has applied migrations
 */
export async function requireClickHouseSchema(client: ClickHouse): Promise<void> {
  const applied = await readApplied(client)
  const files = await readMigrations(path.join(PROJECT_ROOT, 'clickhouse'))
  const [next] = pendingMigrations(files, applied)
  if (next !== undefined)
    throw new StartupError(
      `ClickHouse (CLICKHOUSE_URL) is not migrated, ${next.name} is missing: run npm run migrate`,
    )
}

async function readApplied(client: ClickHouse): Promise<Map<string, string>> {
  const query = 'SELECT name, checksum FROM schema_migrations'
  try {
    const rows = await queryRows<{ name: string; checksum: string }>(client, query, {})
    return new Map(rows.map(({ name, checksum }) => [name, checksum]))
  } catch (err) {
    if (err instanceof ClickHouseError && MISSING.has(err.code)) return new Map()
    throw err
  }
}
