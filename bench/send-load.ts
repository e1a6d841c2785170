import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { summarise } from './latencies.ts'

/** The requests, their target, and the duration. */
export interface Load {
  url: string
  headers: Record<string, string>
  /** Paths and queries to GET instead of sending bodies. Each connection takes them in turn, and expects a 200. */
  paths?: readonly string[]
  /**
   * The bodies that each connection sends in turn. In every request, another number replaces each PLACEHOLDER, and a
   * time replaces each TIME_PLACEHOLDER.
   */
  bodies: readonly Buffer[]
  connections: number
  seconds: number
  /** The load ends early after this many requests. */
  requestsMax?: number
  /** Requests a second over all connections; default: as many as are answered. */
  rate?: number
  /** The times that replace TIME_PLACEHOLDER. Default: now. */
  times?: EventTimes
  /** The percentage of requests that are sent again with the same bytes, RESENT_AFTER requests later. */
  resentPercent?: number
}

/**
 * Either the present time, with a percentage of events that are minutes to hours late, or times of a range, in order or
 * in random order.
 */
type EventTimes =
  | { kind: 'now'; latePercent: number }
  | { kind: 'past'; startAt: number; endAt: number; events: number; shuffled: boolean }

export interface LoadResult {
  /** From the first request to the last answer. */
  seconds: number
  /** Requests that were answered with a 202 or a 200, which all must be. A repeated request counts once. */
  acknowledged: number
  /** The acknowledged requests by body. */
  ofBody: number[]
  resent: number
  p50Ms: number
  p99Ms: number
}

/** The reply of the generator's process to a load. */
export interface LoadReply {
  result?: LoadResult
  failure?: string
}

/** A placeholder in a body for twelve hexadecimal digits, which are different in every request. */
export const PLACEHOLDER = '#'.repeat(12)
/** A placeholder in a body for the ten digits of a time in Unix seconds. */
export const TIME_PLACEHOLDER = '~'.repeat(10)

/** The age of late events in seconds. */
const LATE_S = { min: 300, max: 6 * 3_600 }
const RESENT_AFTER = 10

const HEAD_END = Buffer.from('\r\n\r\n')

/**
 * Sends requests over kept-alive connections; each waits for its answer before it sends the next. Every request gets
 * its answer before the load ends, so the acknowledged events are exactly the accepted ones.
 *
 * Why not an HTTP client: generator and server share the machine. A client that builds each request and parses each
 * answer in full would use a large share of the processor time.
 *
 * @throws Error when an answer is not a 202, or a 200 to a GET: a figure that includes failures means nothing
 */
export async function sendLoad(load: Load): Promise<LoadResult> {
  const { url, headers, paths, bodies, connections, rate, requestsMax = Infinity } = load
  const target = new URL(url)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const headOf = (method: string, path: string) =>
    `${method} ${path} HTTP/1.1\r\nhost: ${target.host}\r\n${lines.join('')}`
  const gets = paths?.map((path) => Buffer.from(`${headOf('GET', path)}\r\n`))
  const requests =
    gets ??
    bodies.map((body) => {
      const head = `${headOf('POST', target.pathname)}content-length: ${body.length}\r\n\r\n`
      return Buffer.concat([Buffer.from(head), body])
    })
  // The templates are made before the measurement begins, because this takes long with many connections.
  const templates = requests.map(templateOf)
  const own = Array.from({ length: connections }, () => templates.map(ownCopyOf))
  const sockets = await Promise.all(
    Array.from({ length: connections }, () => open(Number(target.port), target.hostname)),
  )
  const startedAt = performance.now()
  const until = startedAt + load.seconds * 1_000
  let begun = 0
  const ofBody = requests.map(() => 0)
  const sending: Sending = {
    connections,
    ofBody,
    status: paths === undefined ? 202 : 200,
    resentPercent: load.resentPercent ?? 0,
    nextNumber: countUp(),
    nextTime: timesOf(load.times ?? { kind: 'now', latePercent: 0 }),
    begin(sent, connection) {
      const dueAt = rate === undefined ? 0 : startedAt + ((sent * connections + connection) / rate) * 1_000
      if (Math.max(performance.now(), dueAt) >= until || begun >= requestsMax) return undefined
      begun++
      return dueAt
    },
  }
  const sent = await Promise.all(
    sockets.map((socket, nth) => sendInTurn(socket, nth, own[nth] ?? [], sending)),
  )
  const endedAt = performance.now()
  for (const socket of sockets) socket.destroy()
  const { p50Ms, p99Ms } = summarise(sent.flatMap(({ latencies }) => latencies))
  return {
    seconds: (endedAt - startedAt) / 1_000,
    acknowledged: ofBody.reduce((sum, count) => sum + count, 0),
    ofBody,
    resent: sent.reduce((sum, one) => sum + one.resent, 0),
    p50Ms,
    p99Ms,
  }
}

/** The state that all connections share. */
interface Sending {
  connections: number
  /** Requests that were answered, by body. */
  ofBody: number[]
  /** The expected status of each answer. */
  status: number
  resentPercent: number
  nextNumber: () => string
  nextTime: () => string
  /** @returns when a connection's next request is due; undefined when it has sent its last */
  begin: (sent: number, connection: number) => number | undefined
}

interface Sent {
  /** How long each answer took, in milliseconds. */
  latencies: number[]
  resent: number
}

/** The bytes of a request, and the positions of its placeholders. */
interface Template {
  bytes: Buffer
  places: readonly number[]
  times: readonly number[]
}

const templateOf = (bytes: Buffer): Template => ({
  bytes,
  places: placesIn(bytes, PLACEHOLDER),
  times: placesIn(bytes, TIME_PLACEHOLDER),
})

