import path from 'node:path'
import { type Migration, pendingMigrations, readMigrations } from '../config/migration-files.ts'
import { PROJECT_ROOT } from '../config/project-root.ts'

/** Migrations of earlier versions without a file: they made analysts' views, which analyst-views.ts makes now. */
const RETIRED = new Set(['0005_events_view', '0023_daily_usage_from_rollups'])

/**
 * The files of clickhouse/ that are still to be applied.
 *
 * @param applied what `schema_migrations` has
 * @throws StartupError as pendingMigrations does
 */
export async function pendingClickHouseMigrations(
  applied: readonly { name: string; checksum: string }[],
): Promise<Migration[]> {
  const files = await readMigrations(path.join(PROJECT_ROOT, 'clickhouse'))
  const known = applied.filter(({ name }) => !RETIRED.has(name))
  return pendingMigrations(files, new Map(known.map(({ name, checksum }) => [name, checksum])))
}
