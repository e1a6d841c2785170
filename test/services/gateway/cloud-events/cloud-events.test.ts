import { expect } from 'chai'
import fc from 'fast-check'
import { reportListener } from '../../../../services/gateway/report-listener.ts'
import { newApiKey } from '../../../../shared/domain/api-key.ts'
import { accountRepository } from '../../../../shared/postgres/accounts.ts'
import { inNamespace } from '../../../../shared/postgres/core/transaction.ts'
import { metricRepository } from '../../../../shared/postgres/metrics.ts'
import { BODY_BYTES_MAX, clock, NAMES, startGateway, suspension, type TestGateway } from '../two-gateways.ts'

/** Batches of random events, of three on average. */
const RUNS = process.env['FAULT_LONG'] === '1' ? 3_500 : 120
const NOW = Math.floor(clock.at / 1_000_000)
const ONE = 'application/cloudevents+json'
const LIST = 'application/cloudevents-batch+json'
const OPENMETER = '/openmeter/api/v1/events'
const TOKENS = `metric_${'c'.repeat(32)}`
const CALLS = `metric_${'d'.repeat(32)}`
const ARCHIVED = `metric_${'e'.repeat(32)}`
const MANY = Array.from({ length: 8 }, (_, n) => `metric_${String(n).repeat(32)}`)
const ACME = `account_${'1'.repeat(32)}`

const isoOf = (second: number) => new Date(second * 1_000).toISOString()
const event = (fields: object = {}) => ({
  specversion: '1.0',
  id: 'request-8812',
  source: '/gateway/eu',
  type: 'model.called',
  subject: NAMES.account,
  time: isoOf(NOW),
  data: { tokens: '5', model: 'large' },
  ...fields,
})

/** A stored line, without what differs between two reports of the same usage. */
const contentOf = (line: string) => {
  const { event_id, accepted_at, version, ...content } = JSON.parse(line) as Record<string, unknown>
  expect(event_id).to.match(/^event_[0-9a-f]{32}$/)
  expect(accepted_at).to.be.a('string')
  // The low bits of the version are those of the content.
  return { ...content, bits: BigInt(version as string) & 0xffn }
}

