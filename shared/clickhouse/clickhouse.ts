import {
  type ClickHouseClient,
  ClickHouseLogLevel,
  type ClickHouseSettings,
  createClient,
} from '@clickhouse/client'
import type { Closeable } from '../lifecycle/close-all.ts'
import { EMBEDDED_COMPANIES_MAX } from './analytics-database.ts'
import type { AnalystGrants } from './embedded/engine-config.ts'
import type { EmbeddedEngine } from './embedded/open-engine.ts'
import { importEmbedded } from './import-embedded.ts'
import { type QueryTurns, queryTurns, tenantOf } from './query-turns.ts'
import { quoteIdentifier } from './quote-identifier.ts'

/** The client of ClickHouse, whether it is a server or the engine in this process. */
export interface ClickHouse extends ClickHouseClient {
  /** Queries of this client wait for a turn of `mine`. `long` has the turns for reads that may take long. */
  turns: { mine: QueryTurns; long: QueryTurns }
}

export interface OpenedClickHouse extends Closeable {
  client: ClickHouse
  database: string
  /** Makes the database of a server; an embedded database is made when it is opened. */
  makeDatabase?: () => Promise<void>
  /** Set when ClickHouse is embedded: opens further connections to it. */
  engine?: EmbeddedEngine
}

export type ClickHouseOptions = {
  database: string
  /** The longest time that one query may run, in seconds. */
  queryTimeoutS: number
  /** The number of queries that run at once; more wait. */
  connections: number
} & ({ url: string } | EmbeddedOptions)

interface EmbeddedOptions {
  folder: string
  /** What analysts may be able to read in this process. Fixed when the engine starts. Default: of this database. */
  analystGrants?: AnalystGrants
}

/**
 * With FINAL, ClickHouse must not move conditions to PREWHERE, which it applies before FINAL. There, a condition on a
 * column outside the sorting key could drop the row that counts, and FINAL would return an older row of the event.
 */
export const FINAL_SETTINGS: ClickHouseSettings = { optimize_move_to_prewhere_if_final: 0 }

/**
 * Settings that are sent with every query, because their defaults differ between versions and engines. ClickHouse
 * acknowledges an insert only after it has stored the rows and the materialized views have copied them. It drops no
 * block as a repeat of an earlier block. A batch may contain rows of any number of months.
 */
const SETTINGS: ClickHouseSettings = {
  async_insert: 0,
  insert_deduplicate: 0,
  materialized_views_ignore_errors: 0,
  max_partitions_per_insert_block: '0',
  // ClickHouse sends these numbers as text, because JavaScript reads a bare JSON number as a double.
  output_format_json_quote_64bit_integers: 1,
  output_format_json_quote_decimals: 1,
  // A property object is stored as the text that was sent.
  input_format_json_read_objects_as_strings: 1,
  ...FINAL_SETTINGS,
}

/**
 * Opens a ClickHouse server, or the embedded engine with its data folder.
 *
 * @throws StartupError in one line when the engine does not open
 */
export async function openClickHouse(options: ClickHouseOptions): Promise<OpenedClickHouse> {
  const { database } = options
  const settings = { ...SETTINGS, max_execution_time: options.queryTimeoutS }
  if ('url' in options) {
    const server = { url: options.url, log: { level: ClickHouseLogLevel.OFF } } // callers get and log its errors
    const client = createClient({
      ...server,
      database,
      request_timeout: options.queryTimeoutS * 1_000 + 5_000,
      max_open_connections: options.connections,
      clickhouse_settings: settings,
      compression: { request: false, response: false },
    })
    const makeDatabase = () => makeDatabaseWith(inTurns(createClient(server), 1), database)
    return {
      name: 'ClickHouse',
      client: inTurns(client, options.connections),
      database,
      makeDatabase,
      close: () => client.close(),
    }
  }
  const { folder, connections } = options
  const { analystGrants = { databases: [database], companiesMax: EMBEDDED_COMPANIES_MAX } } = options
  const { openEngine } = await importEmbedded()
  const setup = `CREATE DATABASE IF NOT EXISTS ${quoteIdentifier(database)}; USE ${quoteIdentifier(database)}`
  const { engine, connection } = await openEngine({ folder, analystGrants, connections, settings, setup })
  const client = createClient({ connection })
  return {
    name: 'embedded ClickHouse',
    client: inTurns(client, connections),
    database,
    engine,
    close: () => client.close(),
  }
}

