import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { parseError, type ClickHouseClientConfigOptions, type ClickHouseSettings } from '@clickhouse/client'
import { formatQueryParams } from '@clickhouse/client-common'
import { createChdbConnection, type ChdbConnection } from 'chdb/connection'

type Conn = NonNullable<ClickHouseClientConfigOptions['connection']>
type QueryParams = Parameters<Conn['query']>[0]
type InsertParams = Parameters<Conn['insert']>[0]
type ExecParams = Parameters<Conn['exec']>[0]
type CommandParams = Parameters<Conn['command']>[0]

export interface ChdbPoolOptions {
  /** The data folder; one a process, as the engine demands. */
  folder: string
  /** How many queries run at once; each takes one thread of Node's pool (UV_THREADPOOL_SIZE) while it runs. */
  connections: number
  /** The database that unqualified names mean; made if it is missing. */
  database: string
  /** In force unless a query says otherwise. */
  settings: ClickHouseSettings
}

/** A connection and what is set on it: chDB keeps settings and parameters until they are set anew. */
interface Session {
  connection: ChdbConnection
  settings: Map<string, string>
}

/** Settings of ClickHouse's HTTP layer; @clickhouse/client sends some of them, and the engine does not know them. */
const HTTP_ONLY = new Set(['wait_end_of_query', 'http_response_buffer_size', 'enable_http_compression'])

/** After a failure it is not known which settings took: all are set again. */
const UNKNOWN = '?'

const EMPTY_SUMMARY = {
  read_rows: '0',
  read_bytes: '0',
  written_rows: '0',
  written_bytes: '0',
  result_rows: '0',
  result_bytes: '0',
  total_rows_to_read: '0',
  elapsed_ns: '0',
}

/**
 * Several chDB connections behind the one Connection that @clickhouse/client asks for.
 *
 * Why not one `createChdbConnection` for each client: chDB binds query parameters through a process-wide queue, so a slow
 * query with parameters keeps every other one waiting, on whatever connection (measured: 3,454 ms for a constant beside
 * a slow query, against 2.7 ms here). `SET param_name` sets the same parameters on one connection only, so each query
 * gets a free connection to itself and sets its own there.
 */
export class ChdbPool implements Conn {
  private readonly options: ChdbPoolOptions
  private readonly free: Session[]
  private readonly all: Session[]
  private readonly waiting: ((session: Session) => void)[] = []

  private constructor(options: ChdbPoolOptions) {
    this.options = options
    this.all = Array.from({ length: options.connections }, () => ({
      connection: createChdbConnection({ path: options.folder }),
      settings: new Map<string, string>(),
    }))
    this.free = [...this.all]
  }

  static async open(options: ChdbPoolOptions): Promise<ChdbPool> {
    const pool = new ChdbPool(options)
    const database = quoteIdentifier(options.database)
    for (const { connection } of pool.all)
      await connection.chdb.queryAsync(`CREATE DATABASE IF NOT EXISTS ${database}; USE ${database}`)
    return pool
  }

  async query(params: QueryParams) {
    const bytes = await this.run(params, params.query)
    return { stream: readableOf(bytes), ...baseResult(params.query_id) }
  }

  async command(params: CommandParams) {
    await this.run(params, params.query)
    return { ...baseResult(params.query_id), summary: EMPTY_SUMMARY }
  }

  async exec(params: ExecParams) {
    const result = { ...baseResult(params.query_id), summary: EMPTY_SUMMARY }
    if (params.values === undefined)
      return { stream: readableOf(await this.run(params, params.query)), ...result }
    await this.insertRaw(params, params.query, params.values)
    return { stream: readableOf(new Uint8Array()), ...result }
  }

  async insert(params: InsertParams) {
    const rows = await this.insertRaw(params, params.query, params.values)
    return { ...baseResult(params.query_id), summary: { ...EMPTY_SUMMARY, written_rows: String(rows) } }
  }

  async ping(): Promise<{ success: true } | { success: false; error: Error }> {
    try {
      await this.run({ query: 'SELECT 1' }, 'SELECT 1')
      return { success: true }
    } catch (err) {
      return { success: false, error: err instanceof Error ? err : new Error(String(err)) }
    }
  }

  async close(): Promise<void> {
    for (const { connection } of this.all) await connection.close()
  }

  /** The bytes are handed over as they are: no copy into one large JavaScript string. */
  private async insertRaw(params: QueryParams, query: string, values: string | Readable): Promise<number> {
    const target = parseInsert(query)
    const bytes = await bufferOf(values)
    return this.withSession(async (session) => {
      await applySettings(session, this.settingsOf(params))
      return (await session.connection.chdb.rawInsert({ ...target, values: bytes })).rowsWritten
    })
  }

