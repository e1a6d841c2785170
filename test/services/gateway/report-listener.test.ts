import { once } from 'node:events'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import fc from 'fast-check'
import { newApiKey } from '../../../shared/domain/api-key.ts'
import {
  BODY_BYTES_MAX,
  clock,
  NAMES,
  type Sent,
  startGateways,
  suspension,
  type TestGateway,
} from './two-gateways.ts'

const RUNS = 1_500
const NOW = Math.floor(Date.now() / 1_000)

describe('reports on bare node:http, beside the Express app', function () {
  this.timeout(120_000)
  let listener: TestGateway
  let express: TestGateway
  const both = () => [listener, express]

  before(async () => {
    const started = await startGateways()
    listener = started.listener
    express = started.express
  })
  beforeEach(() => {
    for (const gateway of both()) {
      gateway.takeLines()
      gateway.takeUses()
    }
  })
  after(() => Promise.all(both().map((gateway) => gateway.stop())))

  /** The results of a request: its answer, the stored lines, and the points of the caller's limits. */
  const outcomeOf = async (gateway: TestGateway, sent: Sent, hasRandomIds: boolean) => {
    const { status, rawHeaders, text } = await gateway.send(sent)
    const mask = (shown: string) =>
      hasRandomIds ? shown.replaceAll(/(event_[0-9a-f]{8})[0-9a-f]{24}/g, '$1…') : shown
    return {
      status,
      rawHeaders,
      text: mask(text),
      lines: gateway.takeLines().map(mask),
      uses: gateway.takeUses(),
    }
  }

  const expectSame = async (sent: Sent, hasRandomIds: boolean): Promise<number> => {
    clock.at += 1
    const [ours, theirs] = await Promise.all(both().map((gateway) => outcomeOf(gateway, sent, hasRandomIds)))
    expect(ours).to.deep.equal(theirs)
    return ours?.status ?? 0
  }

  it('answer, store and count the same, whatever is sent', async () => {
    const statuses = new Map<number, number>()
    await fc.assert(
      fc.asyncProperty(anyRequest, async ({ sent, hasRandomIds }) => {
        const status = await expectSame(sent, hasRandomIds)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }),
      { numRuns: RUNS },
    )
    // Random requests rarely have a caller over its limit, so this one is sent always.
    const headers = { 'content-type': 'application/json', 'x-api-key': NAMES.keys.limited }
    const body = Buffer.from(JSON.stringify(GOOD))
    statuses.set(await expectSame({ path: '/v2/events', headers, body }, true), 1)
    // The test is meaningful only if the requests get every kind of answer, and often the success.
    expect([...statuses.keys()]).to.include.members([202, 400, 401, 403, 404, 405, 409, 413, 415, 422, 429])
    expect(statuses.get(202)).to.be.greaterThan(RUNS / 10)
  })

  it('take a caller’s limit once, whoever answers', async () => {
    const { full, limited } = NAMES.keyIds
    const json = { 'content-type': 'application/json' }
    for (const [key, event, uses, status] of [
      [NAMES.keys.full, GOOD, [`events ${full} 1`], 202],
      [NAMES.keys.full, { ...GOOD, account_id: `account_${'0'.repeat(32)}` }, [`events ${full} 1`], 422],
      [NAMES.keys.full, { ...GOOD, more: 1 }, [], 400],
      [NAMES.keys.limited, GOOD, [`events ${limited} 1`], 429],
      [newApiKey('test'), GOOD, ['wrong-keys 127.0.0.1 1'], 401],
      [NAMES.keys.reader, GOOD, [], 403],
    ] as const) {
      const body = Buffer.from(JSON.stringify(event))
      const got = await listener.send({ path: '/v2/events', headers: { ...json, 'x-api-key': key }, body })
      expect(got.status).to.equal(status)
      expect(listener.takeUses()).to.deep.equal(uses)
    }
  })

  it('take nothing of anybody while nothing may be written, and say when to come again', async () => {
    suspension.isOn = true
    try {
      for (const key of [NAMES.keys.full, NAMES.keys.reader, newApiKey('live')])
        for (const body of [JSON.stringify(GOOD), '{', JSON.stringify({ ...GOOD, currency: 'usd' })]) {
          const headers = { 'content-type': 'application/json', 'x-api-key': key }
          const sent = { path: '/v2/events', headers, body: Buffer.from(body) }
          expect(await expectSame(sent, true)).to.equal(503)
          const { text, rawHeaders } = await listener.send(sent)
          expect(text).to.equal('not now')
          expect(rawHeaders.join(' ')).to.match(/retry-after 5/i)
        }
      expect(listener.takeUses()).to.deep.equal([])
    } finally {
      suspension.isOn = false
    }
  })

  it('answer requests that are sent at once on one connection in their order', async () => {
    const text = await sendRaw(listener.port, [
      request('/v2/events', JSON.stringify(GOOD)),
      request('/v2/events', JSON.stringify({ ...GOOD, quantity: 'x' })),
      request('/v2/events/batch', JSON.stringify({ events: [GOOD, GOOD] })),
      request('/v2/events', '{', 'connection: close\r\n'),
    ])
    expect(text.match(/HTTP\/1\.1 \d+/g)).to.deep.equal(
      [202, 400, 202, 400].map((status) => `HTTP/1.1 ${status}`),
    )
    expect(text).to.contain('"accepted":2')
    expect(listener.takeLines().join('').match(/\n/g)).to.have.length(3)
  })

  it('store nothing of a report that is cut short, and serve the next one', async () => {
    const socket = connect(listener.port, '127.0.0.1')
    await once(socket, 'connect')
    socket.write(request('/v2/events', JSON.stringify(GOOD)).slice(0, -5))
    await new Promise((resolve) => setTimeout(resolve, 50))
    socket.destroy()
    expect(
      await sendRaw(listener.port, [request('/v2/events', JSON.stringify(GOOD), 'connection: close\r\n')]),
    ).to.match(/^HTTP\/1\.1 202 /)
    expect(listener.takeLines()).to.have.length(1)
  })

  it('ask for the body of a client that waits to be asked', async () => {
    const whole = request('/v2/events', JSON.stringify(GOOD), 'expect: 100-continue\r\nconnection: close\r\n')
    expect(await sendRaw(listener.port, [whole])).to.match(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 202 /)
  })
})

