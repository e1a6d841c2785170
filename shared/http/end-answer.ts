import type { IncomingMessage, ServerResponse } from 'node:http'
import { isBodyHeldBack } from './expect-continue.ts'

const KEPT_BYTES_MAX = 4 * 1_024 * 1_024
const REST_MS = 2_000
const REST_BYTES = 16 * 1_024 * 1_024

/**
 * Ends an answer, even while the body of its request is still arriving. If the connection were closed at once, the
 * answer would be lost, because a client that still writes gets a reset. So the rest of the body is read and discarded.
 * After a short rest, the connection stays open for the next request. It is closed in three cases: the rest is long,
 * its length is not known, or the client sends no body before it gets `100 Continue`. The answer then announces the
 * close. Otherwise the client could send its next request on a connection that is being closed.
 *
 * @param res an answer whose status and headers are set, and not yet sent
 */
export function endAnswer(res: ServerResponse, text: string | Uint8Array): void {
  const { req } = res
  if (!isUnread(req)) res.end(text)
  else if (!isBodyHeldBack(req) && Number(req.headers['content-length']) <= KEPT_BYTES_MAX) {
    res.end(text)
    req.resume()
  } else {
    res.setHeader('Connection', 'close')
    res.write(text)
    endAfterRest(res)
  }
}

/**
 * Whether the rest of a body is still arriving.
 *
 * @internal
 */
export const isUnread = (req: IncomingMessage): boolean =>
  !req.complete &&
  (req.headers['transfer-encoding'] !== undefined || (req.headers['content-length'] ?? '0') !== '0')

/**
 * Ends an answer with `Connection: close` once the rest of the request is read, or after a short time. Before the call,
 * the whole text of the answer must be written.
 *
 * @internal
 */
export function endAfterRest(res: ServerResponse): void {
  const { req } = res
  let bytes = 0
  const end = () => {
    clearTimeout(timer)
    res.end()
  }
  const timer = setTimeout(end, REST_MS)
  req.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > REST_BYTES) req.pause() // until REST_MS is over, the client can read its answer
  })
  req.once('end', end)
  req.once('close', end)
  req.resume()
}
