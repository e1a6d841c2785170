import type { IncomingMessage } from 'node:http'

const REST_MS = 1_000
const REST_BYTES = 16 * 1_024 * 1_024

/**
 * Closes the connection of a request that was answered while its body was still on its way. For a moment the rest is read
 * and thrown away: closed at once, the answer would be lost with it, because a client that still writes is reset.
 */
export function closeAfterRest(req: IncomingMessage): void {
  const { socket } = req
  let bytes = 0
  const end = () => {
    clearTimeout(late)
    socket.destroy()
  }
  const late = setTimeout(end, REST_MS)
  req.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > REST_BYTES) end()
  })
  req.once('end', () => {
    clearTimeout(late)
  })
  req.once('close', () => {
    clearTimeout(late)
  })
  req.resume()
}
