import type { DimensionColumn, DimensionKind, DimensionTable } from '../domain/dimension-table.ts'
import type { Micros } from '../time/microsecond-clock.ts'
import type { Pool, Queryable } from './core/pool.ts'
import { inEveryNamespace, inNamespace } from './core/transaction.ts'

/** A row that changed. */
export interface DimensionChange {
  /** The number of its last change. */
  number: number
  namespaceId: string
  /** The table's name. */
  table: string
  /** The values of its key, with a space between them. */
  id: string
}

/** What a look at the changes found. */
export interface DimensionState {
  /** The highest number that is committed; 0 when there is none. */
  newest: number
  /** No ClickHouse has copied further than this, unless the database went back to an earlier state. */
  reached: number
  /** Everything that was committed by then has a number up to `newest`. */
  at: Micros
}

/** A row as the audit compares it. */
export interface DimensionDigest {
  id: string
  /** The number of its last change; in ClickHouse its version. Undefined when its change was not noted. */
  number: number | undefined
  digest: string
}

// This statement has no parameters, so that its time is before its snapshot.
const LOOK = `
  SELECT (SELECT coalesce(max(number), 0) FROM dimension_changes)::text AS newest,
    (SELECT reached FROM dimension_copy)::text AS reached,
    (extract(epoch FROM statement_timestamp()) * 1000000)::bigint::text AS at`
const BEGIN_AFTER = 'SELECT pg_current_xact_id()::text AS xid'
const HAVE_ENDED = 'SELECT pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 AS have_ended'
const REACH = 'UPDATE dimension_copy SET reached = greatest(reached, $1)'
const LIST = `
  SELECT c.number, c.namespace_id, c.of_table, c.id FROM dimension_changes c
  JOIN namespaces n ON n.namespace_id = c.namespace_id AND n.retired_at IS NULL
  WHERE c.number > $1 ORDER BY c.number LIMIT $2`
const NAMESPACES = 'SELECT namespace_id FROM namespaces WHERE retired_at IS NULL ORDER BY namespace_id'

/**
 * Changes of rows that ClickHouse has a copy of, and the rows.
 *
 * Changes are copied in the order of their numbers, but a lower number may be committed after a higher one. So a copier
 * reads the highest number (`look`), and then takes the id of a new transaction (`beginAfter`). Numbers are given in
 * order, and a transaction has its id before it gets a number. So once every transaction with a lower id has ended
 * (`haveEnded`), each number up to the highest one is committed, or never will be.
 */
export const dimensionChangeRepository = (pool: Pool) => ({
  async look(): Promise<DimensionState> {
    return inEveryNamespace(pool, async (db) => {
      const { rows } = await db.query<{ newest: string; reached: string; at: string }>({
        name: 'look-at-dimension-changes',
        text: LOOK,
      })
      const [row] = rows
      if (row === undefined) throw new Error('PostgreSQL returned no changes')
      return { newest: Number(row.newest), reached: Number(row.reached), at: Number(row.at) }
    })
  },

  /** The id of a transaction that begins, and ends, now. */
  async beginAfter(): Promise<string> {
    const { rows } = await pool.query<{ xid: string }>(BEGIN_AFTER)
    return rows[0]?.xid ?? '0'
  },

  /** Whether every transaction with a lower id has ended. What it committed is then visible to each later statement. */
  async haveEnded(xid: string): Promise<boolean> {
    const { rows } = await pool.query<{ have_ended: boolean }>(HAVE_ENDED, [xid])
    return rows[0]?.have_ended === true
  },

  /** Changes in the order of their numbers, without those of namespaces that were reset. */
  async list(after: number, limit: number): Promise<DimensionChange[]> {
    const { rows } = await inEveryNamespace(pool, (db) =>
      db.query<{ number: string; namespace_id: string; of_table: string; id: string }>(LIST, [after, limit]),
    )
    return rows.map((row) => ({
      number: Number(row.number),
      namespaceId: row.namespace_id,
      table: row.of_table,
      id: row.id,
    }))
  },

  /**
   * Reads rows as they are now, each together with the number of its last change. A deleted row has only its
   * key.
   *
   * @param upTo takes the place of higher numbers. A version must be no higher than the database knows to be copied: if
   *   it goes back to an earlier state, those numbers are given again
   * @returns a JSON object for each, as ClickHouse takes it
   */
  async readRows(
    namespaceId: string,
    table: DimensionTable,
    ids: readonly string[],
    upTo: number,
  ): Promise<string[]> {
    const { rows } = await inNamespace(pool, namespaceId, (db) =>
      db.query<{ line: string }>({
        name: `dimension-rows-${table.name}`,
        text: rowsOf(table),
        values: [namespaceId, ids, upTo],
      }),
    )
    return rows.map(({ line }) => line)
  },

  /** Called before ClickHouse notes that it has copied up to this number. */
  async reach(number: number): Promise<void> {
    await pool.query(REACH, [number])
  },

  /** The namespaces that companies use. */
  async listNamespaces(): Promise<string[]> {
    const { rows } = await pool.query<{ namespace_id: string }>(NAMESPACES)
    return rows.map(({ namespace_id: id }) => id)
  },

  /** Digests of the rows of a namespace, in the order of their keys, after a given id. */
  listDigests: (namespaceId: string, table: DimensionTable, after: string | undefined, limit: number) =>
    inNamespace(pool, namespaceId, (db) => {
      const values = [namespaceId, limit, ...(after?.split(' ') ?? [])]
      return digests(db, pageOf(table, after !== undefined), values)
    }),

  /** Digests of rows by their ids; those that do not exist are absent. */
  findDigests: (namespaceId: string, table: DimensionTable, ids: readonly string[]) =>
    inNamespace(pool, namespaceId, (db) => digests(db, lookUpOf(table), [namespaceId, ids])),
})

