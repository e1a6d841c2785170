import { readClock } from '../../../shared/postgres/core/clock.ts'
import type { Queryable } from '../../../shared/postgres/core/pool.ts'
import { requireHarmless } from '../../../shared/postgres/core/require-harmless-role.ts'
import { requirePostgresSchema } from '../../../shared/postgres/core/require-schema.ts'
import { checkUpdates } from './check-updates.ts'
import { clockDifference } from './clock-difference.ts'
import { failed, type Finding, ok, runChecks, warning } from './finding.ts'

export const POSTGRES = 'PostgreSQL'
const VERSION_MIN = 16
const CONNECTIONS_SHARE_MAX = 0.9

const SETTINGS = `
  SELECT name, setting FROM pg_settings
  WHERE name IN ('server_version_num', 'server_version', 'fsync', 'full_page_writes', 'synchronous_commit', 'max_connections')`
// Settings of a role or a database, which apply to new connections.
const OVERRIDES = `
  SELECT setting FROM pg_db_role_setting, unnest(setconfig) AS setting
  WHERE setrole IN (0, (SELECT oid FROM pg_roles WHERE rolname = current_user))
    AND setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))`
const CONNECTIONS = "SELECT count(*)::int AS used FROM pg_stat_activity WHERE backend_type = 'client backend'"

/**
 * Checks version, migrations, durability, role, clock and connections.
 *
 * @param isEmbedded whether this is the PostgreSQL that comes with Tally
 * @throws Error when PostgreSQL cannot be reached
 */
export async function checkPostgres(db: Queryable, isEmbedded: boolean): Promise<Finding[]> {
  const { rows } = await db.query<{ name: string; setting: string }>(SETTINGS)
  const settings = new Map(rows.map(({ name, setting }) => [name, setting]))
  const { rows: overrides } = await db.query<{ setting: string }>(OVERRIDES)
  return runChecks([
    { part: POSTGRES, look: () => Promise.resolve([checkVersion(settings)]) },
    {
      part: `${POSTGRES} updates`,
      look: () =>
        Promise.resolve([
          checkUpdates(`${POSTGRES} updates`, Number(settings.get('server_version_num')), isEmbedded),
        ]),
    },
    {
      part: `${POSTGRES} migrations`,
      look: async () => {
        await requirePostgresSchema(db)
        return [ok(`${POSTGRES} migrations`, 'all applied that this version needs, none changed')]
      },
    },
    {
      part: `${POSTGRES} durability`,
      look: () =>
        Promise.resolve(
          checkDurability(
            settings,
            overrides.map(({ setting }) => setting),
          ),
        ),
    },
    {
      part: `${POSTGRES} role`,
      look: async () => {
        await requireHarmless(db)
        return [ok(`${POSTGRES} role`, 'row level security applies to it')]
      },
    },
    {
      part: `${POSTGRES} clock`,
      look: async () => [
        await clockDifference(`${POSTGRES} clock`, async () => (await readClock(db)).getTime()),
      ],
    },
    { part: `${POSTGRES} connections`, look: () => checkConnections(db, settings) },
  ])
}

function checkVersion(settings: ReadonlyMap<string, string>): Finding {
  const version = settings.get('server_version') ?? ''
  if (Number(settings.get('server_version_num')) < VERSION_MIN * 10_000)
    return failed(POSTGRES, `version ${version}: ${VERSION_MIN} or later is needed`)
  return ok(POSTGRES, `version ${version}`)
}

function checkDurability(settings: ReadonlyMap<string, string>, overrides: readonly string[]): Finding[] {
  const part = `${POSTGRES} durability`
  const isOff = (name: string) => settings.get(name) === 'off' || overrides.includes(`${name}=off`)
  const findings: Finding[] = []
  for (const name of ['fsync', 'synchronous_commit'])
    if (isOff(name))
      findings.push(
        failed(part, `${name} is off: a power cut loses usage that was acknowledged; set ${name} = on`),
      )
  if (isOff('full_page_writes'))
    findings.push(
      warning(
        part,
        'full_page_writes is off: a power cut may tear pages, unless the file system writes whole ones',
      ),
    )
  return findings.length > 0 ? findings : [ok(part, 'what is committed is on disk')]
}

async function checkConnections(db: Queryable, settings: ReadonlyMap<string, string>): Promise<Finding[]> {
  const part = `${POSTGRES} connections`
  const { rows } = await db.query<{ used: number }>(CONNECTIONS)
  const used = rows[0]?.used ?? 0
  const max = Number(settings.get('max_connections'))
  const says = `${used} of ${max} taken`
  return [
    used > max * CONNECTIONS_SHARE_MAX
      ? warning(part, `${says}: raise max_connections, or lower DATABASE_CONNECTIONS_MAX`)
      : ok(part, says),
  ]
}
