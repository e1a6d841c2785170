import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { RequestListener, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { type Caller, digestOfApiKey, newApiKey } from '../../../shared/domain/api-key.ts'
import { admit } from '../../../shared/http/admit.ts'
import { cachedFindCaller } from '../../../shared/http/authentication.ts'
import { awaitAnswer, awaitFirstSlice, awaitRequest } from '../../../shared/http/body-slices.ts'
import { bytesInFlight } from '../../../shared/http/bytes-in-flight.ts'
import { collectBytes } from '../../../shared/http/collect-bytes.ts'
import { type HttpServer, listen } from '../../../shared/http/http-server.ts'
import { lookUpCallers } from '../../../shared/http/open-access.ts'
import { operationsApp } from '../../../shared/http/operations-app.ts'
import { startDeadline } from '../../../shared/http/request-deadline.ts'
import type { TestWorlds } from '../../../shared/postgres/test-worlds.ts'
import { openRateLimits } from '../../../shared/rate-limit/rate-limits.ts'
import { countingPool, QueryCounts } from '../../support/count-queries.ts'
import { failureOf } from '../../support/failure-of.ts'
import { testLog } from '../../support/log.ts'
import { createDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

const MIB = 1_024 * 1_024
const OPERATIONS = [
  { operationId: 'x', path: '/v2/x/{id}' },
  { operationId: 'all', path: '/v2/x/all' },
  { operationId: 'more', path: '/v2/x/{id}/more' },
].map((operation) => ({
  ...operation,
  method: 'get' as const,
  permissions: ['read:all' as const],
  accountIn: undefined,
  status: 200,
}))
/** The largest number of open requests of a company; see countUnderWay. */
const UNDER_WAY_MAX = 1_000

describe('who is let in', function () {
  this.timeout(30_000)
  const servers: HttpServer[] = []
  const sockets: Socket[] = []
  const companies = { a: newApiKey('live'), b: newApiKey('live') }

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
    for (const server of servers.splice(0)) await server.close()
  })

  /** A server in front of an app, for two companies. */
  async function serve(app: RequestListener, lookUpMs = 0): Promise<HttpServer> {
    const callers = new Map(
      Object.entries(companies).map(([id, key]) => [digestOfApiKey(key).toString('hex'), callerOf(id)]),
    )
    const admitted = admit(app, OPERATIONS, {
      findCaller: (digest) => {
        const caller = callers.get(digest.toString('hex'))
        return lookUpMs === 0 ? caller : sleep(lookUpMs).then(() => caller)
      },
      limits: openRateLimits({
        eventsPerS: 1e6,
        requestsPerS: 1e6,
        accountRequestsPerS: 1e6,
        wrongKeysPerMin: 1e6,
        trustedProxies: [],
      }),
      log: testLog,
      requests: () => () => undefined,
    })
    return listenTo(admitted)
  }

  async function listenTo(app: RequestListener): Promise<HttpServer> {
    const server = await listen(app, {
      name: 'the test',
      host: '127.0.0.1',
      port: 0,
      portSetting: 'none',
      closeTimeoutMs: 100,
      connectionsMax: 10_000,
    })
    servers.push(server)
    return server
  }

  /** Sends a request over a separate connection. The answer stays unread until the test reads it. */
  async function ask(server: HttpServer, key: string, path = '/v2/x/1'): Promise<Socket> {
    const socket = connect(server.port, '127.0.0.1')
    sockets.push(socket)
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    socket.write(`GET ${path} HTTP/1.1\r\nhost: tally\r\nx-api-key: ${key}\r\n\r\n`)
    return socket
  }
  const statusOf = async (socket: Socket): Promise<number> => {
    const [head] = (await once(socket, 'data')) as [Buffer]
    return Number(head.toString('latin1', 9, 12))
  }

  it('has a bounded number of requests under way: one more is told to come again', async () => {
    const waiting: (() => void)[] = []
    const server = await serve((_req, res) => waiting.push(() => res.end('fine')))
    for (let n = 0; n < UNDER_WAY_MAX; n++) await ask(server, companies.a)
    await until(() => Promise.resolve(waiting.length === UNDER_WAY_MAX))
    const refused = await ask(server, companies.a)
    const [answer] = (await once(refused, 'data')) as [Buffer]
    const text = answer.toString()
    expect(text).to.match(/^HTTP\/1\.1 429 [^]*ratelimit-policy: "requests-at-once";q=1000\r\n/i)
    expect(text).to.match(/retry-after: 1\r\n[^]*rate limit exceeded$/i)
    const other = await ask(server, companies.b)
    await until(() => Promise.resolve(waiting.length === UNDER_WAY_MAX + 1))
    for (const end of waiting.splice(0)) end()
    expect(await statusOf(other)).to.equal(200)
    const again = await ask(server, companies.a)
    await until(() => Promise.resolve(waiting.length === 1))
    waiting[0]?.()
    expect(await statusOf(again)).to.equal(200)
  })

  it('is not counted when it has gone before it was known who it is', async () => {
    const server = await serve((_req, res) => res.end('fine'), 300)
    for (let round = 0; round < 12; round++) {
      const some = await Promise.all(Array.from({ length: 100 }, () => ask(server, companies.a)))
      await sleep(50)
      for (const socket of some) socket.destroy()
    }
    await sleep(400)
    expect(await statusOf(await ask(server, companies.a))).to.equal(200)
  })

  it('is known by every path that leads to an operation', async () => {
    const server = await serve((_req, res) => res.end('fine'))
    for (const path of ['/v2/x/1', '/v2/x/all', '/v2/x/all/more', '/v2/x/1/more'])
      expect(await statusOf(await ask(server, 'wrong', path)), path).to.equal(401)
    expect(await statusOf(await ask(server, 'wrong', '/v2/x/1/less'))).to.equal(200)
  })

  it('begins a few reads that go through much, more of those that share batches', async () => {
    const atOnce = { listEvents: 0, listBalances: 0 }
    const held: (() => void)[] = []
    const hold = (read: keyof typeof atOnce) => (_req: unknown, res: ServerResponse) =>
      new Promise<void>((resolve) => {
        atOnce[read]++
        held.push(() => {
          atOnce[read]--
          res.end('fine')
          resolve()
        })
      })
    const keys = Object.values(companies)
    const app = operationsApp(
      {
        listEvents: { handle: hold('listEvents'), isLong: 'alone' },
        listBalances: { handle: hold('listBalances'), isLong: 'batched' },
      },
      {
        findCaller: (digest) =>
          callerOf(keys.findIndex((key) => digestOfApiKey(key).equals(digest)) === 0 ? 'a' : 'b'),
        worlds: noWorlds,
        log: testLog,
        bodyBytesMax: MIB,
        limits: openRateLimits({
          eventsPerS: 1e6,
          requestsPerS: 1e6,
          accountRequestsPerS: 1e6,
          wrongKeysPerMin: 1e6,
          trustedProxies: [],
        }),
        requestTimeoutMs: 20_000,
      },
    )
    const server = await listenTo(app)
    const paths = ['/v2/events', `/v2/accounts/balances?account_ids=account_${'0'.repeat(32)}`]
    const answers: Promise<number>[] = []
    const askAll = async (key: string) => {
      for (const path of paths)
        for (let n = 0; n < 6; n++) answers.push(statusOf(await ask(server, key, path)))
    }
    await askAll(companies.a)
    await until(() => Promise.resolve(held.length === 6))
    await sleep(200)
    expect(atOnce).to.deep.equal({ listEvents: 2, listBalances: 4 })
    await askAll(companies.b)
    await until(() => Promise.resolve(held.length === 12))
    await sleep(200)
    expect(atOnce).to.deep.equal({ listEvents: 4, listBalances: 8 })
    const isDone = Promise.all(answers)
    const ending = setInterval(() => held.shift()?.(), 5)
    expect(new Set(await isDone)).to.deep.equal(new Set([200]))
    clearInterval(ending)
  })

  it('reads its answers: who leaves too many unread gets no more of them, and others do', async () => {
    const large = Buffer.alloc(48 * MIB)
    const server = await serve((_req, res) => res.end(large))
    for (let n = 0; n < 3; n++) await ask(server, companies.a)
    await until(() => Promise.resolve(bytesInFlight.of('a') > 128 * MIB))
    expect(await statusOf(await ask(server, companies.a))).to.equal(503)
    expect(await statusOf(await ask(server, companies.b))).to.equal(200)
    for (const socket of sockets) socket.destroy()
    await until(() => Promise.resolve(bytesInFlight.of('a') + bytesInFlight.of('b') === 0))
  })

  it('reads its answers: of those that were let in together, no more are kept than is its part', async () => {
    const large = Buffer.alloc(8 * MIB)
    const held: ServerResponse[] = []
    const server = await serve((_req, res) => held.push(res))
    for (let n = 0; n < 40; n++) await ask(server, companies.a)
    await until(() => Promise.resolve(held.length === 40))
    for (const res of held) res.end(large)
    expect(bytesInFlight.of('a')).to.be.within(128 * MIB, 128 * MIB + large.length)
    for (const socket of sockets) socket.destroy()
    await until(() => Promise.resolve(bytesInFlight.of('a') === 0))
  })

  it('reads its answer in time, or loses its connection', async () => {
    const large = Buffer.alloc(64 * MIB)
    const server = await serve((req, res) => {
      startDeadline(req, res, 50, 100)
      res.end(large)
    })
    const socket = await ask(server, companies.a)
    await until(() => Promise.resolve(bytesInFlight.of('a') > 0))
    await until(() => Promise.resolve(bytesInFlight.of('a') === 0))
    socket.resume()
    await once(socket, 'close')
    expect(socket.bytesRead).to.be.below(large.length)
  })

  it('takes turns where requests begin, a few in each round of the event loop', async () => {
    const order: string[] = []
    const begin = async (tenant: string) => {
      await awaitRequest(() => true, tenant)
      order.push(tenant)
    }
    const greedy = Array.from({ length: 1_000 }, () => begin('a'))
    await begin('b')
    expect(order.filter((tenant) => tenant === 'a')).to.have.length.below(100)
    await Promise.all(greedy)
  })

  it('takes turns where bodies are taken apart', async () => {
    const order: string[] = []
    const work = async (tenant: string) => {
      await awaitFirstSlice(200_000, () => true, tenant)
      order.push(tenant)
    }
    await Promise.all([...Array.from({ length: 10 }, () => work('a')), work('b')])
    expect(order.indexOf('b')).to.be.below(3)
  })

  it('takes turns where answers are put together, one or two in each round', async () => {
    const order: string[] = []
    let rounds = 0
    const answer = async (tenant: string) => {
      await awaitAnswer(130_000, () => true, tenant)
      order.push(`${tenant} ${rounds}`)
    }
    const nextRound = () => {
      rounds++
      counting = setImmediate(nextRound)
    }
    let counting = setImmediate(nextRound)
    try {
      await Promise.all([...Array.from({ length: 10 }, () => answer('a')), answer('b')])
    } finally {
      clearImmediate(counting)
    }
    expect(order.findIndex((one) => one.startsWith('b'))).to.be.below(3)
    expect(new Set(order.map((one) => one.split(' ')[1])))
      .to.have.property('size')
      .that.is.at.least(5)
  })

  it('has a part of the memory for bodies, not all of it', async () => {
    const chunk = Buffer.alloc(4 * MIB)
    const bodies: PassThrough[] = []
    const read = (tenant: string) => {
      const body = new PassThrough({ highWaterMark: chunk.length })
      bodies.push(body)
      const read = collectBytes(body, 8 * MIB, () => new Error('too large'), tenant)
      body.write(chunk)
      return read
    }
    const reading = Array.from({ length: 32 }, () => failureOf(read('a')))
    await until(() => Promise.resolve(bytesInFlight.of('a') === 128 * MIB))
    expect(await failureOf(read('a'))).to.include({ status: 503 })
    const other = read('b')
    bodies.at(-1)?.end()
    expect(await other).to.have.length(chunk.length)
    for (const body of bodies) body.end()
    expect(await Promise.all(reading)).to.deep.equal(reading.map(() => undefined))
    expect(bytesInFlight.of('a')).to.equal(0)
  })
})