const GOOD = { account_id: NAMES.account, metric_id: NAMES.metric, quantity: '1.5' }

const request = (path: string, body: string, headers = ''): string =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${NAMES.keys.full}\r\ncontent-type: application/json\r\n` +
  `${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

/** Sends all requests at once, and reads until the server closes the connection. */
async function sendRaw(port: number, requests: readonly string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
  socket.write(requests.join(''))
  await once(socket, 'close')
  return text
}

/** Mostly draws the first value, which is valid, and sometimes one of the others. */
const mostly = <T>(good: fc.Arbitrary<T>, ...odd: fc.Arbitrary<T>[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: odd.length * 8, arbitrary: good }, ...odd.map((arbitrary) => ({ weight: 1, arbitrary })))
const value = (...values: unknown[]): fc.Arbitrary<unknown> => fc.constantFrom(...values)

const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) })

const anyProperties = mostly<unknown>(
  fc.dictionary(
    fc.string({ maxLength: 5 }),
    fc.oneof(fc.string({ unit: 'binary', maxLength: 5 }), fc.double(), fc.boolean()),
  ),
  fc.json().map((text) => JSON.parse(text) as unknown),
  value(
    { a: '\0' },
    { '\0': 1 },
    { a: '\ud800' },
    nested(8),
    nested(9),
    nested(40),
    { a: 'x'.repeat(17_000) },
    [],
    'x',
    null,
  ),
  value(
    JSON.parse('{"__proto__":{"a":1},"constructor":2}'),
    { a: '\\u0000' },
    { a: '\n"\\' },
    { list: [1, [2, ['\0']]] },
  ),
)

