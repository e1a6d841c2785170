import { mkdir, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'

/** May do everything. */
const SERVICE_ROLE = 'tally_service'

/** May read the analysts' views and nothing else: no other table, no file, no address. */
export const ANALYST_ROLE = 'tally_analyst'

const FILE = 'engine.xml'

/**
 * Writes what the embedded engine is started with: its one user gets its rights through roles, so that a connection can
 * give up all but those of analysts. Without a file of ours the engine would take one called config.xml from the
 * working directory or the home directory.
 *
 * Why the zone of the whole process: the engine takes its own from there when it starts, and not from a file as a server
 * does. It would be the machine's, and days and times that analysts write without a zone would be other ones. Nothing
 * else of ours is told in a local time.
 *
 * @param folder the engine's data folder; made, for us alone, when it is missing
 * @param analyticsDatabases the databases whose views analysts may read
 * @returns arguments for the first connection; later ones find the engine as it was started
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
 * Why a user without a password: it exists inside this process only, where no network reaches the engine.
 *
 * Why larger dictionaries than the default of 8,192: with more accounts than that, each event would be stored with the
 * whole id of its account. Merges go by this profile, too.
 */
const configOf = (analyticsDatabases: readonly string[]): string => `<clickhouse>
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

/** Names of databases are letters, digits and underscores (readClickHouseConfig), which mean nothing in XML or SQL. */
function grantOf(database: string): string {
  if (!/^\w+$/.test(database))
    throw new Error(`not a name for an analytics database: ${JSON.stringify(database)}`)
  return `<query>GRANT SELECT ON ${database}.*</query>`
}