describe('keys that nobody knows', function () {
  this.timeout(30_000)

  it('are looked up together, however many are tried', async () => {
    const database = await createDatabase('unknown_keys')
    const counts = new QueryCounts()
    const find = cachedFindCaller(lookUpCallers(countingPool(database.pool, counts)))
    const tries = Array.from({ length: 5_000 }, () => randomBytes(32))
    expect(new Set(await Promise.all(tries.map(async (digest) => find(digest))))).to.deep.equal(
      new Set([undefined]),
    )
    expect(counts.postgres).to.have.length.below(50)
    await database.close()
  })

  it('take no place of a right one in what is cached', async () => {
    const [right, caller] = [randomBytes(32), callerOf('a')]
    let asked = 0
    const find = cachedFindCaller((digest) => {
      if (digest === right) asked++
      return Promise.resolve(digest === right ? caller : undefined)
    })
    expect(await find(right)).to.deep.equal(caller)
    for (let n = 0; n < 20_000; n++) await find(randomBytes(32))
    expect(await find(right)).to.deep.equal(caller)
    expect(asked).to.equal(1)
  })
})

/** No caller in this test has a test key. */
const noWorlds: TestWorlds = {
  look: () => Promise.reject(new Error('nobody looks')),
  enter: () => Promise.reject(new Error('nobody enters')),
  move: () => Promise.reject(new Error('nobody moves')),
}

const callerOf = (companyId: string): Caller => ({
  keyId: companyId,
  companyId,
  namespaceId: companyId,
  mode: 'live',
  permissions: ['read:all'],
})
