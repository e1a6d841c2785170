import path from 'node:path'
import pg from 'pg'
import {
  APPLIED_COLUMNS,
  type AppliedMigration,
  FIRST_VERSION,
  pendingMigrations,
  type PendingOptions,
  readMigrations,
} from '../../config/migration-files.ts'
import { PROJECT_ROOT } from '../../config/project-root.ts'
import type { Logger } from '../../logging/logger.ts'
import { SCHEMA } from './pool.ts'

/** Any number that no other program uses for an advisory lock. */
const MIGRATION_LOCK = 7_255_001

export interface MigratePostgresOptions extends PendingOptions {
  /** A role that may create tables. */
  ownerUrl: string
  /** The role of the services. It gets the rights that they need, and owns nothing. */
  serviceRole: string
  log: Logger
}

/**
 * Brings the schema up to date, each file in a transaction of its own. Then it runs `andThen` under the same lock.
 * Several processes that start at once migrate one after the other. The lock also covers ClickHouse's migrations, which
 * `andThen` runs.
 */
export async function migratePostgres(
  options: MigratePostgresOptions,
  andThen: () => Promise<void>,
): Promise<void> {
  const db = new pg.Client({ connectionString: options.ownerUrl, application_name: 'tally migrate' })
  db.on('error', () => undefined) // the next statement reports it
  await db.connect()
  try {
    await db.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK])
    await applyPending(db, options)
    await grantToService(db, options.serviceRole)
    await andThen()
    await db.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]) // fails if the lock was lost meanwhile
  } finally {
    await db.end()
  }
}

async function applyPending(db: pg.Client, { log, ...which }: MigratePostgresOptions): Promise<void> {
  await db.query(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`)
  await db.query(`SET search_path = ${SCHEMA}`)
  await db.query(`CREATE TABLE IF NOT EXISTS schema_migrations (
    name text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT clock_timestamp())`)
  await db.query(
    `ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS oldest text NOT NULL DEFAULT '${FIRST_VERSION}'`,
  )
  const { rows } = await db.query<AppliedMigration>(`SELECT ${APPLIED_COLUMNS} FROM schema_migrations`)
  const files = await readMigrations(path.join(PROJECT_ROOT, 'shared/postgres/migrations'))
  const pending = pendingMigrations(files, rows, which)
  for (const { name, sql, checksum, oldest } of pending) {
    try {
      await db.query('BEGIN')
      await db.query(sql)
      await db.query(`INSERT INTO schema_migrations (${APPLIED_COLUMNS}) VALUES ($1, $2, $3)`, [
        name,
        checksum,
        oldest,
      ])
      await db.query('COMMIT')
    } catch (err) {
      await db.query('ROLLBACK')
      throw new Error(`the PostgreSQL migration ${name} failed`, { cause: err })
    }
    log.debug({ migration: name }, 'applied a PostgreSQL migration')
  }
  if (pending.length > 0) log.info({ count: pending.length }, 'applied the PostgreSQL migrations')
}

/**
 * Grants the services their rights. They may read and write rows. They must not delete rows that money depends on, or
 * edit prices and agreements.
 */
async function grantToService(db: pg.Client, role: string): Promise<void> {
  const service = db.escapeIdentifier(role)
  await db.query(`
    GRANT USAGE ON SCHEMA ${SCHEMA} TO ${service};
    GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA ${SCHEMA} TO ${service};
    GRANT DELETE ON event_log_members, event_log_checkpoints, gateways TO ${service};
    REVOKE INSERT, UPDATE ON schema_migrations FROM ${service};
    REVOKE UPDATE ON usage_store FROM ${service};
    REVOKE UPDATE ON event_revisions FROM ${service};
    GRANT UPDATE (sent_at) ON event_revisions TO ${service};
    REVOKE UPDATE ON audit_trail, analysts, analyst_databases FROM ${service};
    GRANT UPDATE (revoked_at) ON analysts TO ${service};
    GRANT UPDATE (shown_namespace) ON analyst_databases TO ${service};
    REVOKE UPDATE ON prices, rate_cards, rates, rate_prices, contracts, contract_lines, contract_line_overrides, contract_credits
      FROM ${service};
    GRANT UPDATE (description, updated_at, archived_at) ON prices TO ${service};
    GRANT UPDATE (name, description, external_id, updated_at, archived_at) ON rate_cards TO ${service};
    GRANT UPDATE (ends_at) ON rates, contract_lines TO ${service};
    GRANT UPDATE (next_credit_at) ON contract_lines TO ${service};
    GRANT UPDATE (name, description, external_id, ends_at, cancel_at, cancel_mode, cancel_reason, cancel_requested_at, updated_at)
      ON contracts TO ${service};
    REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA ${SCHEMA} FROM PUBLIC;
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${SCHEMA} TO ${service};`)
}

/** Finds the role that a connection URL uses. */
export async function roleOf(url: string): Promise<string> {
  const db = new pg.Client({ connectionString: url, application_name: 'tally migrate' })
  await db.connect()
  try {
    const { rows } = await db.query<{ role: string }>('SELECT current_user AS role')
    return rows[0]?.role ?? ''
  } finally {
    await db.end()
  }
}