function inTurns(client: ClickHouseClient, connections: number): ClickHouse {
  const { short, long } = queryTurns(connections)
  return Object.assign(client, { turns: { mine: short, long } })
}

/** The given client for reads that may take long. Such reads leave some connections to other reads. */
export const forLongReads = (client: ClickHouse): ClickHouse =>
  withMembers(client, { turns: { ...client.turns, mine: client.turns.long } })

/** A client with some members replaced. */
export const withMembers = (client: ClickHouse, members: Partial<ClickHouse>): ClickHouse =>
  new Proxy(client, {
    get: (target, name) => {
      if (Object.hasOwn(members, name)) return Reflect.get(members, name) as unknown
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })

/**
 * Creates a database if it is missing. First it checks whether the database exists: a user without the right to create
 * databases can then use one that an administrator has created.
 *
 * @param client has no default database, because a server refuses every query whose default database is missing
 */
async function makeDatabaseWith(client: ClickHouse, database: string): Promise<void> {
  const name = quoteIdentifier(database)
  try {
    const [found] = await queryRows<{ result: number }>(client, `EXISTS DATABASE ${name}`, {})
    if (found?.result !== 1) await client.command({ query: `CREATE DATABASE IF NOT EXISTS ${name}` })
  } finally {
    await client.close()
  }
}

/**
 * Runs a query in its turn and returns its rows. Values are text, except numbers of up to 32 bits.
 *
 * @param settings added to those of the client
 * @throws DomainError overloaded when no turn comes in time
 */
export function queryRows<Row>(
  client: ClickHouse,
  query: string,
  params: Record<string, unknown>,
  settings: ClickHouseSettings = {},
): Promise<Row[]> {
  return inTurn(client, params, async (ofTurn) => {
    const result = await client.query({
      query,
      query_params: params,
      format: 'JSONEachRow',
      clickhouse_settings: { ...ofTurn, ...settings },
    })
    return result.json<Row>()
  })
}

/** @param work receives the settings of its turn */
async function inTurn<T>(
  { turns: { mine } }: ClickHouse,
  params: Record<string, unknown>,
  work: (settings: ClickHouseSettings) => Promise<T>,
): Promise<T> {
  const release = await mine.acquire({ tenant: tenantOf(params) })
  try {
    return await work(mine.settings)
  } finally {
    release()
  }
}

/**
 * Runs a query in its turn and yields its rows in batches. It is used for large answers: parsing all of their rows at
 * once would block the event loop. A server begins to answer only when the answer is complete; queryBytes says why.
 *
 * @param settings added to those of the client
 */
export async function* streamRows<Row>(
  client: ClickHouse,
  query: string,
  params: Record<string, unknown>,
  settings: ClickHouseSettings = {},
): AsyncGenerator<Row[]> {
  const { mine } = client.turns
  const release = await mine.acquire({ tenant: tenantOf(params) })
  try {
    const result = await client.query({
      query,
      query_params: params,
      format: 'JSONEachRow',
      clickhouse_settings: { wait_end_of_query: 1, ...mine.settings, ...settings },
    })
    for await (const rows of result.stream<Row>()) yield rows.map((row) => row.json())
  } finally {
    release()
  }
}

/**
 * Runs a query whose FORMAT is binary, and returns the bytes.
 *
 * Why wait_end_of_query: without it, a server may fail after it has sent a part of the answer. In a binary format, a
 * truncated answer looks like a complete one.
 */
export function queryBytes(
  client: ClickHouse,
  query: string,
  params: Record<string, unknown>,
): Promise<Buffer> {
  return inTurn(client, params, async (ofTurn) => {
    const { stream } = await client.exec({
      query,
      query_params: params,
      clickhouse_settings: { wait_end_of_query: 1, ...ofTurn },
    })
    const chunks = (await stream.toArray()) as Buffer[]
    const [only] = chunks
    return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)
  })
}
