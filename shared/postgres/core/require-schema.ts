import path from 'node:path'
import pg from 'pg'
import {
  APPLIED_COLUMNS,
  type AppliedMigration,
  pendingMigrations,
  readMigrations,
} from '../../config/migration-files.ts'
import { PROJECT_ROOT } from '../../config/project-root.ts'
import { StartupError } from '../../errors/startup-error.ts'
import type { Queryable } from './pool.ts'

/** PostgreSQL's codes for a missing table, column or schema, and a missing right to read the schema. */
const MISSING = new Set(['42P01', '42703', '3F000', '42501'])

/**
 * Checks that the tables are those that this version needs. Services never migrate.
 *
 * @throws StartupError when migrations are missing, or the database needs a later version
 */
export async function requirePostgresSchema(db: Queryable): Promise<void> {
  const applied = await readApplied(db)
  const files = await readMigrations(path.join(PROJECT_ROOT, 'shared/postgres/migrations'))
  const [next] = pendingMigrations(files, applied)
  if (next !== undefined)
    throw new StartupError(
      `PostgreSQL (DATABASE_URL) is not migrated, ${next.name} is missing: run npm run migrate`,
    )
}

async function readApplied(db: Queryable): Promise<AppliedMigration[]> {
  try {
    return (await db.query<AppliedMigration>(`SELECT ${APPLIED_COLUMNS} FROM schema_migrations`)).rows
  } catch (err) {
    if (err instanceof pg.DatabaseError && MISSING.has(err.code ?? '')) return []
    throw err
  }
}
