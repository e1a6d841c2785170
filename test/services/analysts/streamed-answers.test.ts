import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { ClickHouseLogLevel, createClient } from '@clickhouse/client'
import { expect } from 'chai'
import { FORMATS_OF_ANALYSTS } from '../../../services/analysts/output-format.ts'
import { askAt, AUTHORIZATION } from '../../support/analysts.ts'
import { failureOf } from '../../support/failure-of.ts'
import { type AnalystHost, startAnalystHost, TRIAL } from '../../support/start-analyst-host.ts'
import { until } from '../../support/until.ts'
import { unpackBlocks } from './unpack-blocks.ts'

const MB = 1_024 * 1_024
const ROWS = 1_000_000
const FIRST = 1_767_225_600
/** Too large for a first attempt, so that the answer goes through a file. */
const LARGE = 'SELECT event_id, account_id, quantity, occurred_at FROM events ORDER BY occurred_at LIMIT 8000'
/** Fails at the row 500,000, long after the first rows were sent. */
const FAILING = `SELECT event_id, intDiv(1, toUnixTimestamp(occurred_at) - ${FIRST + 500_000}) FROM events ORDER BY occurred_at`
/** Too large for what the system keeps of an answer that nobody reads. */
const LARGER = LARGE.replace('8000', '300000')
/** How long a client may take nothing while others wait. */
const STALLED_MS = 3_000
const ILLEGAL_DIVISION = 153

/** What the services' queries do otherwise. */
const WRITTEN_ALIKE = {
  max_threads: '1',
  output_format_write_statistics: '0',
  output_format_json_quote_decimals: '1',
  output_format_json_validate_utf8: '1',
}

interface Received {
  response: IncomingMessage
  bytes: Buffer
  firstMs: number
  /** Whether the answer ended as HTTP wants it. */
  isComplete: boolean
}

