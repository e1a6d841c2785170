import { Readable } from 'node:stream'
import type { ClickHouseSettings } from '@clickhouse/client'
import type { DimensionTable } from '../domain/dimension-table.ts'
import type { DimensionDigest } from '../postgres/dimension-changes.ts'
import { formatMicros } from '../time/micros-text.ts'
import { type Micros, MICROS_PER_SECOND } from '../time/microsecond-clock.ts'
import { type ClickHouse, queryRows } from './clickhouse.ts'

/** How far ClickHouse has copied the dimension tables. */
export interface DimensionCopy {
  /** The number of a set of copies. The highest one counts. A new set begins empty. */
  fill: number
  /** Every change up to this number is copied. */
  position: number
}

/**
 * Only the key of a deleted row is sent; the other columns get the default values of their types. Such a row is stored
 * like any other, because an older version of it may arrive later.
 */
const INSERT_SETTINGS: ClickHouseSettings = { input_format_null_as_default: 1, optimize_on_insert: 0 }

const CURRENT = `
  SELECT fill, toString(max(position)) AS position FROM dimension_copies GROUP BY fill ORDER BY fill DESC LIMIT 1`

// Older versions of a row may be among them.
const CHANGED_CONTRACTS = `
  SELECT namespace_id AS namespaceId, contract_id AS contractId FROM dimension_contracts
  WHERE version > {after:UInt64} AND updated_at >= {since:Int64}
  ORDER BY version LIMIT {limit:UInt32} BY namespace_id`

/** The name of a copy in ClickHouse. @internal */
export const copyOf = ({ name }: Pick<DimensionTable, 'name'>): string => `dimension_${name}`

/** The copies of dimension tables, and how far they reach. */
export const dimensionRepository = (client: ClickHouse) => ({
  async current(): Promise<DimensionCopy> {
    const [row] = await queryRows<{ fill: number; position: string }>(client, CURRENT, {})
    return row === undefined ? { fill: 1, position: 0 } : { fill: row.fill, position: Number(row.position) }
  },

  /**
   * Notes that every change up to a number is copied.
   *
   * @param completeUpTo everything that was committed by then is copied; undefined when that is not known
   */
  async note({ fill, position }: DimensionCopy, completeUpTo?: Micros): Promise<void> {
    await client.insert({
      table: 'dimension_copies',
      values: [{ fill, position, complete_up_to: formatMicros(completeUpTo ?? 0) }],
      columns: ['fill', 'position', 'complete_up_to'],
      format: 'JSONEachRow',
    })
  },

  /** Stores rows; when it resolves they are on disk. @param lines JSON objects, see readRows of dimension-changes.ts */
  async insertLines(table: DimensionTable, lines: readonly string[]): Promise<void> {
    const columns = ['namespace_id', ...[...table.key, ...table.columns].map(({ name }) => name)]
    const { stream } = await client.exec({
      query: `INSERT INTO ${copyOf(table)} (${[...columns, 'version', 'is_deleted'].join(', ')}) FORMAT JSONEachRow`,
      clickhouse_settings: INSERT_SETTINGS,
      values: Readable.from([Buffer.from(`${lines.join('\n')}\n`)], { objectMode: false }),
    })
    await stream.toArray() // until the answer ends; it is empty
  },

  /**
   * Lists contracts with a change of a higher number, in the order of these numbers; a contract may be there twice.
   *
   * @param since in Unix seconds; contracts that were last changed earlier are left out
   * @param limit so many of each namespace
   */
  listChangedContracts: (after: number, since: number, limit: number) =>
    queryRows<{ namespaceId: string; contractId: string }>(client, CHANGED_CONTRACTS, {
      after,
      since: since * MICROS_PER_SECOND,
      limit,
    }),

  /** Removes every row of a table. */
  async empty(table: DimensionTable): Promise<void> {
    await client.command({ query: `TRUNCATE TABLE ${copyOf(table)}` })
  },

  /** Digests of the rows of all namespaces, in the order of namespaces and keys, after a given one. */
  async listDigests(
    table: DimensionTable,
    after: { namespaceId: string; id: string } | undefined,
    limit: number,
  ): Promise<(DimensionDigest & { namespaceId: string })[]> {
    const names = ['namespace_id', ...table.key.map(({ name }) => name)]
    const types = ['String', ...table.key.map(({ kind }) => (kind === 'integer' ? 'UInt32' : 'String'))]
    const values = types.map((type, index) => `{after${index}:${type}}`)
    const isAfter = after === undefined ? '' : `WHERE (${names.join(', ')}) > (${values.join(', ')})`
    const last = after === undefined ? [] : [after.namespaceId, ...after.id.split(' ')]
    return digests(client, digestsOf(table, `${isAfter} ORDER BY ${names.join(', ')} LIMIT {limit:UInt32}`), {
      limit,
      ...Object.fromEntries(last.map((value, index) => [`after${index}`, value])),
    })
  },

  /** Digests of rows by their ids; those that do not exist are absent. */
  findDigests: (namespaceId: string, table: DimensionTable, ids: readonly string[]) =>
    digests(
      client,
      digestsOf(table, `WHERE namespace_id = {namespaceId:String} AND ${idOf(table)} IN {ids:Array(String)}`),
      { namespaceId, ids },
    ),
})

async function digests(
  client: ClickHouse,
  query: string,
  params: Record<string, unknown>,
): Promise<(DimensionDigest & { namespaceId: string })[]> {
  const rows = await queryRows<{ namespace_id: string; id: string; number: string; digest: string }>(
    client,
    query,
    params,
  )
  return rows.map(({ namespace_id: namespaceId, id, number, digest }) => ({
    namespaceId,
    id,
    number: Number(number),
    digest,
  }))
}

const idOf = ({ key }: DimensionTable): string =>
  key.length === 1
    ? (key[0]?.name ?? '')
    : `concat(${key.map(({ name }) => `toString(${name})`).join(", ' ', ")})`

/** As digestOf of shared/postgres/dimension-changes.ts. */
const digestOf = ({ key, columns }: DimensionTable): string =>
  `lower(hex(MD5(concat('', ${[...key, ...columns]
    .map(({ name }) => `ifNull(concat(toString(length(toString(${name}))), ':', toString(${name})), '-')`)
    .join(', ')}))))`

const digestsOf = (table: DimensionTable, conditions: string): string => `
  SELECT namespace_id, ${idOf(table)} AS id, toString(version) AS number, ${digestOf(table)} AS digest
  FROM ${copyOf(table)} FINAL ${conditions}`
