import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { endAnswer } from '../../shared/http/end-answer.ts'
import type { QueryAnswer } from './endpoint-user.ts'
import type { ClickHouseException } from './exception.ts'
import { compressedBlocks } from './native/compressed-blocks.ts'
import { contentTypeOf } from './output-format.ts'

const compress = promisify(gzip)

/** How a client wants its answer packed. */
export interface Packing {
  /** In ClickHouse's compressed blocks, errors too: its drivers read nothing else then. */
  inBlocks: boolean
  /** Compressed as a whole, as HTTP has it. */
  zipped: boolean
}

export const readPacking = (req: IncomingMessage, url: URLSearchParams): Packing => ({
  inBlocks: isOn(url.get('compress')),
  zipped: isOn(url.get('enable_http_compression')) && /\bgzip\b/.test(req.headers['accept-encoding'] ?? ''),
})

const isOn = (value: string | null): boolean => value === '1' || value === 'true'

/** What answers say about the server. */
export interface ServerFacts {
  version: string
  timeZone: string
}

const TEXT = 'text/plain; charset=UTF-8'

export function replyText(
  res: ServerResponse,
  status: number,
  text: string | Buffer,
  headers: Record<string, string> = {},
): void {
  res.statusCode = status
  const all = { ...COMMON, 'Content-Type': TEXT, 'Content-Length': Buffer.byteLength(text), ...headers }
  for (const [name, value] of Object.entries(all)) res.setHeader(name, value)
  endAnswer(res, text)
}

export async function replyAnswer(
  res: ServerResponse,
  facts: ServerFacts,
  { inBlocks, zipped }: Packing,
  queryId: string,
  answer: QueryAnswer,
): Promise<void> {
  const packed = inBlocks ? await compressedBlocks(answer.bytes) : answer.bytes
  const body = zipped ? await compress(packed) : packed
  if (res.destroyed) return // the client has disconnected, and no event would follow
  res.writeHead(200, {
    ...COMMON,
    'Content-Type': contentTypeOf(answer.format),
    'Content-Length': body.length,
    ...(zipped ? { 'Content-Encoding': 'gzip' } : {}),
    'X-ClickHouse-Query-Id': queryId,
    'X-ClickHouse-Format': answer.format,
    'X-ClickHouse-Timezone': facts.timeZone,
    'X-ClickHouse-Summary': summaryText(answer),
  })
  res.end(body)
  await sent(res)
}

/** How long a client may take to read an answer. */
const SEND_MS = 60_000

function sent(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      res.destroy()
    }, SEND_MS)
    res.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

export async function replyException(
  res: ServerResponse,
  facts: ServerFacts,
  { inBlocks }: Packing,
  queryId: string | undefined,
  exception: ClickHouseException,
): Promise<void> {
  const text = exception.toText(facts.version)
  replyText(res, exception.status, inBlocks ? await compressedBlocks(Buffer.from(text)) : text, {
    'X-ClickHouse-Exception-Code': String(exception.code),
    ...(queryId === undefined ? {} : { 'X-ClickHouse-Query-Id': queryId }),
    ...(exception.status === 401 ? { 'WWW-Authenticate': 'Basic realm="ClickHouse server HTTP API"' } : {}),
  })
}

const COMMON = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'X-ClickHouse-Server-Display-Name': 'Tally',
}

/** Numbers as text, as ClickHouse writes them. */
function summaryText({ summary, bytes }: QueryAnswer): string {
  const { resultRows, resultBytes, writtenRows, elapsed } = summary
  return JSON.stringify({
    read_rows: String(resultRows),
    read_bytes: String(resultBytes),
    written_rows: String(writtenRows),
    written_bytes: '0',
    total_rows_to_read: '0',
    result_rows: String(resultRows),
    result_bytes: String(bytes.length),
    elapsed_ns: String(Math.round(elapsed * 1e9)),
  })
}