describe('answers of the ClickHouse endpoint that are sent while they are made', function () {
  this.timeout(120_000)
  let host: AnalystHost
  const ask = (query: string, url: Record<string, string> = {}) =>
    askAt(host.url, query, url, { authorization: AUTHORIZATION })
  const service = (query: string, url: Record<string, string> = {}) => askAt(host.url, query, url, TRIAL)

  const receive = async (
    query: string,
    url: Record<string, string> = {},
    headers: Record<string, string> = {},
    slowly = false,
  ): Promise<Received> => {
    const startedAt = performance.now()
    const asked = request(`${host.url}/?${new URLSearchParams(url).toString()}`, {
      method: 'POST',
      headers: { authorization: AUTHORIZATION, ...headers },
      agent: false,
    })
    asked.end(query)
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    const parts: Buffer[] = []
    let firstMs = 0
    response.on('error', () => undefined)
    try {
      for await (const part of response) {
        firstMs ||= performance.now() - startedAt
        parts.push(part as Buffer)
        if (slowly) await sleep(20)
      }
    } catch {
      // the connection was cut: the answer is not complete
    }
    return { response, bytes: Buffer.concat(parts), firstMs, isComplete: response.complete }
  }
  /** Asks for an answer, and reads nothing of it. */
  const holdPlace = (name: string) => {
    const asked = request(host.url, {
      method: 'POST',
      headers: { authorization: authorizationOf(name) },
      agent: false,
    })
    asked.on('error', () => undefined).on('response', (response) => response.on('error', () => undefined))
    return asked.end(LARGER)
  }
  const authorizationOf = (name: string) =>
    `Basic ${Buffer.from(`${name}:a password of analysts`).toString('base64')}`
  const filesLeft = () => readdir(`${host.folder}/answers`)

  before(async () => {
    host = await startAnalystHost({
      connections: 1,
      stalledMs: STALLED_MS,
      names: ['ann', 'bob', 'cid', 'dan', 'eve'],
      limits: { resultRows: 2 * ROWS, resultBytes: 1_024 * MB },
    })
    await service(`INSERT INTO tally.usage_events (namespace_id, account_id, source, occurred_at, event_id, quantity, properties, accepted_at, version)
      SELECT 'n', concat('account_', toString(number % 1000)), 'usd', toDateTime(${FIRST} + number), concat('event_', hex(toUInt32(${FIRST} + number)), leftPad(toString(number), 24, '0')), 1, '{}', now64(6), 1
      FROM numbers(${ROWS})`)
    expect((await ask('SELECT count() FROM events')).text).to.equal(`${ROWS}\n`)
  })
  after(async () => {
    await host.stop()
  })

  it('are in each format what the engine makes of the whole', async () => {
    for (const format of FORMATS_OF_ANALYSTS) {
      const url = { ...WRITTEN_ALIKE, default_format: format }
      const streamed = await receive(LARGE, url)
      const whole = await receive(LARGE.replace('events', 'tally_analytics.events'), url, TRIAL)
      expect(streamed.response.statusCode, format).to.equal(whole.response.statusCode)
      if (streamed.response.statusCode !== 200) continue // LineAsString is for one column
      expect(streamed.response.headers['content-length'], format).to.equal(undefined)
      expect(streamed.isComplete, format).to.equal(true)
      expect(streamed.bytes.equals(whole.bytes), format).to.equal(true)
    }
  })

  it('go through a file when their text is long, however small the values are', async () => {
    // A short answer has a length, because it was in memory as a whole.
    const lengthOf = async (rows: number) => {
      const name = 'x'.repeat(250)
      const query = `SELECT toUInt8(1) AS ${name} FROM events LIMIT ${rows} FORMAT JSONEachRow`
      const { response, bytes, isComplete } = await receive(query)
      expect([response.statusCode, isComplete]).to.deep.equal([200, true])
      expect(bytes.toString()).to.equal(`{"${name}":1}\n`.repeat(rows))
      return response.headers['content-length']
    }
    expect(await lengthOf(1_000)).to.equal('257000')
    expect(await lengthOf(1_200)).to.equal(undefined)
  })

  it('begin to arrive at once, and take little memory, whatever their size', async () => {
    const residentMb = async () =>
      Number(/^VmRSS:\s+(\d+)/m.exec(await readFile(`/proc/${host.process.pid ?? 0}/status`, 'utf8'))?.[1]) /
      1_024
    const query = 'SELECT * FROM events'
    await receive(query, {}, {}) // the first time, the engine fills its caches
    const before = await residentMb()
    let peak = 0
    const watch = setInterval(() => void residentMb().then((mb) => (peak = Math.max(peak, mb))), 20)
    const { bytes, firstMs, isComplete } = await receive(query)
    clearInterval(watch)
    expect(isComplete).to.equal(true)
    expect(bytes.toString('latin1').split('\n')).to.have.length(ROWS + 1)
    expect(firstMs).to.be.lessThan(2_000) // half a second on a quiet machine
    expect(peak - before).to.be.lessThan(64)
  })

  it('are cut off at an error, with its text at the end, in each way of packing', async () => {
    for (const [url, headers, unpack] of [
      [{}, {}, (bytes: Buffer) => bytes],
      [{ compress: '1' }, {}, unpackBlocks],
      [{ enable_http_compression: '1' }, { 'accept-encoding': 'gzip' }, (bytes: Buffer) => gunzipSync(bytes)],
    ] as const) {
      const { response, bytes, isComplete } = await receive(FAILING, url, headers)
      expect([response.statusCode, isComplete]).to.deep.equal([200, false])
      const tag = String(response.headers['x-clickhouse-exception-tag'])
      const text = unpack(bytes).toString('latin1')
      const [, message = '', length] =
        new RegExp(`\r\n__exception__\r\n${tag}\r\n([^]*\n)(\\d+) ${tag}\r\n__exception__\r\n$`).exec(text) ??
        []
      expect(message).to.match(new RegExp(`^Code: ${ILLEGAL_DIVISION}\\. DB::Exception: .*ILLEGAL_DIVISION`))
      expect(message).to.have.length(Number(length))
      expect(message).not.to.include(host.folder)
    }
  })

  it('tell ClickHouse’s own client of an error after the first rows', async () => {
    const client = createClient({
      url: host.url,
      username: 'analyst',
      password: 'a password of analysts',
      log: { level: ClickHouseLogLevel.OFF },
    })
    const rows = await client.query({ query: FAILING, format: 'JSONEachRow' })
    const read = async () => {
      for await (const some of rows.stream()) expect(some).not.to.equal(undefined)
    }
    const failure = await failureOf(read())
    expect(failure).to.have.property('type', 'ILLEGAL_DIVISION')
    await client.close()
  })

  it('wait for their end when a client wants that, and then their error has a status', async () => {
    const answer = await ask(FAILING, { wait_end_of_query: '1' })
    expect([answer.status, answer.code]).to.deep.equal([500, ILLEGAL_DIVISION])
  })

  it('reach slow clients as a whole, and keep nobody’s long query from running meanwhile', async () => {
    const slow = [1, 2, 3].map(() => receive(LARGE.replace('8000', '200000'), {}, {}, true))
    await sleep(2_500) // all three are written by then, and far from read
    const startedAt = performance.now()
    expect((await receive(LARGE)).isComplete).to.equal(true)
    expect(performance.now() - startedAt).to.be.lessThan(2_500)
    for (const { bytes, isComplete } of await Promise.all(slow)) {
      expect(isComplete).to.equal(true)
      expect(bytes.toString('latin1').split('\n')).to.have.length(200_001)
    }
  })

  it('of two analysts who read nothing leave places for a third', async () => {
    const held = ['ann', 'bob'].flatMap((name) => [1, 2, 3, 4].map(() => holdPlace(name)))
    await until(async () => (await filesLeft()).length >= 6)
    const startedAt = performance.now()
    const { response, isComplete } = await receive(LARGE, {}, { authorization: authorizationOf('cid') })
    expect([response.statusCode, isComplete]).to.deep.equal([200, true])
    expect(performance.now() - startedAt).to.be.lessThan(STALLED_MS)
    for (const place of held) place.destroy()
    await until(async () => (await filesLeft()).length === 0)
  })

  it('of clients who read nothing are cut off when all places are taken, those of slow readers are not', async () => {
    const slow = receive(LARGER, {}, { authorization: authorizationOf('eve') }, true)
    const held = ['ann', 'bob', 'cid'].flatMap((name) => [1, 2, 3].map(() => holdPlace(name)))
    const last = ['dan', 'dan'].map((name) => holdPlace(name))
    await until(async () => (await filesLeft()).length === 12)
    const { response, isComplete } = await receive(LARGE) // of yet another analyst
    expect([response.statusCode, isComplete]).to.deep.equal([200, true])
    expect((await slow).isComplete).to.equal(true)
    expect((await slow).bytes.toString('latin1').split('\n')).to.have.length(300_001)
    for (const place of [...held, ...last]) place.destroy()
    await until(async () => (await filesLeft()).length === 0)
  })

  it('are cut off when their query is killed, also while they are only sent', async () => {
    const slow = receive('SELECT * FROM events', { query_id: 'slow' }, {}, true)
    await sleep(3_000) // written, and far from read
    expect((await ask("KILL QUERY WHERE query_id = 'slow'")).text).to.equal('waiting\tslow\n')
    expect((await slow).isComplete).to.equal(false)
    await until(async () => (await filesLeft()).length === 0)
  })

  it('leave no file behind, also when clients go or the process crashes', async () => {
    await receive(FAILING)
    const gone = request(host.url, {
      method: 'POST',
      headers: { authorization: AUTHORIZATION },
      agent: false,
    })
    gone.on('error', () => undefined).end('SELECT * FROM events')
    await once(gone, 'response')
    gone.destroy()
    await until(async () => (await filesLeft()).length === 0)

    const asked = request(host.url, {
      method: 'POST',
      headers: { authorization: AUTHORIZATION },
      agent: false,
    })
    asked.on('error', () => undefined).end('SELECT * FROM events')
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    response.on('error', () => undefined)
    await until(async () => (await filesLeft()).length === 1)
    await host.kill9()
    expect(await filesLeft()).to.have.length(1)
    await host.restart()
    expect(await filesLeft()).to.deep.equal([])
  })
})
