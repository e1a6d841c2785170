import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { collectBytes, collectGunzipped } from '../../shared/http/collect-bytes.ts'
import { HttpError } from '../../shared/http/http-error.ts'
import { ClickHouseException } from './exception.ts'

/** A client's request. */
export interface QueryRequest {
  queryId: string
  /** The query, or its first part, from the URL. */
  urlQuery: string
  /** After decompression: the query, or the rest of it. */
  body: Buffer
  /** Values for the query's `{name:Type}`, by name; still escaped, as the client sent them. */
  params: Record<string, string>
  database: string | undefined
  /** The format when the query has no FORMAT clause. */
  format: string | undefined
  /** Everything else in the URL, without NOT_SETTINGS and MISSING_PARTS. */
  settings: Map<string, string>
  /** The protocol revision for which the format Native is written. 0 means the form that is used for files. */
  protocolRevision: number
}

/** Parameters of the protocol that are no settings of a query. */
const NOT_SETTINGS = new Set([
  'query',
  'query_id',
  'database',
  'user',
  'password',
  'quota_key',
  'default_format',
  'compress',
  'enable_http_compression',
  'client_protocol_version',
  'stacktrace',
  // A session keeps temporary tables and settings between queries. There are no sessions here.
  'session_id',
  'session_timeout',
  'session_check',
  'close_session',
])

/** Parts of the protocol that are not supported. Empty, 0 and false mean that they are not used. */
const MISSING_PARTS = ['decompress', 'role']

/**
 * Parses a request and reads its body. The limit of bytes holds for the decompressed body.
 *
 * @throws ClickHouseException when it is too long or cannot be read
 */
export async function readQueryRequest(
  req: IncomingMessage,
  url: URLSearchParams,
  bodyBytesMax: number,
): Promise<QueryRequest> {
  requireSupported(req, url)
  const params: Record<string, string> = Object.create(null) as Record<string, string>
  const settings = new Map<string, string>()
  for (const [name, value] of url)
    if (name.startsWith('param_'))
      params[requireParamName(name.slice('param_'.length))] = requireParamValue(value)
    else if (!NOT_SETTINGS.has(name) && !MISSING_PARTS.includes(name)) settings.set(name, value)
  return {
    queryId: readQueryId(url),
    urlQuery: url.get('query') ?? '',
    body: await readBody(req, bodyBytesMax),
    params,
    database: header(req, 'x-clickhouse-database') ?? url.get('database') ?? undefined,
    format: header(req, 'x-clickhouse-format') ?? url.get('default_format') ?? undefined,
    settings,
    protocolRevision: Number(/^\d{1,9}$/.exec(url.get('client_protocol_version') ?? '')?.[0] ?? 0),
  }
}

/** Whether a switch of the protocol is on. */
export const isOn = (value: string | null | undefined): boolean => value === '1' || value === 'true'

/** The whole query: ClickHouse puts a line break between its two parts. */
export function textOf({ urlQuery, body }: QueryRequest): string {
  if (!isUtf8(body))
    throw new ClickHouseException('SYNTAX_ERROR', 'Syntax error: the query is not valid UTF-8.')
  return [urlQuery, body.toString()].filter((part) => part !== '').join('\n')
}

function requireParamName(name: string): string {
  if (/^[A-Za-z_]\w{0,127}$/.test(name)) return name
  throw new ClickHouseException('BAD_ARGUMENTS', `param_${name}: not a name for a parameter.`)
}

function requireParamValue(value: string): string {
  if (!value.includes('\0')) return value
  throw new ClickHouseException('BAD_ARGUMENTS', 'a parameter holds a NUL character.')
}

function readQueryId(url: URLSearchParams): string {
  const id = url.get('query_id') ?? ''
  if (id === '') return randomUUID()
  if (/^[\w.:-]{1,128}$/.test(id)) return id
  throw new ClickHouseException(
    'BAD_ARGUMENTS',
    'query_id: must be 1 to 128 letters, digits, dots, colons, dashes or underscores.',
  )
}

function requireSupported(req: IncomingMessage, url: URLSearchParams): void {
  for (const name of MISSING_PARTS)
    if (!['', '0', 'false', null].includes(url.get(name)))
      throw new ClickHouseException('NOT_IMPLEMENTED', `${name} is not supported here.`)
  if (/^\s*multipart\//i.test(req.headers['content-type'] ?? ''))
    throw new ClickHouseException(
      'NOT_IMPLEMENTED',
      'A body of several parts is not supported here: send the query as the body, and parameters as param_NAME in the URL.',
    )
}

const header = (req: IncomingMessage, name: string): string | undefined => {
  const value = req.headers[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** All analysts together count as one tenant, like a company. */
const TENANT = 'analysts'

async function readBody(req: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const encoding = (req.headers['content-encoding'] ?? 'identity').toLowerCase()
  const tooLarge = () =>
    new ClickHouseException('QUERY_IS_TOO_LARGE', `the body is larger than ${bytesMax} bytes.`)
  if (encoding === 'identity') return collectBytes(req, bytesMax, tooLarge, TENANT).catch(rethrow)
  if (encoding !== 'gzip')
    throw new ClickHouseException('NOT_IMPLEMENTED', 'content-encoding: only gzip is supported here.')
  return collectGunzipped(req, bytesMax, tooLarge, TENANT)
    .catch(rethrow)
    .catch((err: unknown) => {
      if (err instanceof ClickHouseException) throw err
      throw new ClickHouseException('ZLIB_INFLATE_FAILED', 'the body is not valid gzip.')
    })
}

function rethrow(err: unknown): never {
  throw err instanceof HttpError ? new ClickHouseException('ABORTED', err.message) : err
}
