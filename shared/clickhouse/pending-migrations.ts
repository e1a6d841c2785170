import path from 'node:path'
import {
  type AppliedMigration,
  type Migration,
  pendingMigrations,
  type PendingOptions,
  readMigrations,
} from '../config/migration-files.ts'
import { PROJECT_ROOT } from '../config/project-root.ts'

/**
 * The files of clickhouse/ that are still to be applied.
 *
 * @param applied what `schema_migrations` has
 * @throws StartupError as pendingMigrations does
 */
export async function pendingClickHouseMigrations(
  applied: readonly AppliedMigration[],
  which: PendingOptions = {},
): Promise<Migration[]> {
  return pendingMigrations(await readMigrations(path.join(PROJECT_ROOT, 'clickhouse')), applied, which)
}