/** An event, in which an absent field is undefined, so that JSON omits it. */
const anyEvent = fc
  .record({
    account_id: mostly<unknown>(
      value(NAMES.account),
      value(undefined, null, 5, '', `account_${'0'.repeat(32)}`, NAMES.account.toUpperCase()),
    ),
    source: mostly<object>(
      fc.constantFrom({ metric_id: NAMES.metric }, { currency: 'usd' }, { currency: 'EUR' }),
      fc.constantFrom<object>(
        {},
        { metric_id: NAMES.metric, currency: 'usd' },
        { metric_id: `metric_${'0'.repeat(32)}` },
        { currency: 'us' },
        { currency: 1 },
        { metric_id: null },
      ),
    ),
    quantity: mostly<unknown>(
      value('1', '007.50', '-0.0', '99999999999999999999.999999999999999999'),
      value(undefined, 1, '1e3', '', '.5', '123456789012345678901', ' 1', 'NaN'),
    ),
    occurred_at: mostly<unknown>(
      value(undefined, NOW, NOW - 86_400),
      value(NOW + 10_000, 0, -1, 1.5, 2 ** 32, '1', 1e300, null, NOW + 0.0),
    ),
    idempotency_key: mostly<unknown>(
      value(undefined, 'k', 'ü'),
      value('', 'x'.repeat(256), 'x'.repeat(257), '😀'.repeat(256), '\0', '\udc00', 1),
    ),
    properties: fc.option(anyProperties, { nil: undefined }),
    more: mostly<object>(
      fc.constant({}),
      fc.constantFrom<object>({ more: 1 }, { constructor: 1 }, JSON.parse('{"__proto__":1}') as object),
    ),
  })
  // Object.assign would call the setter of __proto__.
  .map(({ source, more, ...fields }) =>
    Object.fromEntries([fields, source, more].flatMap((part) => Object.entries(part))),
  )
  .map((event) =>
    event['occurred_at'] === undefined && event['idempotency_key'] === 'k'
      ? { ...event, occurred_at: NOW }
      : event,
  )

const anyBatch = mostly<unknown>(
  fc.array(anyEvent, { minLength: 1, maxLength: 4 }).map((events) => ({ events })),
  value(
    { events: [] },
    { events: {} },
    {},
    { events: [GOOD], more: 1 },
    [GOOD],
    { events: [null] },
    { events: [[]] },
  ),
  value(
    { events: Array.from({ length: 1_000 }, () => ({ account_id: 'x' })) },
    { events: Array.from({ length: 1_001 }, () => ({})) },
  ),
  value({ events: Array.from({ length: 200 }, () => GOOD) }),
)

const anyText = fc.constantFrom(
  ...['', ' ', '{', 'null', '1', '"x"', '[]', '{}', '{"account_id":1}{}', '\ufeff{}', '['.repeat(20_000)],
  `{"account_id":"${NAMES.account}","account_id":"${NAMES.account}","currency":"usd","quantity":"1"}`,
  `{"account_id":"${NAMES.account}","currency":"usd","quantity":"1","properties":{"n":9007199254740993}}`,
  `{"account_id":"${NAMES.account}","currency":"usd","quantity":"1","properties":{"n":1e400}}`,
  `{"account_id":"${NAMES.account}","currency":"usd","quantity":"1","properties":{"n":-0,"m":1.50}}`,
  `{"account_id":"${NAMES.account}","currency":"usd","quantity":"1","occurred_at":1.7e9}`,
  `{"account_id":"${NAMES.account}","currency":"usd","quantity":"1","properties":{"a":"\\u0000\\ud800"}}`,
)

