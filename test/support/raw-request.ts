import { once } from 'node:events'
import { connect } from 'node:net'
import { until } from './until.ts'

/**
 * Sends text over a connection of its own, as no client would write it.
 *
 * @param isWhole whether what came back so far is all that is waited for; a connection that closes ends it too
 * @returns what came back
 */
export async function rawRequest(
  url: string,
  text: string,
  isWhole: (got: string) => boolean,
): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let got = ''
  let isClosed = false
  socket.on('data', (chunk: Buffer) => (got += chunk.toString()))
  socket.on('error', () => undefined) // it may be reset, which ends it
  socket.on('close', () => (isClosed = true))
  await once(socket, 'connect')
  socket.write(text)
  await until(() => Promise.resolve(isWhole(got) || isClosed))
  socket.destroy()
  return got
}
