import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { Shares } from '../batching/shares.ts'

/** More connections than the server may have are accepted for a moment, and learn why they are closed. */
const REFUSED_AT_ONCE = 64

/**
 * Accepts a bounded number of connections, and at most half of them from one address.
 *
 * @param idleGiveWay whether a new connection takes the place of one that has no request under way, so that connections
 *   that are only held keep nobody out. It is the one that has been idle for the longest time: of the same address when
 *   that has its half, or else of the address that has most of the idle ones
 */
export function shareConnections(server: Server, max: number, idleGiveWay: boolean): void {
  server.maxConnections = idleGiveWay ? max + REFUSED_AT_ONCE : max
  const connections = new Shares({ max, maxOfOne: Math.ceil(max / 2) })
  const idle = idleGiveWay ? watchIdle(server) : undefined
  const given = new WeakSet<Socket>()
  server.on('connection', (socket: Socket) => {
    const { remoteAddress: address = '' } = socket
    const take = () => connections.take(address, 1)
    const evict = () => idle?.closeOne(connections.isFull(address) ? address : undefined) === true
    if (!take() && !(evict() && take())) {
      socket.on('error', () => undefined)
      socket.end(plainAnswer(503, 'too many connections from this address, try again', ['Retry-After: 1']))
      socket.destroySoon()
      return
    }
    const giveBack = () => {
      if (given.has(socket)) return
      given.add(socket)
      connections.give(address, 1)
    }
    socket.once('close', giveBack)
    idle?.add(socket, address, giveBack)
  })
}

interface IdleConnection {
  socket: Socket
  address: string
  giveBack: () => void
}

/** Knows which connections have no request under way. */
function watchIdle(server: Server) {
  /** In the order in which they became idle. */
  const idle = new Map<Socket, IdleConnection>()
  const all = new WeakMap<Socket, IdleConnection>()
  const underWay = new WeakMap<Socket, number>()
  server.prependListener('request', ({ socket }: IncomingMessage, res: ServerResponse) => {
    underWay.set(socket, (underWay.get(socket) ?? 0) + 1)
    idle.delete(socket)
    res.once('close', () => {
      const left = (underWay.get(socket) ?? 1) - 1
      underWay.set(socket, left)
      const connection = all.get(socket)
      if (left === 0 && connection !== undefined && !socket.destroyed) idle.set(socket, connection)
    })
  })
  return {
    add(socket: Socket, address: string, giveBack: () => void): void {
      const connection = { socket, address, giveBack }
      all.set(socket, connection)
      idle.set(socket, connection)
      socket.once('close', () => idle.delete(socket))
    },
    /** Closes the connection that has been idle for the longest time. @returns whether there was one */
    closeOne(address = addressOfMost(idle.values())): boolean {
      for (const connection of idle.values()) {
        if (connection.address !== address) continue
        idle.delete(connection.socket)
        connection.giveBack() // `close` comes too late for the connection that takes the place
        connection.socket.destroy()
        return true
      }
      return false
    },
  }
}

function addressOfMost(connections: Iterable<IdleConnection>): string | undefined {
  const counts = new Map<string, number>()
  for (const { address } of connections) counts.set(address, (counts.get(address) ?? 0) + 1)
  const [most] = [...counts].sort(([, a], [, b]) => b - a)
  return most?.[0]
}

/** The text of an HTTP answer, for bytes that never became a request. */
export const plainAnswer = (status: number, text: string, headers: readonly string[] = []): string =>
  [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Connection: close',
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    ...headers,
    '',
    text,
  ].join('\r\n')
