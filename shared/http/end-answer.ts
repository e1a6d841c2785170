import type { IncomingMessage, ServerResponse } from 'node:http'
import { isBodyHeldBack } from './expect-continue.ts'

const KEPT_BYTES_MAX = 4 * 1_024 * 1_024
const REST_MS = 2_000
const REST_BYTES = 16 * 1_024 * 1_024

/**
 * Ends an answer, also one that is given while the body of its request is still on its way. Closed at once, a
 * connection would lose the answer, because a client that still writes is reset; so the rest is read and thrown away. A
 * short rest leaves the connection open for the next request. After a long one, one of unknown length, or one that the
 * client holds back until it is asked for, the connection closes, and the answer says so: a client that did not know
 * would send its next request into the closing.
 *
 * @param res its head is set and not yet sent
 */
export function endAnswer(res: ServerResponse, text: string): void {
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
 * Whether the rest of a body is still on its way.
 *
 * @internal
 */
export const isUnread = (req: IncomingMessage): boolean =>
  !req.complete &&
  (req.headers['transfer-encoding'] !== undefined || (req.headers['content-length'] ?? '0') !== '0')

/**
 * Ends an answer that said `Connection: close` and is written but for its end, once the rest of the request is read,
 * for a moment at most.
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
    if (bytes > REST_BYTES) req.pause() // and the client has the rest of the time to read its answer
  })
  req.once('end', end)
  req.once('close', end)
  req.resume()
}
