import { randomInt } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline, Readable } from 'node:stream'
import { promisify } from 'node:util'
import { createGzip, gzip } from 'node:zlib'
import { endAnswer } from '../../shared/http/end-answer.ts'
import type { QueryAnswer, QuerySummary } from './endpoint-user.ts'
import type { ClickHouseException } from './exception.ts'
import { compressedBlocks } from './native/compressed-blocks.ts'
import { contentTypeOf } from './output-format.ts'
import { isOn } from './query-request.ts'
import type { Delivery } from './unsent-places.ts'

const compress = promisify(gzip)

/** How a client wants its answer packed. */
export interface Packing {
  /**
   * In ClickHouse's compressed blocks. Errors are sent in blocks, too: a driver that asks for blocks reads nothing
   * else.
   */
  inBlocks: boolean
  /** The whole body in gzip, with HTTP's Content-Encoding. */
  zipped: boolean
}

export const readPacking = (req: IncomingMessage, url: URLSearchParams): Packing => ({
  inBlocks: isOn(url.get('compress')),
  zipped: isOn(url.get('enable_http_compression')) && /\bgzip\b/.test(req.headers['accept-encoding'] ?? ''),
})

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

/**
 * Sends an answer.
 *
 * @param describe makes the exception for an error that occurs after a part of the answer was sent
 * @returns the number of bytes that were sent
 * @throws that exception, after it has closed the connection: a client must see that the answer is not complete
 */
export async function replyAnswer(
  res: ServerResponse,
  facts: ServerFacts,
  packing: Packing,
  queryId: string,
  { bytes, format, summary, delivery }: QueryAnswer,
  describe: (err: unknown) => ClickHouseException,
): Promise<number> {
  const whole = bytes instanceof Uint8Array ? await packedWhole(bytes, packing) : undefined
  if (res.destroyed) return 0 // the client has disconnected, and no further event would tell
  const exceptionTag = newExceptionTag()
  res.writeHead(200, {
    ...COMMON,
    'Content-Type': contentTypeOf(format),
    ...(whole === undefined ? {} : { 'Content-Length': whole.length }),
    ...(packing.zipped ? { 'Content-Encoding': 'gzip' } : {}),
    'X-ClickHouse-Query-Id': queryId,
    'X-ClickHouse-Format': format,
    'X-ClickHouse-Timezone': facts.timeZone,
    'X-ClickHouse-Exception-Tag': exceptionTag,
    'X-ClickHouse-Summary': summaryText(summary()),
  })
  if (whole !== undefined) return await sendParts(res, [whole], delivery)
  const failed: Failure = {}
  const blockOf = (err: unknown) => {
    failed.with = describe(err)
    return exceptionBlock(exceptionTag, failed.with.toText(facts.version))
  }
  return sendParts(
    res,
    packedParts(withException(bytes as AsyncIterable<Uint8Array>, blockOf), packing),
    delivery,
    failed,
  )
}

async function packedWhole(bytes: Uint8Array, { inBlocks, zipped }: Packing): Promise<Uint8Array> {
  const packed = inBlocks ? await compressedBlocks(bytes) : bytes
  return zipped ? compress(packed) : packed
}

function packedParts(
  parts: AsyncIterable<Uint8Array>,
  { inBlocks, zipped }: Packing,
): AsyncIterable<Uint8Array> {
  const packed = inBlocks ? inCompressedBlocks(parts) : parts
  return zipped ? gzipped(packed) : packed
}

async function* inCompressedBlocks(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const part of parts) yield compressedBlocks(part)
}

function gzipped(parts: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const zip = createGzip()
  pipeline(Readable.from(parts), zip, () => undefined) // its error ends the reading of zip, too
  return zip
}

/** The exception that ended an answer early, if there was one. */
interface Failure {
  with?: ClickHouseException
}

/** Ends the parts with the text of an error when they fail. */
async function* withException(
  parts: AsyncIterable<Uint8Array>,
  textOf: (err: unknown) => string,
): AsyncGenerator<Uint8Array> {
  try {
    yield* parts
  } catch (err) {
    yield Buffer.from(textOf(err))
  }
}

const TAG_LETTERS = 16

/**
 * Marks an error that follows a part of an answer. It is random, so that nobody can store a value that looks like such
 * an error.
 */
const newExceptionTag = (): string =>
  Array.from({ length: TAG_LETTERS }, () => String.fromCharCode(0x61 + randomInt(26))).join('')

/** An error after a part of an answer, as ClickHouse 25.11 and newer write it. */
const exceptionBlock = (tag: string, text: string): string =>
  `\r\n__exception__\r\n${tag}\r\n${text}${Buffer.byteLength(text)} ${tag}\r\n__exception__\r\n`

/** A client must read an answer within SEND_MS, plus one millisecond for each BYTES_PER_MS bytes. */
const SEND_MS = 60_000
const BYTES_PER_MS = 1_000

async function sendParts(
  res: ServerResponse,
  parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  delivery: Delivery = { heldSince: undefined },
  failed: Failure = {},
): Promise<number> {
  const startedAt = performance.now()
  let bytes = 0
  const leftMs = () => startedAt + SEND_MS + bytes / BYTES_PER_MS - performance.now()
  for await (const part of parts) {
    if (res.destroyed) return bytes
    bytes += part.length
    delivery.heldSince = performance.now()
    await sent(res, leftMs(), (done) => res.write(part, done))
    delivery.heldSince = undefined
  }
  if (failed.with !== undefined) {
    res.destroy()
    throw failed.with
  }
  if (!res.destroyed) await sent(res, leftMs(), () => res.end())
  return bytes
}

/** Sends something. Waits until it is sent, or the connection has closed, or the client has taken too long. */
function sent(res: ServerResponse, ms: number, send: (done: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      clearTimeout(timer)
      res.off('close', over)
      resolve()
    }
    const timer = setTimeout(() => {
      res.destroy()
    }, ms)
    res.once('close', over)
    send(over)
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
function summaryText({ resultRows, resultBytes, writtenRows, elapsed }: QuerySummary): string {
  return JSON.stringify({
    read_rows: String(resultRows),
    read_bytes: String(resultBytes),
    written_rows: String(writtenRows),
    written_bytes: '0',
    total_rows_to_read: '0',
    result_rows: String(resultRows),
    result_bytes: String(resultBytes),
    elapsed_ns: String(Math.round(elapsed * 1e9)),
  })
}
