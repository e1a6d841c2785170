import { setMaxListeners } from 'node:events'
import http from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { newApiKey } from '../../shared/domain/api-key.ts'

/** The requests that a greedy company sends all the time, over all its connections at once. */
export interface Greed {
  url: string
  key: string
  connections: number
  wants: Wants
}

/**
 * Either requests in turn, each sent directly after the last answer on its connection, or a way to occupy connections.
 */
export type Wants =
  | { kind: 'requests'; requests: readonly Wanted[] }
  | { kind: 'wrong keys'; path: string }
  | { kind: 'bodies that never end'; path: string; bytes: number }
  | { kind: 'answers nobody reads'; path: string; pipelined: number }

interface Wanted {
  method: 'GET' | 'POST' | 'PATCH'
  path: string
  body?: string
}

/** The number of answers, by status. Connections that ended without an answer are counted as `ended`. */
export type Answered = Readonly<Record<string, number>>

/** The longest wait for an answer. */
const TIMEOUT_MS = 60_000
/** The pause between the bytes of a slow body, so that the connection seems active. */
const DRIP_MS = 500
/** The pause before a closed connection is opened again. */
const AGAIN_MS = 100

/** Sends as many requests as possible until the signal, and ignores Retry-After. */
export async function beGreedy(
  { url, key, connections, wants }: Greed,
  over: AbortSignal,
): Promise<Answered> {
  setMaxListeners(0, over) // each request adds a listener
  const answered: Record<string, number> = {}
  const count = (status: string) => (answered[status] = (answered[status] ?? 0) + 1)
  const target = new URL(url)
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections })
  const isOver = () => over.aborted
  const all = Array.from({ length: connections }, async (_, nth) => {
    let turn = nth
    while (!isOver()) {
      const status = await (wants.kind === 'requests' || wants.kind === 'wrong keys'
        ? ask(target, agent, requestOf(wants, key, turn++), over)
        : hold(target, key, wants, over))
      if (!isOver()) count(status)
      if (status === 'ended') await sleep(AGAIN_MS)
    }
  })
  await Promise.all(all)
  agent.destroy()
  return answered
}

function requestOf(
  wants: Extract<Wants, { kind: 'requests' | 'wrong keys' }>,
  key: string,
  turn: number,
): Wanted & { key: string } {
  if (wants.kind === 'wrong keys') return { method: 'GET', path: wants.path, key: newApiKey('live') }
  const wanted = wants.requests[turn % wants.requests.length]
  if (wanted === undefined) throw new Error('nothing is wanted')
  return { ...wanted, key }
}

function ask(
  target: URL,
  agent: http.Agent,
  { method, path, body, key }: Wanted & { key: string },
  over: AbortSignal,
): Promise<string> {
  return new Promise((resolve) => {
    const ended = () => {
      resolve('ended')
    }
    const sent = http.request({
      host: target.hostname,
      port: target.port,
      agent,
      method,
      path,
      signal: over,
      timeout: TIMEOUT_MS,
      headers: {
        'x-api-key': key,
        ...(body !== undefined && { 'content-type': 'application/json', 'content-length': body.length }),
      },
    })
    sent.on('error', ended)
    sent.on('timeout', () => sent.destroy())
    sent.on('response', (response) => {
      response.resume()
      response.on('end', () => {
        resolve(String(response.statusCode))
      })
      response.on('error', ended)
    })
    sent.end(body)
  })
}

/**
 * Occupies a connection until the server ends it.
 * @returns the status of the answer, if there was one
 */
async function hold(
  target: URL,
  key: string,
  wants: Exclude<Wants, { kind: 'requests' | 'wrong keys' }>,
  over: AbortSignal,
): Promise<string> {
  const socket = connect({ host: target.hostname, port: Number(target.port) })
  const stop = () => socket.destroy()
  over.addEventListener('abort', stop)
  const closed = new Promise<string>((resolve) => {
    let status = 'ended'
    socket.on('error', () => undefined)
    socket.once('data', (head: Buffer) => (status = head.toString('latin1', 9, 12)))
    socket.on('end', () => socket.destroy())
    socket.on('close', () => {
      resolve(status)
    })
  })
  const line = (method: string, path: string) =>
    `${method} ${path} HTTP/1.1\r\nhost: ${target.host}\r\nx-api-key: ${key}\r\n`
  if (wants.kind === 'answers nobody reads') {
    socket.pause()
    for (let n = 0; n < wants.pipelined; n++) socket.write(`${line('GET', wants.path)}\r\n`)
  } else {
    socket.write(
      `${line('POST', wants.path)}content-type: application/json\r\ncontent-length: ${wants.bytes}\r\n\r\n`,
    )
    socket.write(Buffer.alloc(wants.bytes - Math.ceil(TIMEOUT_MS / DRIP_MS), ' '))
    drip(socket)
  }
  const status = await closed
  over.removeEventListener('abort', stop)
  return status
}

function drip(socket: Socket): void {
  const timer = setInterval(() => socket.write(' '), DRIP_MS)
  socket.on('close', () => {
    clearInterval(timer)
  })
}
