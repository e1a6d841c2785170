import { createClient, type ClickHouseClient, type ClickHouseSettings } from '@clickhouse/client'
import type { Closeable } from '../lifecycle/close-all.ts'
import { ChdbPool } from './embedded/chdb-pool.ts'

/** The one API to ClickHouse, whether it is a server or the engine in our process. */
export type ClickHouse = ClickHouseClient

export interface OpenedClickHouse extends Closeable {
  client: ClickHouse
  database: string
}

export type ClickHouseOptions = {
  database: string
  /** The longest one query may run, in seconds. */
  queryTimeoutS: number
  /** Queries at once; more wait. */
  connections: number
} & ({ url: string } | { folder: string })

/**
 * Settings that are written out on every query, because their defaults differ between versions and engines: inserts are
 * acknowledged once they are stored, no block is taken for a copy of an earlier one, and a batch may span any number of
 * months.
 */
const SETTINGS: ClickHouseSettings = {
  async_insert: 0,
  insert_deduplicate: 0,
  max_partitions_per_insert_block: '0',
  // Values are text on the wire: a bare JSON number would be read as a double.
  output_format_json_quote_64bit_integers: 1,
  output_format_json_quote_decimals: 1,
  // A property object is stored as the text it came in.
  input_format_json_read_objects_as_strings: 1,
  // Filters on columns outside the sorting key must see the row that counts, not one that FINAL drops.
  optimize_move_to_prewhere_if_final: 0,
}

/** Opens a ClickHouse server, or the engine on a folder of ours. */
export async function openClickHouse(options: ClickHouseOptions): Promise<OpenedClickHouse> {
  const { database } = options
  const settings = { ...SETTINGS, max_execution_time: options.queryTimeoutS }
  if ('url' in options) {
    const client = createClient({
      url: options.url,
      database,
      request_timeout: options.queryTimeoutS * 1_000 + 5_000,
      max_open_connections: options.connections,
      clickhouse_settings: settings,
      compression: { request: false, response: false },
    })
    return { name: 'ClickHouse', client, database, close: () => client.close() }
  }
  const { folder, connections } = options
  const pool = await ChdbPool.open({ folder, connections, database, settings })
  const client = createClient({ connection: pool })
  return { name: 'embedded ClickHouse', client, database, close: () => client.close() }
}

/** Runs a query and gives its rows; values come as text, but for numbers of up to 32 bits. */
export async function queryRows<Row>(
  client: ClickHouse,
  query: string,
  params: Record<string, unknown>,
): Promise<Row[]> {
  const result = await client.query({ query, query_params: params, format: 'JSONEachRow' })
  return result.json<Row>()
}
