import { listLostDataParts } from '../../../shared/clickhouse/broken-data-parts.ts'
import { type ClickHouse, queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { requireClickHouseSchema } from '../../../shared/clickhouse/require-schema.ts'
import { checkRollups, ROLLUPS } from './check-rollups.ts'
import { clockDifference } from './clock-difference.ts'
import { failed, type Finding, ok, runChecks, warning } from './finding.ts'
import { spaceFinding } from './space-finding.ts'

export const CLICKHOUSE = 'ClickHouse'
/** The version that our tests run on. */
const TESTED = '26.7'
/** More data parts in a partition than this are a warning. While merges keep up, there are far fewer. */
const PARTS_MAX = 300
const DURABLE = [
  'fsync_after_insert = 1',
  'fsync_part_directory = 1',
  'min_rows_to_fsync_after_merge = 1',
  'max_suspicious_broken_parts = 0',
]

const TABLES = `
  SELECT name, engine_full FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree' ORDER BY name`
const PARTS = `
  SELECT table, partition, toUInt32(count()) AS parts FROM system.parts WHERE active AND database = currentDatabase()
  GROUP BY table, partition HAVING parts > {max:UInt32} ORDER BY parts DESC LIMIT 3`
const DISKS = 'SELECT name, toFloat64(free_space) AS free, toFloat64(total_space) AS total FROM system.disks'

/**
 * Checks version, migrations, durability, merges, rollups, disk and clock.
 * @throws Error when ClickHouse cannot be reached
 */
export async function checkClickHouse(client: ClickHouse): Promise<Finding[]> {
  const [found] = await queryRows<{ version: string }>(client, 'SELECT version() AS version', {})
  const version = found?.version ?? ''
  return runChecks([
    { part: CLICKHOUSE, look: () => Promise.resolve([checkVersion(version)]) },
    {
      part: `${CLICKHOUSE} migrations`,
      look: async () => {
        await requireClickHouseSchema(client)
        return [ok(`${CLICKHOUSE} migrations`, 'all applied that this version needs, none changed')]
      },
    },
    { part: `${CLICKHOUSE} durability`, look: () => checkDurability(client) },
    { part: `${CLICKHOUSE} parts`, look: () => checkDataParts(client) },
    { part: `${CLICKHOUSE} merges`, look: () => checkMerges(client) },
    { part: ROLLUPS, look: () => checkRollups(client) },
    { part: `${CLICKHOUSE} disk`, look: () => checkDisks(client) },
    {
      part: `${CLICKHOUSE} clock`,
      look: async () => [
        await clockDifference(`${CLICKHOUSE} clock`, async () => {
          const query = 'SELECT toUnixTimestamp64Milli(now64(3)) AS ms'
          const [row] = await queryRows<{ ms: string }>(client, query, {})
          return Number(row?.ms)
        }),
      ],
    },
  ])
}

function checkVersion(version: string): Finding {
  const [major, tested] = [version, TESTED].map((text) => text.split('.')[0])
  if (major !== tested) return failed(CLICKHOUSE, `version ${version}: Tally was tested on ${TESTED}`)
  return version.startsWith(`${TESTED}.`)
    ? ok(CLICKHOUSE, `version ${version}`)
    : warning(CLICKHOUSE, `version ${version}: Tally was tested on ${TESTED}`)
}

async function checkDurability(client: ClickHouse): Promise<Finding[]> {
  const part = `${CLICKHOUSE} durability`
  const tables = await queryRows<{ name: string; engine_full: string }>(client, TABLES, {})
  const careless = tables.filter((table) => !DURABLE.every((setting) => table.engine_full.includes(setting)))
  if (careless.length === 0)
    return [
      ok(
        part,
        `${tables.length} tables, each insert and merge is on disk, and no broken part is ignored silently`,
      ),
    ]
  return careless.map(({ name }) =>
    failed(
      part,
      `${name} is without ${DURABLE.join(', ')}: ALTER TABLE ${name} MODIFY SETTING puts them back`,
    ),
  )
}

async function checkDataParts(client: ClickHouse): Promise<Finding[]> {
  const part = `${CLICKHOUSE} parts`
  const broken = await listLostDataParts(client)
  const [first] = broken
  if (first === undefined) return [ok(part, 'none was put aside as broken')]
  return [
    failed(
      part,
      `${broken.length} put aside as broken, such as ${first.path} of ${first.table}: their data is missing in all answers; docs/operations.md says what to do`,
    ),
  ]
}

async function checkMerges(client: ClickHouse): Promise<Finding[]> {
  const part = `${CLICKHOUSE} merges`
  const rows = await queryRows<{ table: string; partition: string; parts: number }>(client, PARTS, {
    max: PARTS_MAX,
  })
  if (rows.length === 0) return [ok(part, 'keep up')]
  return rows.map(({ table, partition, parts }) =>
    warning(part, `${table} has ${parts} parts in ${partition}: merges do not keep up with inserts`),
  )
}

async function checkDisks(client: ClickHouse): Promise<Finding[]> {
  const rows = await queryRows<{ name: string; free: number; total: number }>(client, DISKS, {})
  return rows.map(({ name, free, total }) => spaceFinding(`${CLICKHOUSE} disk ${name}`, free, total))
}