describe('CloudEvents', function () {
  this.timeout(600_000)
  let gateway: TestGateway

  before(async () => {
    gateway = await startGateway('cloud_events', reportListener)
    await inNamespace(gateway.pool, NAMES.namespace, async (db) => {
      const metrics = metricRepository(db)
      const insert = (id: string, eventType: string, eventQuantity: string | null) =>
        metrics.insert(NAMES.namespace, {
          ...{ id, externalId: null, name: 'm', description: '', measurementUnits: '' },
          ...{ eventType, eventQuantity },
        })
      await insert(TOKENS, 'model.called', 'tokens')
      await insert(CALLS, 'model.called', null)
      await insert(ARCHIVED, 'model.called', null)
      await metrics.archive(NAMES.namespace, ARCHIVED)
      for (const id of MANY) await insert(id, 'many', null)
      const account = { customerId: null, description: null, name: 'a' }
      await accountRepository(db).insert(NAMES.namespace, { ...account, id: ACME, externalId: 'Ä cme/1' })
    })
  })
  beforeEach(() => {
    gateway.takeLines()
    gateway.takeUses()
  })
  after(() => gateway.stop())

  const post = (path: string, type: string, body: string | object, headers: Record<string, string> = {}) => {
    clock.at += 1_000
    return gateway.send({
      path,
      headers: { 'content-type': type, 'x-api-key': NAMES.keys.full, ...headers },
      body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    })
  }
  const one = (fields: object = {}) => post('/v2/events', ONE, event(fields))
  const list = (...events: object[]) => post('/v2/events/batch', LIST, events)
  const takeLines = () =>
    gateway.takeLines().flatMap((lines) =>
      lines
        .slice(lines.indexOf('{'))
        .split('\n')
        .filter((line) => line !== ''),
    )
  const idsOf = (text: string) => (JSON.parse(text) as { event_ids: string[] }).event_ids
  const answerOf = ({ status, text }: { status: number; text: string }) => [status, text]

  it('become the usage events that a native report makes, one for each metric of their type', async () => {
    let accepted = 0
    await fc.assert(
      fc.asyncProperty(fc.array(anyUsage, { minLength: 1, maxLength: 5 }), async (usages) => {
        const native = await post('/v2/events/batch', 'application/json', nativeBatch(usages))
        const expected = takeLines().map(contentOf)
        const cloud = await post('/v2/events/batch', LIST, `[${usages.map(cloudText).join(',')}]`)
        const made = takeLines().map(contentOf)
        expect(cloud.status, `${cloud.text} ${native.text}`).to.equal(native.status)
        expect(made).to.deep.equal(expected)
        if (native.status !== 202) {
          expect(cloud.text).to.equal(inOwnWords(native.text, usages))
          return
        }
        accepted += made.length
        expect(idsOf(cloud.text)).to.have.length(idsOf(native.text).length)
      }),
      { numRuns: RUNS },
    )
    expect(accepted).to.be.greaterThan(RUNS)
  })

  it('count once, however often and on whichever route they are sent', async () => {
    const answers = [
      await one(),
      await one({ traceparent: '00-1', data: { tokens: '6' } }),
      await list(event()),
      await post('/v2/events', LIST, [event(), event({ time: isoOf(NOW).replace('Z', '+00:00') })]),
    ]
    for (const { status, text } of answers) expect(status, text).to.equal(202)
    const ids = new Set(answers.flatMap(({ text }) => idsOf(text)))
    expect(ids.size).to.equal(2)
    for (const type of [ONE, 'application/json'])
      expect((await post(OPENMETER, type, event())).status).to.equal(204)
    expect((await post(OPENMETER, LIST, [event()])).status).to.equal(204)
    expect((await post(OPENMETER, 'application/json', [event(), event()])).status).to.equal(204)
    const stored = takeLines().map((line) => (JSON.parse(line) as { event_id: string }).event_id)
    expect(stored).to.have.length(2 * 8)
    expect(new Set(stored)).to.deep.equal(ids)
  })

  it('are others with another id, source, time, account or type, and none of them is a native event', async () => {
    const ids = new Set<string>()
    for (const fields of [
      {},
      { id: 'request-8813' },
      { source: '/gateway/us' },
      { source: '/gateway/eur', id: 'equest-8812' },
      { time: isoOf(NOW - 1) },
      { subject: 'Ä cme/1' },
      { type: 'currency:usd', data: { quantity: 5 } },
    ])
      for (const id of idsOf((await one(fields)).text)) ids.add(id)
    expect(ids.size).to.equal(6 * 2 + 1)
    const native = { account_id: NAMES.account, metric_id: CALLS, quantity: '1', occurred_at: NOW }
    for (const idempotency_key of ['request-8812', '/gateway/eurequest-8812']) {
      const { text } = await post('/v2/events', 'application/json', { ...native, idempotency_key })
      expect(ids.has((JSON.parse(text) as { id: string }).id)).to.equal(false)
    }
  })

  it('are answered with the ids of their events, in the order given and of the metrics', async () => {
    const { status, text, headers } = await one({ id: 'order' })
    expect([status, headers['content-type']]).to.deep.equal([
      202,
      'application/vnd.tally.accepted+json; charset=utf-8',
    ])
    expect(JSON.parse(text)).to.have.property('accepted', 2)
    const [first, second] = takeLines().map(
      (line) => JSON.parse(line) as { source: string; event_id: string },
    )
    expect([first?.source, second?.source]).to.deep.equal([TOKENS, CALLS])
    expect(idsOf(text)).to.deep.equal([first?.event_id, second?.event_id])
    const batch = await list(event({ id: 'order-2' }), event({ id: 'order' }), event({ id: 'order-2' }))
    expect(batch.headers['content-type']).to.equal('application/json; charset=utf-8')
    const [a, b, c, d, e, f] = idsOf(batch.text)
    expect([c, d]).to.deep.equal(idsOf(text))
    expect([e, f]).to.deep.equal([a, b])
    expect(takeLines()).to.have.length(4)
  })

  it('may be none', async () => {
    const { status, text } = await list()
    expect([status, text]).to.deep.equal([202, '{"accepted":0,"event_ids":[]}'])
    expect(gateway.takeUses()).to.deep.equal([`events ${NAMES.keyIds.full} 1`])
    expect((await post(OPENMETER, LIST, [])).status).to.equal(204)
  })

  it('are refused by index and attribute, all or none', async () => {
    const many = Array.from({ length: 30 }, (_, n) => event({ id: `n${n}`, time: n < 5 ? isoOf(NOW) : 'x' }))
    const rfc = 'must be a time as in RFC 3339, such as "2026-01-31T12:00:00Z"'
    for (const [answer, status, text] of [
      [await one({ time: null }), 422, 'time: is needed, so that a repeat counts once'],
      [await one({ time: isoOf(NOW + 1_000) }), 422, 'time: lies more than five minutes ahead'],
      [await one({ subject: 'nobody' }), 422, 'subject: there is no such account'],
      [await one({ subject: `account_${'0'.repeat(32)}` }), 422, 'subject: there is no such account'],
      [await one({ subject: 'ä cme/1' }), 422, 'subject: there is no such account'],
      [await one({ type: 'model' }), 422, 'type: no metric has this event_type'],
      [await one({ type: 'currency:euro' }), 422, 'type: no metric has this event_type'],
      [await one({ data: {} }), 422, `data.tokens: is required, because it is the quantity of ${TOKENS}`],
      [await one({ data: null }), 422, `data.tokens: is required, because it is the quantity of ${TOKENS}`],
      [
        await one({ data: { tokens: true } }),
        422,
        `data.tokens: must be text or a number, because it is the quantity of ${TOKENS}`,
      ],
      [
        await one({ data: { tokens: '1e3' } }),
        422,
        'data.tokens: "1e3" is not a plain decimal number such as "12.5"',
      ],
      [
        await one({ data: { tokens: 1e21 } }),
        422,
        'data.tokens: "1000000000000000000000" has 22 digits before the decimal point, at most 20 are allowed',
      ],
      [
        await one({ type: 'currency:usd' }),
        422,
        'data.quantity: is required, because it is the quantity of usd',
      ],
      [await one({ data: { tokens: '1', a: '\0' } }), 400, 'data: they hold a NUL character'],
      [
        await list(event(), event({ time: 'x' }), event({ id: '' })),
        400,
        `events[1].time: ${rfc}\nevents[2].id: must not be empty`,
      ],
      [await list(event({ time: null }), event({ id: '' })), 400, 'events[1].id: must not be empty'],
      [await list(event(), event({ subject: 'nobody' })), 422, 'events[1].subject: there is no such account'],
      [
        await list(event(), event({ data: { tokens: '6' } })),
        422,
        'events[1].id: the same as events[0].id, with another content',
      ],
      [
        await list(...many),
        400,
        [...many.keys()]
          .slice(5, 25)
          .map((n) => `events[${n}].time: ${rfc}`)
          .join('\n') + '\nand 5 more events',
      ],
      [await list(event(), []), 400, 'events[1].must be a CloudEvent, which is an object'],
    ] as const)
      expect(answerOf(answer)).to.deep.equal([status, text])
    expect(takeLines()).to.deep.equal([])
  })

  it('are refused when a number of their data would be rounded, and only then', async () => {
    const text = (data: string, more = '') =>
      JSON.stringify(event({ data: 0 })).replace('"data":0', `"data":${data}${more}`)
    const lost = (number: string) =>
      `data: the number ${number} would lose digits in a 64-bit float, send it as text`
    const [big, fine] = ['9007199254740993', '1.50']
    for (const [answer, status, message] of [
      [await post('/v2/events', ONE, text(`{"tokens":${big}}`)), 400, lost(big)],
      [await post('/v2/events', ONE, text(`{"tokens":1e400}`)), 400, lost('1e400')],
      [await post('/v2/events', ONE, text(`{"tokens":1,"a":[1,2,${big}]}`)), 400, lost(big)],
      [
        await post('/v2/events', LIST, `[${text('{"tokens":1}')},${text(`{"tokens":${big}}`)}]`),
        400,
        `events[1].${lost(big)}`,
      ],
      [
        await post(
          '/v2/events',
          LIST,
          `[${text(`{"tokens":${fine}}`)},${text('{"tokens":1}', `,"ext":${big}`)}]`.replace('8812', '1'),
        ),
        202,
        '',
      ],
    ] as const) {
      expect(answer.status, answer.text).to.equal(status)
      if (status === 400) expect(answer.text).to.equal(message)
    }
    expect(takeLines().map((line) => (JSON.parse(line) as { quantity: string }).quantity)).to.deep.equal([
      '1.5',
      '1',
      '1',
      '1',
    ])
  })

  it('are at most 1,000, and become at most 4,000 usage events', async () => {
    const named = (count: number, fields: object) =>
      Array.from({ length: count }, (_, n) => ({
        ...event(fields),
        id: String(n),
        source: 's',
        data: undefined,
      }))
    const compact = (count: number) => named(count, { type: 'many' })
    expect(BODY_BYTES_MAX).to.be.greaterThan(JSON.stringify(compact(300)).length)
    const tooMany = await list(...Array.from({ length: 1_001 }, () => ({})))
    expect(answerOf(tooMany)).to.deep.equal([
      413,
      'a request has at most 1000 CloudEvents, this one has 1001',
    ])
    const full = await post('/v2/events', `${LIST}; charset=utf-8`, compact(300))
    expect(JSON.parse(full.text)).to.have.property('accepted', 2_400)
    expect(gateway.takeUses().slice(-2)).to.deep.equal([
      `events ${NAMES.keyIds.full} 300`,
      `events ${NAMES.keyIds.full} 2100`,
    ])
    expect((await post('/v2/events', LIST, ' '.repeat(BODY_BYTES_MAX + 1))).status).to.equal(413)
  })

  it('are taken by type: one and a list have types of their own, and headers alone are not taken', async () => {
    for (const [path, type, body, status, text] of [
      ['/v2/events', ONE, [event()], 400, `body: must be one CloudEvent, as ${ONE} means; a list is ${LIST}`],
      ['/v2/events', LIST, event(), 400, `body: must be a list of CloudEvents, as ${LIST} means`],
      ['/v2/events/batch', ONE, event(), 415, `content-type: the body must be ${LIST}`],
      [
        '/v2/events',
        'application/cloudevents+avro',
        event(),
        415,
        `content-type: the body must be ${ONE} or ${LIST}`,
      ],
      ['/v2/events', `${ONE}; charset=latin1`, event(), 415, 'content-type: the charset must be utf-8'],
      ['/v2/events', ONE, '', 400, 'the body is not JSON: Unexpected end of JSON input'],
      [
        OPENMETER,
        'text/plain',
        event(),
        415,
        `content-type: the body must be ${ONE} or ${LIST} or application/json`,
      ],
    ] as const)
      expect(answerOf(await post(path, type, body))).to.deep.equal([status, text])
    const native = { account_id: NAMES.account, metric_id: CALLS, quantity: '1' }
    const binary = { 'ce-specversion': '1.0', 'ce-id': '1', 'ce-source': 's', 'ce-type': 't' }
    for (const path of ['/v2/events', '/v2/events/batch'])
      expect((await post(path, 'application/json', native, binary)).status).to.equal(415)
    expect((await post('/v2/events', `${ONE}; charset=utf-8`, event(), binary)).status).to.equal(202)
  })

  it('need a key that may write, in either header, and room for their event', async () => {
    const { full, reader, limited } = NAMES.keys
    const send = async (headers: Record<string, string>) =>
      (
        await gateway.send({
          path: OPENMETER,
          headers: { 'content-type': 'application/json', ...headers },
          body: Buffer.from(JSON.stringify(event())),
        })
      ).status
    expect(await send({ authorization: `Bearer ${full}` })).to.equal(204)
    expect(await send({ authorization: `Bearer ${full}`, 'x-api-key': full })).to.equal(401)
    expect(await send({ authorization: `Bearer ${newApiKey('test')}` })).to.equal(401)
    expect(await send({})).to.equal(401)
    expect(await send({ 'x-api-key': reader })).to.equal(403)
    expect(await send({ 'x-api-key': limited })).to.equal(429)
    suspension.isOn = true
    try {
      expect(await send({ 'x-api-key': full })).to.equal(503)
    } finally {
      suspension.isOn = false
    }
    expect(takeLines()).to.have.length(2)
  })

  it('are done once under an Idempotency-Key, which does not change who they are', async () => {
    const headers = { 'idempotency-key': 'ce-1' }
    const plain = await one({ id: 'keyed' })
    const first = await post('/v2/events', ONE, event({ id: 'keyed' }), headers)
    expect(idsOf(first.text)).to.deep.equal(idsOf(plain.text))
    const again = await post('/v2/events', ONE, event({ id: 'keyed' }), headers)
    expect(again.status).to.equal(409)
    expect((await post('/v2/events', ONE, event(), { 'idempotency-key': '' })).status).to.equal(400)
  })
})

