import pg from 'pg'
import { StartupError } from '../../errors/startup-error.ts'
import { type Queryable, SCHEMA } from './pool.ts'

interface RoleRow {
  role: string
  is_superuser: boolean
  bypasses: boolean
  owns: boolean
}

const LOOK = `
  SELECT current_user AS role, r.rolsuper AS is_superuser, r.rolbypassrls AS bypasses,
    EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = $1 AND c.relowner = r.oid) AS owns
  FROM pg_roles r WHERE r.rolname = current_user`

/**
 * Refuses to start with a role that row level security does not restrict.
 *
 * @throws StartupError when the role is a superuser, bypasses row level security or owns Tally's tables
 */
export async function requireHarmlessRole(url: string): Promise<void> {
  const db = new pg.Client({ connectionString: url, application_name: 'tally' })
  db.on('error', () => undefined) // the next statement reports it
  await db.connect()
  try {
    await requireHarmless(db)
  } finally {
    await db.end()
  }
}

/** Makes the check of requireHarmlessRole for the role of an open connection. */
export async function requireHarmless(db: Queryable): Promise<void> {
  const { rows } = await db.query<RoleRow>(LOOK, [SCHEMA])
  const [found] = rows
  const fault =
    found === undefined
      ? 'cannot be looked up'
      : found.is_superuser
        ? 'is a superuser'
        : found.bypasses
          ? 'bypasses row level security'
          : found.owns
            ? 'owns the tables'
            : undefined
  if (fault !== undefined)
    throw new StartupError(
      `the role of DATABASE_URL ${fault}: give the services another role, and keep this one for DATABASE_OWNER_URL`,
    )
}
