import path from 'node:path'
import pg from 'pg'
import { pendingMigrations, readMigrations } from '../../config/migration-files.ts'
import { PROJECT_ROOT } from '../../config/project-root.ts'
import { StartupError } from '../../errors/startup-error.ts'
import type { Queryable } from './pool.ts'

/** PostgreSQL's codes for a missing table, a missing schema, and a missing right to read the schema. */
const MISSING = new Set(['42P01', '3F000', '42501'])

/**
 * Checks that the tables are those that this version needs. Services never migrate.
 *
 * @throws StartupError when migrations are missing, or were applied by a newer version
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

async function readApplied(db: Queryable): Promise<Map<string, string>> {
  try {
    const { rows } = await db.query<{ name: string; checksum: string }>(
      'SELECT name, checksum FROM schema_migrations',
    )
    return new Map(rows.map(({ name, checksum }) => [name, checksum]))
  } catch (err) {
    if (err instanceof pg.DatabaseError && MISSING.has(err.code ?? '')) return new Map()
    throw err
  }
}
