import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** What to send, to where, and for how long. */
export interface Load {
  url: string
  headers: Record<string, string>
  /** Sent in turn by every connection; each PLACEHOLDER in them is another number in every request. */
  bodies: readonly Buffer[]
  connections: number
  seconds: number
}

export interface LoadResult {
  /** From the first request to the last answer. */
  seconds: number
  /** Requests that were answered with a 202: all that were sent. */
  acknowledged: number
  p50Ms: number
  p99Ms: number
}

/** What the generator's process answers a load with. */
export interface LoadReply {
  result?: LoadResult
  failure?: string
}

/** Stands in a body for twelve hexadecimal digits that no other request has. */
export const PLACEHOLDER = '#'.repeat(12)

const HEAD_END = Buffer.from('\r\n\r\n')

/**
 * Sends requests over kept-alive connections, each waiting for its answer before it sends the next. Every request that was
 * sent is waited for, so that what was acknowledged is exactly what was taken.
 *
 * Why by hand: generator and server share the machine, and a client that builds each request and parses each answer whole
 * takes a good part of it (measured: 36 to 42 µs of CPU a request with autocannon, 20 with this).
 *
 * @throws Error when anything but a 202 is answered: a figure with failures in it means nothing
 */
export async function sendLoad({ url, headers, bodies, connections, seconds }: Load): Promise<LoadResult> {
  const target = new URL(url)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const requests = bodies.map((body) => {
    const head = `POST ${target.pathname} HTTP/1.1\r\nhost: ${target.host}\r\n${lines.join('')}content-length: ${body.length}\r\n\r\n`
    return Buffer.concat([Buffer.from(head), body])
  })
  const sockets = await Promise.all(
    Array.from({ length: connections }, () => open(Number(target.port), target.hostname)),
  )
  const startedAt = performance.now()
  const until = startedAt + seconds * 1_000
  const numbers = countUp()
  const latencies = (
    await Promise.all(sockets.map((socket, n) => sendInTurn(socket, requests, n, until, numbers)))
  ).flat()
  const endedAt = performance.now()
  for (const socket of sockets) socket.destroy()
  latencies.sort((a, b) => a - b)
  const quantile = (q: number) => latencies[Math.floor(latencies.length * q)] ?? NaN
  return {
    seconds: (endedAt - startedAt) / 1_000,
    acknowledged: latencies.length,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
  }
}

/** @returns how long each answer took, in milliseconds */
async function sendInTurn(
  socket: Socket,
  requests: readonly Buffer[],
  first: number,
  until: number,
  nextNumber: () => string,
): Promise<number[]> {
  const latencies: number[] = []
  // Of its own: a buffer is written to again only once its request was answered.
  const own = requests.map((bytes) => ({ bytes: Buffer.from(bytes), places: placesIn(bytes) }))
  const answers = new AnswerReader()
  let turn = first
  let sentAt = 0
  const send = () => {
    const request = own[turn++ % own.length]
    if (request === undefined) throw new Error('there is no body to send')
    for (const place of request.places) request.bytes.write(nextNumber(), place, 'latin1')
    sentAt = performance.now()
    socket.write(request.bytes)
  }
  return new Promise((resolve, reject) => {
    socket.on('data', (chunk: Buffer) => {
      const answer = answers.take(chunk)
      if (answer === undefined) return
      if (answer.status !== 202) {
        reject(new Error(`a request was answered with ${answer.status}: ${answer.text}`))
        return
      }
      const now = performance.now()
      latencies.push(now - sentAt)
      if (now < until) send()
      else resolve(latencies)
    })
    socket.on('error', reject)
    socket.on('close', () => {
      reject(new Error('the server closed a connection'))
    })
    send()
  })
}

/** Reads one answer after the other; each has a Content-Length. */
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
    const answer = { status, text: status === 202 ? '' : whole.toString() }
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

function placesIn(bytes: Buffer): number[] {
  const places: number[] = []
  for (let at = bytes.indexOf(PLACEHOLDER); at >= 0; at = bytes.indexOf(PLACEHOLDER, at + PLACEHOLDER.length))
    places.push(at)
  return places
}

/** Numbers as twelve hexadecimal digits, each once; they begin elsewhere in every load. */
function countUp(): () => string {
  let n = Math.floor(Math.random() * 2 ** 47)
  return () => (n++).toString(16).padStart(PLACEHOLDER.length, '0')
}