async function digests(db: Queryable, text: string, values: unknown[]): Promise<DimensionDigest[]> {
  const { rows } = await db.query<{ id: string; number: string | null; digest: string }>(text, values)
  return rows.map(({ id, number, digest }) => ({
    id,
    number: number === null ? undefined : Number(number),
    digest,
  }))
}

/** Columns that are made of the rows of another table. */
const LISTS: Readonly<Record<string, string>> = {
  'rates.prices': `(SELECT coalesce(jsonb_agg(jsonb_build_object('value', p.value, 'price_id', p.price_id)
    ORDER BY p.value), '[]') FROM rate_prices p WHERE p.namespace_id = s.namespace_id AND p.rate_id = s.rate_id)`,
  'contract_lines.overrides': `(SELECT coalesce(jsonb_agg(jsonb_build_object('product_id', o.product_id,
    'has_value', o.has_value, 'value', o.value, 'price_id', o.price_id) ORDER BY o.nth), '[]')
    FROM contract_line_overrides o WHERE o.namespace_id = s.namespace_id AND o.contract_line_id = s.contract_line_id)`,
}

const TEXT: Readonly<Record<DimensionKind, (column: string) => string>> = {
  text: (column) => `${column}::text`,
  uuid: (column) => `${column}::text`,
  decimal: (column) => `trim_scale(${column})::text`,
  time: (column) => `(extract(epoch FROM ${column}) * 1000000)::bigint::text`,
  integer: (column) => `${column}::text`,
  flag: (column) => `${column}::integer::text`,
}
const TYPE: Readonly<Partial<Record<DimensionKind, string>>> = { uuid: 'uuid', integer: 'integer' }

/** Each column as text, of the table AS s. */
const textsOf = ({ name, key, columns }: DimensionTable): string =>
  [...key, ...columns]
    .map(
      (column) =>
        `${TEXT[column.kind](LISTS[`${name}.${column.name}`] ?? `s.${column.name}`)} AS ${column.name}`,
    )
    .join(', ')

/** The value of a column, from a parameter or an expression that is text. */
const valueOf = ({ kind }: DimensionColumn, text: string): string => {
  const type = TYPE[kind]
  return type === undefined ? text : `(${text})::${type}`
}

/** The values of the key, from an id. */
const keyValuesOf = ({ key }: DimensionTable, id: string): string[] =>
  key.map((column, index) => valueOf(column, key.length === 1 ? id : `split_part(${id}, ' ', ${index + 1})`))

const isRow = (table: DimensionTable, id: string): string =>
  keyValuesOf(table, id)
    .map((value, index) => `s.${table.key[index]?.name ?? ''} = ${value}`)
    .join(' AND ')

/**
 * $1: the namespace, $2: ids, $3: the highest version. Why one statement: a row and its number must be of one moment.
 * Why row by row (OFFSET): if the statistics of a table are older than its growth, PostgreSQL would read all of it for
 * a few rows.
 */
function rowsOf(table: DimensionTable): string {
  const fields = [
    `'namespace_id', c.namespace_id`,
    ...table.key.map(({ name }, index) => `'${name}', ${keyValuesOf(table, 'c.id')[index] ?? ''}`),
    ...table.columns.map(({ name }) => `'${name}', r.${name}`),
    `'version', least(c.number, $3::bigint)::text`,
    `'is_deleted', (r.namespace_id IS NULL)::integer`,
  ]
  return `
    SELECT json_build_object(${fields.join(', ')})::text AS line
    FROM dimension_changes c LEFT JOIN LATERAL (
      SELECT s.namespace_id, ${textsOf(table)} FROM ${table.name} s
      WHERE s.namespace_id = c.namespace_id AND ${isRow(table, 'c.id')} OFFSET 0) AS r ON true
    WHERE c.namespace_id = $1 AND c.of_table = '${table.name}' AND c.id = ANY ($2)`
}

/** The digest of a row in `r`: of its columns with their lengths, so that no two rows have the same text. */
const digestOf = ({ key, columns }: DimensionTable): string =>
  `md5(concat(${[...key, ...columns]
    .map(({ name }) => `coalesce(octet_length(r.${name}) || ':' || r.${name}, '-')`)
    .join(', ')}))`

const digestsOf = (table: DimensionTable, rows: string): string => {
  const id = table.key.map(({ name }) => `r.${name}`).join(` || ' ' || `)
  return `
    SELECT ${id} AS id, ${digestOf(table)} AS digest, (
      SELECT c.number FROM dimension_changes c
      WHERE c.namespace_id = $1 AND c.of_table = '${table.name}' AND c.id = ${id}) AS number
    FROM (SELECT ${textsOf(table)}, row_number() OVER () AS nth FROM ${rows}) AS r
    ORDER BY r.nth`
}

/** $1: the namespace, $2: how many, $3 and further: the key that the page begins after. */
function pageOf(table: DimensionTable, isAfter: boolean): string {
  const key = table.key.map(({ name }) => name).join(', ')
  const last = table.key.map((column, index) => valueOf(column, `$${index + 3}::text`)).join(', ')
  const after = isAfter ? `AND (${key}) > (${last})` : ''
  return digestsOf(
    table,
    `(SELECT * FROM ${table.name} WHERE namespace_id = $1 ${after} ORDER BY ${key} LIMIT $2) AS s`,
  )
}

/** $1: the namespace, $2: ids. */
const lookUpOf = (table: DimensionTable): string =>
  digestsOf(
    table,
    `unnest($2::text[]) AS asked (id) JOIN ${table.name} s ON s.namespace_id = $1 AND ${isRow(table, 'asked.id')}`,
  )
