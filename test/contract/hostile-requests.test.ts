import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { ApiClient } from '../support/api-client.ts'
import { startTallyUnderTest, type TallyUnderTest } from '../support/tally-under-test.ts'
import { makeRequestWorld, type World } from './requests.ts'

const MB = 1_024 * 1_024
const PATHS = ['/v2/events', '/v2/events/batch', '/v2/accounts']

describe('hostile requests', function () {
  this.timeout(120_000)
  let tally: TallyUnderTest
  let api: ApiClient
  let world: World

  before(async () => {
    // Why a separate Tally: the test measures its memory, and takes all of its connections.
    tally = await startTallyUnderTest()
    api = new ApiClient(tally.url, tally.key)
    world = await makeRequestWorld(api)
  })
  after(async () => {
    await tally.end()
  })

  const memoryMb = async (): Promise<number> => {
    const statuses = await Promise.all(tally.pids.map((pid) => readFile(`/proc/${pid}/status`, 'utf8')))
    return statuses.reduce((sum, status) => sum + Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1_024, 0)
  }

  /** Checks that other clients are served during an attack, and that memory does not grow. */
  const expectOthersServed = async (mbMax: number, attack: () => Promise<void>): Promise<void> => {
    const before = await memoryMb()
    let running = true
    const isRunning = () => running
    let most = before
    let slowest = 0
    const others = (async () => {
      while (isRunning()) {
        const askedAt = performance.now()
        expect((await api.get('/v2/metrics')).status).to.equal(200)
        slowest = Math.max(slowest, performance.now() - askedAt)
        most = Math.max(most, await memoryMb())
        await sleep(20)
      }
    })()
    await attack().finally(() => {
      running = false
    })
    await others
    expect(most - before, 'MB more').to.be.lessThan(mbMax)
    expect(slowest, 'ms for others').to.be.lessThan(3_000)
  }

  const head = (path: string, headers: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nx-api-key: ${tally.key}\r\ncontent-type: application/json\r\n${headers}\r\n\r\n`

  it('of a gigabyte are refused while they are still on their way', async () => {
    await expectOthersServed(150, async () => {
      for (const path of PATHS) {
        const { text, sentMb } = await pour(
          tally.portOf(path),
          head(path, 'content-length: 1073741824'),
          1_024,
        )
        expect(text).to.match(/^HTTP\/1\.1 413 .*the body is larger than \d+ bytes/s)
        expect(sentMb).to.be.lessThan(64)
      }
    })
  })

  it('that inflate a thousandfold are refused without being inflated', async () => {
    // A gzip file may have several members, one after the other. To compress a gigabyte would take seconds.
    const member = gzipSync(Buffer.alloc(64 * MB, 0x20))
    const bomb = Buffer.concat(Array<Buffer>(16).fill(member))
    await expectOthersServed(150, async () => {
      for (const path of PATHS) {
        const { status, text } = await api.post(path, undefined, {
          raw: bomb,
          headers: { 'content-encoding': 'gzip' },
        })
        expect([status, text.startsWith('the body is larger than')]).to.deep.equal([413, true])
      }
    })
  })

  it('on 500 slow connections keep nobody waiting', async () => {
    const sockets = await Promise.all(Array.from({ length: 500 }, () => open(tally.portOf('/v2/events'))))
    const halves = [
      head('/v2/events', 'content-length: 100').slice(0, 60),
      head('/v2/events', 'content-length: 100'),
    ]
    await expectOthersServed(150, async () => {
      for (const [n, socket] of sockets.entries()) socket.write(halves[n % 2] ?? '')
      for (let second = 0; second < 5; second++) {
        await sleep(1_000)
        for (const socket of sockets) if (socket.writable) socket.write('x')
      }
    })
    for (const socket of sockets) socket.destroy()
  })

  it('with JSON as deep as it goes are refused', async () => {
    for (const path of PATHS) {
      const deep = '['.repeat(1_000_000) + ']'.repeat(1_000_000)
      for (const raw of [
        deep,
        `{"properties":${deep}}`,
        `{"events":[{"properties":${deep}}]}`,
        deep.slice(1),
      ]) {
        const { status } = await api.post(path, undefined, { raw })
        expect(status).to.be.oneOf([400, 413])
      }
    }
  })

  it('with names that mean something to JavaScript mean nothing', async () => {
    const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']
    for (const name of names) {
      const refused = await api.post('/v2/accounts', undefined, { raw: `{"name":"a","${name}":{"x":1}}` })
      expect([refused.status, refused.text]).to.deep.equal([400, `${name}: is not a field of this request`])
      const event = `"account_id":"${world.account}","currency":"usd","quantity":"1"`
      const inside = await api.post<{ properties: object }>('/v2/events', undefined, {
        raw: `{${event},"properties":{"${name}":{"polluted":true}}}`,
      })
      expect(inside.status, inside.text).to.equal(202)
      expect(Object.keys(inside.body.properties)).to.deep.equal([name])
      expect((await api.get(`/v2/accounts/${name}`)).status).to.equal(400)
      expect((await api.get(`/v2/accounts?${name}=1`)).status).to.equal(400)
    }
    expect(({} as Record<string, unknown>)['polluted']).to.equal(undefined)
  })

  it('with text that no database can hold are refused by the field', async () => {
    for (const bad of ['\\u0000', 'a\\ud800b', '\\udc00']) {
      const account = await api.post('/v2/accounts', undefined, { raw: `{"name":"${bad}"}` })
      expect(account.status).to.equal(400)
      expect(account.text).to.match(/^name: holds (a NUL character|half of a surrogate pair)$/)
      const event = `"account_id":"${world.account}","currency":"usd","quantity":"1"`
      for (const raw of [
        `{${event},"properties":{"k":"${bad}"}}`,
        `{${event},"properties":{"${bad}":1}}`,
        `{${event},"occurred_at":${Math.floor(Date.now() / 1_000)},"idempotency_key":"${bad}"}`,
      ])
        expect((await api.post('/v2/events', undefined, { raw })).status, raw).to.equal(400)
    }
    expect((await api.get('/v2/accounts/external-id/%00')).status).to.equal(400)
    expect((await api.get('/v2/accounts/external-id/%ed%a0%80')).status).to.equal(400)
  })
})

const open = async (port: number): Promise<Socket> => {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined) // a reset connection is one way to refuse
  await once(socket, 'connect')
  return socket
}

/** Sends a request and then megabytes, until it is answered and closed. */
async function pour(
  port: number,
  start: string,
  megabytes: number,
): Promise<{ text: string; sentMb: number }> {
  const socket = await open(port)
  let text = ''
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.write(start)
  const block = Buffer.alloc(MB, 0x20)
  let sentMb = 0
  while (sentMb < megabytes && socket.writable) {
    if (!socket.write(block))
      await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed])
    sentMb++
  }
  socket.end()
  await closed
  return { text, sentMb }
}
