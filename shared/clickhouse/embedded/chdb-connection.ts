import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { type ClickHouseClientConfigOptions, type ClickHouseSettings, parseError } from '@clickhouse/client'
import { formatQueryParams } from '@clickhouse/client-common'
import { DomainError } from '../../errors/domain-error.ts'
import type { ChdbSession } from './chdb-session.ts'
import { findInsertStatement } from './insert-statement.ts'
import { SessionPool, type SessionPoolOptions } from './session-pool.ts'

type Conn = NonNullable<ClickHouseClientConfigOptions['connection']>
type QueryParams = Parameters<Conn['query']>[0]
type InsertParams = Parameters<Conn['insert']>[0]
type ExecParams = Parameters<Conn['exec']>[0]
type CommandParams = Parameters<Conn['command']>[0]

export interface ChdbConnectionOptions extends SessionPoolOptions {
  /** Used unless a query says otherwise. */
  settings: ClickHouseSettings
}

const CHUNK_BYTES = 64 * 1_024

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
 * Several chDB connections behind the one Connection that @clickhouse/client expects.
 *
 * Why not one `createChdbConnection` for each client: chDB passes query parameters through a process-wide queue. A
 * slow query with parameters then delays every other query, on any connection
 * (docs/decisions/0002-chdb-connection-pool.md). `SET param_name` sets the same parameters on one connection only. So
 * each query gets a free connection to itself and sets its parameters there.
 */
export class ChdbConnection implements Conn {
  private readonly sessions: SessionPool
  private readonly settings: ClickHouseSettings

  private constructor(sessions: SessionPool, settings: ClickHouseSettings) {
    this.sessions = sessions
    this.settings = settings
  }

  static async open({ settings, ...options }: ChdbConnectionOptions): Promise<ChdbConnection> {
    return new ChdbConnection(await SessionPool.open(options), settings)
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

  close(): Promise<void> {
    this.sessions.close()
    return Promise.resolve()
  }

  private async insertRaw(params: QueryParams, query: string, values: string | Readable): Promise<number> {
    const target = findInsertStatement(query)
    if (target === undefined) throw new Error(`not an INSERT of rows in a known format: ${query}`)
    const bytes = await bufferOf(values)
    return this.use((session) => session.insertRaw({ ...target, values: bytes }, this.settingsOf(params)))
  }

  private run(params: QueryParams, query: string): Promise<Uint8Array> {
    const format = params.clickhouse_settings?.['default_format']
    return this.use(async (session) => {
      const result = await session.run({
        text: query,
        settings: this.settingsOf(params),
        params: paramTexts(params.query_params),
        ...(typeof format === 'string' ? { format } : {}),
      })
      return result.bytes()
    })
  }

  private settingsOf(params: QueryParams): ClickHouseSettings {
    return { ...this.settings, ...params.clickhouse_settings }
  }

  private async use<T>(work: (session: ChdbSession) => Promise<T>): Promise<T> {
    try {
      return await this.sessions.use(work)
    } catch (err) {
      throw err instanceof DomainError ? err : clickHouseError(err)
    }
  }
}

const paramTexts = (params: Record<string, unknown> | undefined): Record<string, string> =>
  Object.fromEntries(
    Object.entries(params ?? {}).map(([name, value]) => [name, formatQueryParams({ value })]),
  )

async function bufferOf(values: string | Readable): Promise<Buffer> {
  if (typeof values === 'string') return Buffer.from(values)
  const chunks: Buffer[] = []
  for await (const chunk of values as AsyncIterable<Buffer | string>)
    chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
  const [only] = chunks
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)
}

/** The engine's errors in the shape that @clickhouse/client gives to errors of a server: with `code` and `type`. */
function clickHouseError(err: unknown): Error {
  if (!(err instanceof Error)) return new Error(String(err))
  const parsed = parseError(err.message)
  if (parsed !== err) parsed.cause = err
  return parsed
}

/** A stream of chunks, as from a server, so that the reader of a long answer can yield between two chunks. */
const readableOf = (bytes: Uint8Array): Readable =>
  Readable.from(chunksOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)), { objectMode: false })

function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES)
    yield bytes.subarray(start, start + CHUNK_BYTES)
}

const baseResult = (queryId: string | undefined) => ({
  query_id: queryId ?? randomUUID(),
  response_headers: {},
  http_status_code: 200,
})