  private run(params: QueryParams, query: string): Promise<Uint8Array> {
    return this.withSession(async (session) => {
      const set = [
        ...settingStatements(session, this.settingsOf(params)),
        ...parameterStatements(params.query_params),
      ]
      const format = params.clickhouse_settings?.['default_format']
      const text = set.length === 0 ? query : `SET ${set.join(', ')}; ${query}`
      // Why no abort signal: it would only reject here, while the query goes on and keeps its connection.
      const result = await session.connection.chdb.queryAsync(
        text,
        typeof format === 'string' ? { format } : {},
      )
      return result.bytes()
    })
  }

  private settingsOf(params: QueryParams): ClickHouseSettings {
    return { ...this.options.settings, ...params.clickhouse_settings }
  }

  private async withSession<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = this.free.pop() ?? (await new Promise<Session>((resolve) => this.waiting.push(resolve)))
    try {
      return await work(session)
    } catch (err) {
      for (const name of session.settings.keys()) session.settings.set(name, UNKNOWN)
      throw clickHouseError(err)
    } finally {
      const next = this.waiting.shift()
      if (next === undefined) this.free.push(session)
      else next(session)
    }
  }
}

/** What must be set anew so that exactly these settings are in force; remembers them as set. */
function settingStatements(session: Session, wanted: ClickHouseSettings): string[] {
  const statements: string[] = []
  const texts = new Map<string, string>()
  for (const [name, value] of Object.entries(wanted)) {
    if (value === undefined || name === 'default_format' || HTTP_ONLY.has(name)) continue
    requireName(name)
    texts.set(name, typeof value === 'string' ? quoteText(value) : String(Number(value)))
  }
  for (const name of session.settings.keys()) if (!texts.has(name)) statements.push(`${name} = DEFAULT`)
  for (const [name, text] of texts)
    if (session.settings.get(name) !== text) statements.push(`${name} = ${text}`)
  session.settings = texts
  return statements
}

async function applySettings(session: Session, wanted: ClickHouseSettings): Promise<void> {
  const statements = settingStatements(session, wanted)
  if (statements.length > 0) await session.connection.chdb.queryAsync(`SET ${statements.join(', ')}`)
}

function parameterStatements(params: Record<string, unknown> | undefined): string[] {
  return Object.entries(params ?? {}).map(([name, value]) => {
    requireName(name)
    return `param_${name} = ${quoteText(formatQueryParams({ value }))}`
  })
}

function requireName(name: string): void {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    throw new Error(`not a name for a setting: ${JSON.stringify(name)}`)
}

const quoteText = (text: string): string => `'${text.replace(/\\/g, '\\\\').replace(/'/g, "\\'")}'`

/** Quotes a name of a database, table or column. */
const quoteIdentifier = (name: string): string => `\`${name.replace(/\\/g, '\\\\').replace(/`/g, '\\`')}\``

/** Takes apart the statement of an insert of raw rows: chDB wants its parts. */
function parseInsert(query: string): { table: string; columns?: string[]; format: 'JSONEachRow' } {
  const match = /^\s*INSERT INTO (\w+)(?: \(([\w,\s]+)\))?\s+FORMAT JSONEachRow\s*$/.exec(query)
  if (match === null) throw new Error('only INSERT INTO table (columns) FORMAT JSONEachRow is supported')
  const [, table = '', columns] = match
  return {
    table,
    format: 'JSONEachRow',
    ...(columns === undefined ? {} : { columns: columns.split(',').map((name) => name.trim()) }),
  }
}

async function bufferOf(values: string | Readable): Promise<Buffer> {
  if (typeof values === 'string') return Buffer.from(values)
  const chunks: Buffer[] = []
  for await (const chunk of values as AsyncIterable<Buffer | string>)
    chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
  const [only] = chunks
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)
}

/** The engine's errors in the shape @clickhouse/client gives those of a server: with `code` and `type`. */
function clickHouseError(err: unknown): Error {
  if (!(err instanceof Error)) return new Error(String(err))
  const parsed = parseError(err.message)
  if (parsed !== err) parsed.cause = err
  return parsed
}

const readableOf = (bytes: Uint8Array): Readable =>
  Readable.from([Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)], { objectMode: false })

const baseResult = (queryId: string | undefined) => ({
  query_id: queryId ?? randomUUID(),
  response_headers: {},
  http_status_code: 200,
})
