import { once } from 'node:events'
import { connect } from 'node:net'
import { until } from './until.ts'

/**
 * Sends text over a separate connection, which need not be valid HTTP.
 *
 * @param isWhole whether the answer so far is complete; the end of the connection also ends the answer
 * @returns the answer
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
  socket.on('error', () => undefined) // a reset also ends the connection
  socket.on('close', () => (isClosed = true))
  await once(socket, 'connect')
  socket.write(text)
  await until(() => Promise.resolve(isWhole(got) || isClosed))
  socket.destroy()
  return got
}