const anyBytes = mostly<Buffer>(
  fc.oneof(anyEvent, anyBatch).map((body) => Buffer.from(JSON.stringify(body))),
  anyText.map((text) => Buffer.from(text)),
  fc.constantFrom(Buffer.from('{"account_id":"\xff"}', 'latin1'), Buffer.from([0xed, 0xa0, 0x80])),
  fc.constantFrom(' ', '[').map((text) => Buffer.alloc(BODY_BYTES_MAX + 1, text)),
)

const anyHeaders = fc.record(
  {
    'x-api-key': mostly(
      fc.constant(NAMES.keys.full),
      fc.constantFrom(NAMES.keys.reader, NAMES.keys.limited),
      fc.constantFrom('', 'x', newApiKey('live'), ` ${NAMES.keys.full}`, NAMES.keys.full.toUpperCase()),
    ),
    'content-type': mostly(
      fc.constantFrom(
        'application/json',
        'application/json; charset=utf-8',
        'application/json;charset=utf-8',
      ),
      fc.constantFrom(
        'Application/JSON',
        'application/json; charset=UTF-8',
        'application/json; charset="utf8"',
        'application/json ; charset=utf-8',
        'application/json; a=b',
      ),
      fc.constantFrom(
        'text/plain',
        'application/json; charset=latin1',
        'application/jsonx',
        '',
        'application/x-www-form-urlencoded',
      ),
    ),
    'idempotency-key': mostly(
      fc.constantFrom('', 'key', 'key-2', 'KEY'),
      fc.constantFrom('x'.repeat(255), 'x'.repeat(256), '\xfc'.repeat(255), ' '),
    ),
    'content-encoding': mostly(
      fc.constant(''),
      fc.constantFrom('gzip', 'GZIP', 'identity', 'br', 'gzip, gzip'),
    ),
    'transfer-encoding': mostly(fc.constant(''), fc.constant('chunked')),
    accept: fc.constantFrom('*/*', 'text/html', 'APPLICATION/JSON'),
  },
  { requiredKeys: [] },
)

const anyRequest = fc
  .record({
    method: mostly(fc.constant('POST'), fc.constantFrom('PUT', 'DELETE')),
    path: mostly(
      fc.constantFrom('/v2/events', '/v2/events/batch'),
      fc.constantFrom(
        '/v2/events/',
        '/v2/events?',
        '/v2/events?a=1',
        '/v2/events/batch?',
        '/V2/events',
        '/v2/events/Batch',
        '//v2/events',
        '/v2/events/%62atch',
        '/v2/other',
      ),
    ),
    isFitting: mostly(fc.constant(true), fc.constant(false)),
    event: anyEvent,
    batch: anyBatch,
    bytes: anyBytes,
    headers: fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: anyHeaders }),
    isGzipped: mostly(fc.constant(false), fc.constant(true)),
  })
  .map(({ method, path, isFitting, event, batch, bytes, headers, isGzipped }) => {
    const fitting = Buffer.from(JSON.stringify(path.includes('atch') ? batch : event))
    const plain = isFitting ? fitting : bytes
    const all: Record<string, string | undefined> = {
      'x-api-key': NAMES.keys.full,
      'content-type': 'application/json',
      ...(isGzipped ? { 'content-encoding': 'gzip' } : {}),
      ...headers,
    }
    // An empty header is omitted. A key of one space means a header that is present and empty.
    const given = Object.entries(all).filter((entry): entry is [string, string] => (entry[1] ?? '') !== '')
    const body = isGzipped ? gzipSync(plain) : plain
    const length =
      'transfer-encoding' in headers && headers['transfer-encoding'] === 'chunked'
        ? {}
        : { 'content-length': String(body.length) }
    const sent: Sent = { method, path, headers: { ...Object.fromEntries(given), ...length }, body }
    return { sent, hasRandomIds: !given.some(([name]) => name === 'idempotency-key') }
  })
