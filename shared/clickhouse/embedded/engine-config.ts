import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { writeSecretFile } from '../../config/secret-file.ts'
import { NONE_BYTES } from '../../lifecycle/disk-space.ts'
import { analyticsDatabase, companyDatabase } from '../analytics-database.ts'

/** This role may do everything. */
const SERVICE_ROLE = 'tally_service'

/** This role may read the views of all companies and nothing else: no other table, no file, no address. */
export const ANALYST_ROLE = 'tally_analyst'

/** This role may read the views of one company and nothing else; it is called like their database. */
export const companyRole = (database: string, number: number): string => companyDatabase(database, number)

/** What analysts of this engine may be able to read. */
export interface AnalystGrants {
  /** The services' databases whose views analysts may read. */
  databases: readonly string[]
  /**
   * How many companies have a role of their own. A role is granted on a database that need not exist yet, so the roles
   * are always the same, and a company's first analyst needs no restart.
   */
  companiesMax: number
}

const FILE = 'engine.xml'

/**
 * Writes the configuration that the embedded engine starts with. Its one user has all rights through roles, so that a
 * connection can give up all rights but those of analysts. Without this file the engine would take a config.xml from
 * the working directory or the home directory.
 *
 * Why the time zone of the whole process is set: the engine takes its zone from the process when it starts, not from a
 * file as a server does. Otherwise it would use the machine's zone, and days and times that analysts write without a
 * zone would be wrong. Tally itself uses local time nowhere.
 *
 * @param folder the engine's data folder; made if it is missing, and then readable by this user alone
 * @returns arguments for the first connection; later ones use the engine as it was started
 */
export async function writeEngineConfig(folder: string, grants: AnalystGrants): Promise<string[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const file = path.resolve(folder, FILE)
  await writeSecretFile(file, configOf(grants))
  process.env['TZ'] = 'UTC'
  return [`--config-file=${file}`, `--users_config=${file}`]
}

/**
 * Why a user without a password: the user exists only inside this process, and no network reaches the engine.
 *
 * Why larger dictionaries than the default of 8,192: with more accounts than that, each event would be stored with the
 * full id of its account. Merges use this profile, too.
 *
 * Why some of the disk is kept free: inserts, merges and rollups stop while PostgreSQL still has room for its WAL.
 *
 * Why backups may be anywhere: the operator chooses the folder. Only the services' role may make backups, and it may
 * write files anyway.
 */
const configOf = (grants: AnalystGrants): string => `<clickhouse>
  <backups><allowed_path>/</allowed_path></backups>
  <storage_configuration><disks><default>
    <keep_free_space_bytes>${NONE_BYTES}</keep_free_space_bytes>
  </default></disks></storage_configuration>
  <profiles><default>
    <low_cardinality_max_dictionary_size>1000000</low_cardinality_max_dictionary_size>
  </default></profiles>
  <quotas><default/></quotas>
  <roles>
    <${SERVICE_ROLE}>
      <grants><query>GRANT ALL ON *.*</query></grants>
    </${SERVICE_ROLE}>
    <${ANALYST_ROLE}>
      <grants>${grants.databases.map(analyticsDatabase).map(grantOf).join('')}</grants>
    </${ANALYST_ROLE}>
    ${companyRolesOf(grants)
      .map(({ role, database }) => `<${role}><grants>${grantOf(database)}</grants></${role}>`)
      .join('\n    ')}
  </roles>
  <users>
    <default>
      <password></password>
      <networks><ip>::/0</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
      <grants><query>GRANT ${[SERVICE_ROLE, ANALYST_ROLE, ...companyRolesOf(grants).map(({ role }) => role)].join(', ')}</query></grants>
    </default>
  </users>
</clickhouse>
`

/**
 * Names of databases are letters, digits and underscores (readClickHouseConfig), which have no special meaning in XML
 * or SQL.
 */
function grantOf(database: string): string {
  if (!/^\w+$/.test(database))
    throw new Error(`not a name for an analytics database: ${JSON.stringify(database)}`)
  return `<query>GRANT SELECT ON ${database}.*</query>`
}

const companyRolesOf = ({ databases, companiesMax }: AnalystGrants): { role: string; database: string }[] =>
  databases.flatMap((database) =>
    Array.from({ length: companiesMax }, (_, i) => ({
      role: companyRole(database, i + 1),
      database: companyDatabase(database, i + 1),
    })),
  )
