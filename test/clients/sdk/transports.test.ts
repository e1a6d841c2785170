import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { fetchTransport } from '../../../clients/sdk/src/core/fetch-transport.ts'
import {
  AbortedError,
  ConnectionError,
  NotTallyError,
  Tally,
  type TallyOptions,
  TimeoutError,
} from '../../../clients/sdk/src/node.ts'
import { failureOf } from '../../support/failure-of.ts'

const JSON_TYPE = { 'Content-Type': 'application/json' }

describe('transports of the SDK', function () {
  this.timeout(20_000)
  let server: Server
  let answer: RequestListener
  let connections: number
  let closed: number[]

  beforeEach(async () => {
    connections = 0
    closed = []
    server = createServer({ keepAliveTimeout: 60_000 }, (req, res) => {
      answer(req, res)
    })
    server.on('connection', (socket) => {
      connections++
      socket.on('close', () => closed.push(performance.now()))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  afterEach(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })

  const clientOf = (options: TallyOptions = {}) =>
    new Tally({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      apiKey: 'tally_test_secret',
      maxRetries: 0,
      ...options,
    })

  for (const [name, transport] of [
    ['node:http', undefined],
    ['fetch', fetchTransport()],
  ] as const)
    describe(name, () => {
      const client = (options: TallyOptions = {}) => clientOf({ transport, ...options })

      it('sends bodies and gets answers whole', async () => {
        let received = ''
        answer = (req, res) => {
          req.setEncoding('utf8')
          req.on('data', (text: string) => (received += text))
          req.on('end', () => {
            expect(req.headers).to.include({
              'content-type': 'application/json',
              'x-api-key': 'tally_test_secret',
            })
            res.writeHead(200, JSON_TYPE)
            res.write('{"id": "ac')
            setTimeout(() => res.end('count_ü"}'), 20)
          })
        }
        const made = await client().accounts.create({ name: 'Ünïcode 日本' })
        expect(made.id).to.equal('account_ü')
        expect(JSON.parse(received)).to.deep.equal({ name: 'Ünïcode 日本' })
      })

      it('has one deadline for the headers and the body', async () => {
        answer = (_, res) => {
          res.writeHead(200, JSON_TYPE)
          const timer = setInterval(() => res.write(' '), 20)
          res.on('close', () => {
            clearInterval(timer)
          })
        }
        const startedAt = performance.now()
        const err = await failureOf(client({ timeoutMs: 200 }).accounts.get('account_1'))
        expect(TimeoutError.is(err)).to.equal(true)
        expect(performance.now() - startedAt).to.be.within(150, 5_000)
        while (closed.length === 0) await sleep(5)
      })

      it('ends a request that is aborted, and leaves no listener', async () => {
        const controller = new AbortController()
        let listeners = 0
        const { signal } = controller
        const add = signal.addEventListener.bind(signal)
        const remove = signal.removeEventListener.bind(signal)
        signal.addEventListener = (...args: Parameters<typeof add>) => {
          listeners++
          add(...args)
        }
        signal.removeEventListener = (...args: Parameters<typeof remove>) => {
          listeners--
          remove(...args)
        }
        answer = (_, res) => res.writeHead(200, JSON_TYPE).end('{}')
        for (let n = 0; n < 5; n++) await client().accounts.get('account_1', { signal })
        expect(listeners).to.equal(0)
        answer = () => {
          controller.abort()
        }
        expect(AbortedError.is(await failureOf(client().accounts.get('account_1', { signal })))).to.equal(
          true,
        )
        while (closed.length === 0) await sleep(5)
      })

      it('loses no answer in silence when its connection is cut', async () => {
        answer = (_, res) => {
          res.writeHead(200, { ...JSON_TYPE, 'Content-Length': '100' })
          res.write('{"id": ')
          setTimeout(() => res.destroy(), 20)
        }
        expect(ConnectionError.is(await failureOf(client().accounts.get('account_1')))).to.equal(true)
      })

      it('follows no redirect with the key', async () => {
        let asked = 0
        answer = (_, res) => {
          asked++
          res.writeHead(307, { Location: '/v2/elsewhere' }).end()
        }
        expect(NotTallyError.is(await failureOf(client().accounts.create({ name: 'a' })))).to.equal(true)
        expect(asked).to.equal(1)
      })
    })

  it('keeps free connections for four seconds, opens at most maxSockets, and waits longer for an answer', async () => {
    answer = ({ url }, res) => {
      const ms = url === '/v2/metrics/slow' ? 5_000 : 20
      setTimeout(() => res.writeHead(200, JSON_TYPE).end('{"id": "account_1"}'), ms)
    }
    const slow = clientOf().metrics.get('slow')
    const tally = clientOf({ maxSockets: 2 })
    await Promise.all(Array.from({ length: 6 }, () => tally.accounts.get('account_1')))
    await tally.accounts.get('account_1')
    expect(connections).to.equal(3)
    const startedAt = performance.now()
    while (closed.length < 2) await sleep(10)
    for (const at of closed) expect(at - startedAt).to.be.within(3_000, 9_000)
    expect((await slow).id).to.equal('account_1')
  })

  it('closes its connections when the client is closed', async () => {
    answer = (_, res) => res.writeHead(200, JSON_TYPE).end('{"id": "account_1"}')
    const tally = clientOf()
    await tally.accounts.get('account_1')
    const startedAt = performance.now()
    tally.close()
    while (closed.length < 1) await sleep(5)
    expect(performance.now() - startedAt).to.be.below(2_500)
  })

  it('waits between attempts, and ends such a wait when the caller aborts', async () => {
    let asked = 0
    answer = (_, res) => res.writeHead(++asked === 1 ? 503 : 200, JSON_TYPE).end('{"id": "account_1"}')
    const startedAt = performance.now()
    await clientOf({ maxRetries: 1 }).accounts.get('account_1')
    expect(performance.now() - startedAt).to.be.above(240)
    answer = (_, res) => res.writeHead(503, { 'Retry-After': '30' }).end('try again')
    const controller = new AbortController()
    setTimeout(() => {
      controller.abort()
    }, 50)
    const options = { signal: controller.signal, maxRetries: 1 }
    expect(AbortedError.is(await failureOf(clientOf().accounts.get('account_1', options)))).to.equal(true)
  })
})
