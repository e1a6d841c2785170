import { mkdir, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { NONE_BYTES } from '../../lifecycle/disk-space.ts'

/** This role may do everything. */
const SERVICE_ROLE = 'tally_service'

/** This role may read the analysts' views and nothing else: no other table, no file, no address. */
export const ANALYST_ROLE = 'tally_analyst'

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
 * @param analyticsDatabases the databases whose views analysts may read
 * @returns arguments for the first connection; later ones use the engine as it was started
 */
export async function writeEngineConfig(
  folder: string,
  analyticsDatabases: readonly string[],
): Promise<string[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const file = path.resolve(folder, FILE)
  const draft = `${file}.${process.pid}.new`
  await writeFile(draft, configOf(analyticsDatabases), { mode: 0o600, flush: true })
  await rename(draft, file)
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
 */
const configOf = (analyticsDatabases: readonly string[]): string => `<clickhouse>
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
      <grants>${analyticsDatabases.map(grantOf).join('')}</grants>
    </${ANALYST_ROLE}>
  </roles>
  <users>
    <default>
      <password></password>
      <networks><ip>::/0</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
      <grants><query>GRANT ${SERVICE_ROLE}, ${ANALYST_ROLE}</query></grants>
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
