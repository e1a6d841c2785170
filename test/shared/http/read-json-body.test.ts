import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { expect } from 'chai'
import { awaitFirstSlice, awaitNextSlice } from '../../../shared/http/body-slices.ts'
import { type JsonBody, parseJson, readBytes } from '../../../shared/http/read-json-body.ts'
import { startDeadline } from '../../../shared/http/request-deadline.ts'
import { until } from '../../support/until.ts'

const BYTES_MAX = 1_000_000
const AT_ONCE = 8
const LARGE = Buffer.from(JSON.stringify({ text: 'x'.repeat(200_000) }))

describe('reading bodies of JSON that arrive together', () => {
  /** The rounds of the event loop in which the bodies were read. */
  async function roundsOf(body: object): Promise<number[]> {
    let round = 0
    let isOver = false
    const count = () => {
      round++
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    const bytes = Buffer.from(JSON.stringify(body))
    const requests = Array.from({ length: AT_ONCE }, () => requestWith(bytes))
    const rounds = await Promise.all(
      requests.map(async (request) => {
        const read = await readJson(request)
        expect(read).to.deep.equal({ rawBody: bytes, body })
        return round
      }),
    )
    isOver = true
    return rounds
  }

  it('takes a round of the event loop for each large one, in the order they came', async () => {
    const rounds = await roundsOf({ text: 'x'.repeat(200_000) })
    expect(new Set(rounds)).to.have.property('size', AT_ONCE)
    expect(rounds).to.deep.equal(rounds.toSorted((a, b) => a - b))
  })

  it('takes one for several that are not so large', async () => {
    const rounds = await roundsOf({ text: 'x'.repeat(50_000) })
    expect(new Set(rounds).size).to.be.within(2, 4)
    expect(rounds).to.deep.equal(rounds.toSorted((a, b) => a - b))
  })

  it('does not wait with small ones', async () => {
    const rounds = await roundsOf({ text: 'x' })
    expect(new Set(rounds)).to.have.property('size', 1)
  })

  it('lets what is begun go first, so that few are taken apart at a time', async () => {
    const bytes = 200_000
    let [underWay, most] = [0, 0]
    const work = async () => {
      await awaitFirstSlice(bytes, () => true)
      most = Math.max(most, ++underWay)
      await awaitNextSlice(bytes)
      await awaitNextSlice(bytes)
      underWay--
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    expect(most).to.equal(1)
  })

  it('goes on with the others when one of them is broken', async () => {
    const broken = readJson(requestWith(Buffer.from('x'.repeat(200_000))))
    const good = roundsOf({ text: 'x'.repeat(200_000) })
    expect(await broken.catch((err: unknown) => err)).to.have.property('status', 400)
    expect(await good).to.have.length(AT_ONCE)
  })
})

describe('bodies of JSON that wait for their turn', () => {
  let deadlineMs: number
  let server: Server
  let [received, parsed, cut] = [0, 0, 0]
  let letGo: () => void = () => undefined

  /** Blocks the turns of new bodies until they are released. @returns a function that releases them */
  const hold = async () => {
    const held = new AbortController()
    letGo = () => {
      held.abort()
    }
    while (!held.signal.aborted) await awaitNextSlice(LARGE.length)
  }
  /** @returns a client that has sent a body, and the status of its answer; 0 without an answer */
  const send = () => {
    const { port } = server.address() as AddressInfo
    const headers = { 'content-type': 'application/json', 'content-length': LARGE.length }
    const client = request({ port, host: '127.0.0.1', method: 'POST', headers })
    const status = new Promise<number>((resolve) => {
      client.on('response', (res) => {
        resolve(res.statusCode ?? 0)
        res.resume()
      })
      client.on('error', () => {
        resolve(0)
      })
    })
    client.end(LARGE)
    return { client, status }
  }
  const answer = async (req: IncomingMessage, res: ServerResponse) => {
    const rawBody = await readBytes(req, BYTES_MAX)
    startDeadline(req, res, deadlineMs)
    received++
    await parseJson(rawBody, req, res)
    parsed++
    res.end()
  }

  beforeEach(async () => {
    ;[received, parsed, cut] = [0, 0, 0]
    deadlineMs = 60_000
    server = createServer((req, res) => {
      req.socket.once('close', () => cut++)
      answer(req, res).catch(() => undefined)
    })
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
  })
  afterEach(async () => {
    letGo()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  it('are not worked on when their clients have gone', async () => {
    const held = hold()
    const clients = Array.from({ length: 2 * AT_ONCE }, send)
    await until(() => Promise.resolve(received === clients.length))
    const going = clients.slice(0, AT_ONCE)
    for (const { client } of going) client.destroy()
    await until(() => Promise.resolve(cut === going.length))
    letGo()
    await held
    const statuses = await Promise.all(clients.map(({ status }) => status))
    expect(statuses).to.deep.equal(clients.map((_, index) => (index < AT_ONCE ? 0 : 200)))
    expect(parsed).to.equal(clients.length - going.length)
  })

  it('are answered at their deadline, and not worked on after', async () => {
    deadlineMs = 200
    const held = hold()
    const clients = Array.from({ length: AT_ONCE }, send)
    const statuses = await Promise.all(clients.map(({ status }) => status))
    expect(statuses).to.deep.equal(clients.map(() => 503))
    letGo()
    await held
    await awaitFirstSlice(LARGE.length, () => true) // this turn comes after theirs
    expect(parsed).to.equal(0)
  })
})

/** A request with the fields of node:http that are read. */
function requestWith(body: Buffer): IncomingMessage {
  const stream = new PassThrough()
  const headers = { 'content-type': 'application/json', 'content-length': String(body.length) }
  stream.end(body)
  return Object.assign(stream, { headers, socket: { destroyed: false } }) as unknown as IncomingMessage
}

async function readJson(req: IncomingMessage): Promise<JsonBody> {
  const rawBody = await readBytes(req, BYTES_MAX)
  return { rawBody, body: await parseJson(rawBody, req, { headersSent: false } as unknown as ServerResponse) }
}
