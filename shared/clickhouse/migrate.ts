import {
  APPLIED_COLUMNS,
  type AppliedMigration,
  FIRST_VERSION,
  type PendingOptions,
} from '../config/migration-files.ts'
import type { Logger } from '../logging/logger.ts'
import { makeAnalystViews } from './analyst-views.ts'
import { analyticsDatabase } from './analytics-database.ts'
import { type OpenedClickHouse, queryRows } from './clickhouse.ts'
import { pendingClickHouseMigrations } from './pending-migrations.ts'
import { makePropertyFunction } from './property-function.ts'

/**
 * Applies the files of clickhouse/ that are still missing, one statement each. ClickHouse has no transactions for these,
 * so every statement can be repeated, and a file counts as applied once it is recorded. Then it makes the analysts' views
 * of all companies. The caller holds the migration lock in PostgreSQL, so no other process migrates at the same time.
 */
export async function migrateClickHouse(
  { client, database, makeDatabase, engine }: OpenedClickHouse,
  log: Logger,
  which: PendingOptions = {},
): Promise<void> {
  await makeDatabase?.()
  await client.command({
    query: `CREATE TABLE IF NOT EXISTS schema_migrations (name String, checksum String, applied_at DateTime('UTC') DEFAULT now())
      ENGINE = MergeTree ORDER BY name SETTINGS fsync_after_insert = 1, fsync_part_directory = 1,
        min_rows_to_fsync_after_merge = 1, max_suspicious_broken_parts = 0`,
  })
  await client.command({
    query: `ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS oldest String DEFAULT '${FIRST_VERSION}'`,
  })
  const rows = await queryRows<AppliedMigration>(
    client,
    `SELECT ${APPLIED_COLUMNS} FROM schema_migrations`,
    {},
  )
  const pending = await pendingClickHouseMigrations(rows, which)
  for (const { name, sql, checksum, oldest } of pending) {
    const query = sql
      .replaceAll('{database}', database)
      .replaceAll('{analytics}', analyticsDatabase(database))
    // No time limit: the statement may fill one table from another.
    await client.command({ query, clickhouse_settings: { max_execution_time: 0 } })
    await client.insert({
      table: 'schema_migrations',
      values: [{ name, checksum, oldest }],
      columns: ['name', 'checksum', 'oldest'],
      format: 'JSONEachRow',
    })
    log.debug({ migration: name }, 'applied a ClickHouse migration')
  }
  if (pending.length > 0) log.info({ count: pending.length }, 'applied the ClickHouse migrations')
  if (engine !== undefined) await makePropertyFunction(client)
  const into = analyticsDatabase(database)
  if (await makeAnalystViews(client, { database, into }))
    log.info({ database: into }, "made the analysts' views")
}