/** Usage, and how its CloudEvent writes it. */
interface Usage {
  id: number
  subject: { text: string; accountId: string }
  type: 'model.called' | 'currency:usd' | 'currency:EUR'
  quantity: { text: string; token: string }
  at: { second: number; text: string }
  properties: Record<string, unknown>
}

const quantityName = ({ type }: Usage) => (type === 'model.called' ? 'tokens' : 'quantity')

/** The data as JSON text, with the quantity in the form of the CloudEvent. */
const dataText = (usage: Usage) => {
  const others = Object.entries(usage.properties).map(
    ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`,
  )
  return `{${others.join('')}"${quantityName(usage)}":${usage.quantity.token}}`
}

const cloudText = (usage: Usage, index: number) =>
  `{"specversion":"1.0","id":"${usage.id}-${index}","source":"s","subject":${JSON.stringify(usage.subject.text)},` +
  `"type":"${usage.type}","time":"${usage.at.text}","extension":1,"data":${dataText(usage)}}`

/** The native events: of a call one for each of its two metrics. */
const nativeBatch = (usages: readonly Usage[]) => {
  const sources = (usage: Usage): [source: object, quantity: string][] =>
    usage.type === 'model.called'
      ? [
          [{ metric_id: TOKENS }, usage.quantity.text],
          [{ metric_id: CALLS }, '1'],
        ]
      : [[{ currency: usage.type.slice('currency:'.length) }, usage.quantity.text]]
  const events = usages.flatMap((usage) =>
    sources(usage).map(
      ([source, quantity]) =>
        `${JSON.stringify({ account_id: usage.subject.accountId, ...source, quantity, occurred_at: usage.at.second }).slice(0, -1)},"properties":${dataText(usage)}}`,
    ),
  )
  return `{"events":[${events.join(',')}]}`
}

/** The text of a native fault, as a CloudEvent's. */
function inOwnWords(text: string, usages: readonly Usage[]): string {
  const origins = usages.flatMap(({ type }, index) => (type === 'model.called' ? [index, index] : [index]))
  const lines = text.split('\n').map((line) =>
    line
      .replace(/^events\[(\d+)\]/, (_, index: string) => `events[${origins[Number(index)] ?? ''}]`)
      .replace('.occurred_at:', '.time:')
      .replace('.properties:', '.data:'),
  )
  return [...new Set(lines)].join('\n')
}

/** Numbers of at most 15 digits, which a double holds, as decimal text and as a JSON number. */
const anyQuantity = fc.oneof(
  fc.constantFrom('0', '-0.0', '007.50', '99999999999999999999.999999999999999999').map((text) => ({
    text,
    token: JSON.stringify(text),
  })),
  fc.tuple(fc.integer({ min: -999_999_999, max: 999_999_999 }), fc.nat(18)).map(([digits, places]) => {
    const sign = digits < 0 ? '-' : ''
    const padded = String(Math.abs(digits)).padStart(places + 1, '0')
    const text =
      places === 0 ? `${sign}${padded}` : `${sign}${padded.slice(0, -places)}.${padded.slice(-places)}`
    return { text, token: text }
  }),
  fc.tuple(fc.integer({ min: 1, max: 999_999 }), fc.nat(13)).map(([digits, zeros]) => ({
    text: `${digits}${'0'.repeat(zeros)}`,
    token: `${digits}e${zeros}`,
  })),
)

const mostly = <T>(good: fc.Arbitrary<T>, odd: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 30, arbitrary: good }, { weight: 1, arbitrary: odd })

const anyTime = fc
  .tuple(
    mostly(
      fc.integer({ min: NOW - 10_000_000, max: NOW }),
      fc.constantFrom(NOW + 100_000, NOW - 200_000_000),
    ),
    fc.constantFrom('', '.0', '.999', '.123456789'),
    fc.integer({ min: -14 * 60, max: 14 * 60 }),
  )
  .map(([second, fraction, offset]) => {
    const local = isoOf(second + offset * 60).slice(0, 19)
    const two = (number: number) => String(Math.trunc(Math.abs(number))).padStart(2, '0')
    const zone = offset === 0 ? 'z' : `${offset < 0 ? '-' : '+'}${two(offset / 60)}:${two(offset % 60)}`
    return { second, text: `${local}${fraction}${zone}` }
  })

const anyUsage: fc.Arbitrary<Usage> = fc.record({
  id: fc.nat(),
  subject: fc.constantFrom(
    { text: NAMES.account, accountId: NAMES.account },
    { text: ACME, accountId: ACME },
    { text: 'Ä cme/1', accountId: ACME },
  ),
  type: fc.constantFrom('model.called', 'currency:usd', 'currency:EUR'),
  quantity: anyQuantity,
  at: anyTime,
  properties: mostly<Record<string, unknown>>(
    fc.dictionary(fc.string({ unit: 'grapheme', maxLength: 5 }), fc.jsonValue({ maxDepth: 2 })).map(
      // Random text may have half of a surrogate pair or a NUL, which is tried below.
      (properties) =>
        JSON.parse(JSON.stringify(properties).replaceAll(/\\u(0000|d[89a-f]..)/gi, '')) as Record<
          string,
          unknown
        >,
    ),
    fc.constantFrom<Record<string, unknown>>({ a: '\0' }, { a: '\ud800' }, { a: 'x'.repeat(17_000) }),
  ),
})