/**
 * Each connection has its own copy, and changes the buffer only when the last request was answered. Connections share
 * templates without placeholders, because these never change.
 */
const ownCopyOf = (template: Template): Template =>
  template.places.length + template.times.length === 0
    ? template
    : { ...template, bytes: Buffer.from(template.bytes) }

async function sendInTurn(
  socket: Socket,
  connection: number,
  own: readonly Template[],
  { connections, ofBody, status, resentPercent, nextNumber, nextTime, begin }: Sending,
): Promise<Sent> {
  const sent: Sent = { latencies: [], resent: 0 }
  // The connections begin at different requests, so that they do not send the same request at the same time.
  const first = Math.floor((connection / connections) * own.length)
  const answers = new AnswerReader()
  const again: { bytes: Buffer; atTurn: number }[] = []
  let turn = 0
  let sentAt = 0
  /** The body of the request that is not answered yet; undefined when that request is a repetition. */
  let body: number | undefined
  const write = (bytes: Buffer) => {
    sentAt = performance.now()
    socket.write(bytes)
  }
  const sendAgain = (): boolean => {
    const due = again.shift()
    if (due === undefined) return false
    body = undefined
    write(due.bytes)
    return true
  }
  const send = () => {
    if ((again[0]?.atTurn ?? Infinity) <= turn && sendAgain()) return
    body = (first + turn++) % own.length
    const request = own[body]
    if (request === undefined) throw new Error('there is no body to send')
    for (const place of request.places) request.bytes.write(nextNumber(), place, 'latin1')
    for (const place of request.times) request.bytes.write(nextTime(), place, 'latin1')
    if (Math.random() * 100 < resentPercent)
      again.push({ bytes: Buffer.from(request.bytes), atTurn: turn + RESENT_AFTER })
    write(request.bytes)
  }
  return new Promise((resolve, reject) => {
    const next = () => {
      const dueAt = begin(sent.latencies.length, connection)
      const waitMs = (dueAt ?? 0) - performance.now()
      if (dueAt === undefined) {
        if (!sendAgain()) resolve(sent)
      } else if (waitMs > 1) setTimeout(send, waitMs)
      else send()
    }
    socket.on('data', (chunk: Buffer) => {
      const answer = answers.take(chunk)
      if (answer === undefined) return
      if (answer.status !== status) {
        reject(new Error(`a request was answered with ${answer.status}: ${answer.text}`))
        return
      }
      sent.latencies.push(performance.now() - sentAt)
      if (body === undefined) sent.resent++
      else ofBody[body] = (ofBody[body] ?? 0) + 1
      next()
    })
    socket.on('error', reject)
    socket.on('close', () => {
      reject(new Error('the server closed a connection'))
    })
    next()
  })
}

/** Parses one answer after the other; each must have a Content-Length. */
class AnswerReader {
  private chunks: Buffer[] = []
  private bytes = 0
  private wanted = Infinity

  /** @returns the answer that this chunk completes */
  take(chunk: Buffer): { status: number; text: string } | undefined {
    this.chunks.push(chunk)
    this.bytes += chunk.length
    if (this.wanted === Infinity) this.wanted = this.lengthOf(this.joined())
    if (this.bytes < this.wanted) return undefined
    const whole = this.joined()
    if (this.bytes > this.wanted) throw new Error(`more was answered than was asked: ${whole.toString()}`)
    const status = Number(whole.toString('latin1', 9, 12))
    const answer = { status, text: status < 300 ? '' : whole.toString() }
    this.chunks = []
    this.bytes = 0
    this.wanted = Infinity
    return answer
  }

  private joined(): Buffer {
    const [only = Buffer.alloc(0)] = this.chunks
    if (this.chunks.length <= 1) return only
    const whole = Buffer.concat(this.chunks, this.bytes)
    this.chunks = [whole]
    return whole
  }

  private lengthOf(start: Buffer): number {
    const headEnd = start.indexOf(HEAD_END)
    if (headEnd < 0) return Infinity
    const [, length] = /\r\ncontent-length: (\d+)/i.exec(start.toString('latin1', 0, headEnd)) ?? []
    if (length === undefined) throw new Error(`an answer has no length: ${start.toString()}`)
    return headEnd + HEAD_END.length + Number(length)
  }
}

async function open(port: number, host: string): Promise<Socket> {
  const socket = connect({ port, host, noDelay: true })
  await once(socket, 'connect')
  return socket
}

function placesIn(bytes: Buffer, placeholder: string): number[] {
  const places: number[] = []
  for (let at = bytes.indexOf(placeholder); at >= 0; at = bytes.indexOf(placeholder, at + placeholder.length))
    places.push(at)
  return places
}

/** Makes unique numbers of twelve hexadecimal digits. Every load begins at another number. */
function countUp(): () => string {
  let n = Math.floor(Math.random() * 2 ** 47)
  return () => (n++).toString(16).padStart(PLACEHOLDER.length, '0')
}

/** Makes times of ten digits. */
function timesOf(times: EventTimes): () => string {
  if (times.kind === 'now')
    return () => {
      const now = Math.floor(Date.now() / 1_000)
      const isLate = Math.random() * 100 < times.latePercent
      return String(isLate ? now - between(LATE_S.min, LATE_S.max) : now)
    }
  const { startAt, endAt, events, shuffled } = times
  let n = 0
  return () => {
    const inOrder = startAt + Math.floor(((endAt - startAt) * Math.min(n++, events)) / events)
    return String(shuffled ? between(startAt, endAt) : inOrder)
  }
}

const between = (low: number, high: number): number => low + Math.floor(Math.random() * (high - low))
