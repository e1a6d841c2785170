import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { yearsBefore } from '../../../shared/domain/period.ts'
import { ApiClient } from '../../support/api-client.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'
import { until } from '../../support/until.ts'
import { gzipped, makeWorld, type Reported } from '../../support/usage-world.ts'

describe('reporting usage over HTTP', function () {
  this.timeout(60_000)
  let tally: TallyUnderTest
  let api: ApiClient
  let world: Awaited<ReturnType<typeof makeWorld>>
  const now = Math.floor(Date.now() / 1_000)

  before(async () => {
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.key)
  })
  after(() => tally.end())
  beforeEach(async () => {
    world = await makeWorld(api)
  })

  it('answers 202 with the event, in its one form', async () => {
    const { status, body } = await world.report({
      currency: 'USD',
      quantity: '007.50',
      occurred_at: now - 60,
      properties: { model: 'm', n: 1.5, deep: { list: [1, null, 'x'] }, ['__proto__']: 1 },
    })
    expect(status).to.equal(202)
    expect(body).to.include({ metric_id: null, currency: 'usd', quantity: '7.5', occurred_at: now - 60 })
    expect(body.id).to.match(/^event_[0-9a-f]{32}$/)
    expect(parseInt(body.id.slice(6, 14), 16)).to.equal(now - 60)
    expect(body.accepted_at).to.be.within(now - 5, Date.now() / 1_000 + 5)
    expect(body.properties['deep']).to.deep.equal({ list: [1, null, 'x'] })
  })

  it('keeps every digit of the quantities in sums', async () => {
    const quantities = ['0.1', '0.2', '99999999999999999999.999999999999999999', '-5', '0.000000000000000001']
    const { status } = await world.reportAll(
      quantities.map((quantity) => ({ metric_id: world.tokens, quantity })),
    )
    expect(status).to.equal(202)
    for (const quantity of quantities) await world.report({ metric_id: world.calls, quantity })
    await world.counted(10)
    const sum = '99999999999999999995.3' // 99…99.999… + 0.3 - 5 + 0.000000000000000001
    expect(await world.usage()).to.deep.equal({ [world.tokens]: sum, [world.calls]: sum })
    expect(await world.usage('&aggregation=min')).to.deep.equal({ [world.tokens]: '-5', [world.calls]: '-5' })
    expect((await world.usage('&aggregation=max'))[world.tokens]).to.equal(
      '99999999999999999999.999999999999999999',
    )
  })

  it('does not wrap around where 128 bits end', async () => {
    const most = { metric_id: world.tokens, quantity: '99999999999999999999.999999999999999999' }
    await world.reportAll(Array.from({ length: 1_000 }, () => most))
    await world.counted(1_000)
    expect(await world.usage()).to.deep.equal({ [world.tokens]: '99999999999999999999999.999999999999999' })
    expect(await world.balance(`metric_id=${world.tokens}`)).to.include({
      balance: '-99999999999999999999999.999999999999999',
    })
  })

  it('refuses quantities by name', async () => {
    for (const [quantity, reason] of [
      ['1e3', /^quantity: "1e3" is not a plain decimal/],
      ['NaN', /^quantity: "NaN" is not a plain decimal/],
      ['.5', /^quantity: ".5" is not a plain decimal/],
      ['123456789012345678901', /^quantity: .*21 digits before the decimal point/],
      ['0.1234567890123456789', /^quantity: .*19 decimal places/],
      [5, /^quantity: must be text such as "12\.5"$/],
      [undefined, /^quantity: is required/],
    ] as const) {
      const answer = await world.report({ metric_id: world.tokens, quantity })
      expect(answer.status).to.equal(400)
      expect(answer.text).to.match(reason)
    }
  })

  it('says what a field is, with an example, alone and in a batch', async () => {
    const good = { account_id: world.account, currency: 'usd', quantity: '1' }
    for (const [fields, reason] of [
      [{ account_id: 'acme' }, /^account_id: "acme" is not an account id such as account_[0-9a-f]{32}$/],
      [{ currency: 'euro' }, /^currency: "euro" is not three letters such as usd$/],
      [
        { occurred_at: 1_700_158_623_000 },
        /^occurred_at: 1700158623000 is not Unix seconds such as 1700158623$/,
      ],
      [{ occurred_at: '1700158623' }, /^occurred_at: must be a whole number such as 1700158623$/],
      [{ idempotency_key: '' }, /^idempotency_key: must not be empty$/],
      [{ colour: 'red' }, /^colour: is not a field of this request$/],
    ] as const) {
      const event = { ...good, ...fields }
      const alone = await api.post('/v2/events', event)
      const inBatch = await api.post('/v2/events/batch', { events: [good, event] })
      expect([alone.status, inBatch.status]).to.deep.equal([400, 400])
      expect(alone.text).to.match(reason)
      expect(inBatch.text).to.equal(`events[1].${alone.text}`)
    }
  })

  it('takes usage as far back as ranges go that were not told', async () => {
    const earliest = yearsBefore(Math.floor(Date.now() / 1_000), 5) + 60
    const edge = await world.report({
      currency: 'usd',
      quantity: '1',
      occurred_at: earliest,
      properties: { edge: String(earliest) },
    })
    expect(edge.status, edge.text).to.equal(202)
    const found = await until(async () => {
      const { body } = await api.get<{ data: object[] }>(
        `/v2/events/aggregate?property=edge&value=${earliest}`,
      )
      return body.data.length > 0 && body.data
    })
    expect(found).to.deep.equal([{ metric_id: null, currency: 'usd', quantity: '1' }])
  })

  it('refuses what is well-formed and still impossible', async () => {
    const cases: [Reported, RegExp][] = [
      [{}, /metric_id, currency: exactly one/],
      [{ metric_id: world.tokens, currency: 'usd' }, /metric_id, currency: exactly one/],
      [{ metric_id: `metric_${'0'.repeat(32)}` }, /metric_id: there is no such metric/],
      [{ currency: 'usd', account_id: `account_${'0'.repeat(32)}` }, /account_id: there is no such account/],
      [{ currency: 'usd', idempotency_key: 'k' }, /occurred_at: required with idempotency_key/],
      [
        { currency: 'usd', occurred_at: yearsBefore(now, 5) - 60 },
        /occurred_at: lies more than five years back/,
      ],
      [{ currency: 'usd', occurred_at: now + 7_200 }, /occurred_at: lies more than five minutes ahead/],
    ]
    for (const [event, reason] of cases) {
      const answer = await world.report({ quantity: '1', ...event })
      expect(answer.status, answer.text).to.equal(422)
      expect(answer.text).to.match(reason)
    }
    const theirs = await makeWorld(new ApiClient(tally.url, tally.testKey))
    expect((await world.report({ quantity: '1', metric_id: theirs.tokens })).status).to.equal(422)
    expect(
      (await world.report({ quantity: '1', currency: 'usd', account_id: theirs.account })).status,
    ).to.equal(422)
  })

  it('refuses properties that could not be kept as they are', async () => {
    const send = (properties: string) =>
      api.post('/v2/events', undefined, {
        raw: `{"account_id":"${world.account}","currency":"usd","quantity":"1","properties":${properties}}`,
      })
    for (const [properties, reason] of [
      ['{"n":9007199254740993}', /the number 9007199254740993 would lose digits/],
      ['{"n":0.1234567890123456789}', /would lose digits/],
      ['{"n":1e400}', /would lose digits/],
      ['{"s":"\\u0000"}', /NUL/],
      ['{"s":"\\ud800"}', /surrogate/],
      [`${'{"a":'.repeat(9)}1${'}'.repeat(9)}`, /nested deeper/],
      [`{"s":"${'x'.repeat(17_000)}"}`, /bytes as JSON/],
      ['[]', /properties: must be an object such as \{/],
    ] as const) {
      const answer = await send(properties)
      expect(answer.status, answer.text).to.equal(400)
      expect(answer.text).to.match(reason)
    }
    const event = (number: string) =>
      `{"account_id":"${world.account}","currency":"usd","quantity":"1","properties":{"n":${number}}}`
    const batch = await api.post('/v2/events/batch', undefined, {
      raw: `{"events":[${[event('1'), event('1e400'), event('2'), event('9007199254740993')].join(',')}]}`,
    })
    expect(batch.text).to.match(/^events\[1\]\.properties: the number 1e400 .*\nevents\[3\]\.properties: /)
    expect((await send('{"n":0.1,"m":9007199254740992,"t":"9007199254740993"}')).status).to.equal(202)
  })

  it('takes all of a batch or nothing, and names the first twenty faults by index', async () => {
    const good = { metric_id: world.tokens, quantity: '1' }
    const bad = await world.reportAll([
      good,
      { quantity: 'x' },
      good,
      { metric_id: world.tokens, quantity: '1', occurred_at: -1 },
    ])
    expect(bad.status).to.equal(400)
    expect(bad.text.split('\n')[0]).to.match(/^events\[1\]\.quantity: "x" is not/)
    expect(bad.text.split('\n')[1]).to.match(/^events\[3\]\.occurred_at: /)
    const impossible = await world.reportAll([good, ...Array.from({ length: 30 }, () => ({ quantity: '1' }))])
    expect(impossible.status).to.equal(422)
    const lines = impossible.text.split('\n')
    expect(lines).to.have.length(21)
    expect(lines[0]).to.match(/^events\[1\]\.metric_id/)
    expect(lines[19]).to.match(/^events\[20\]/)
    expect(lines[20]).to.equal('and 10 more events')
    await world.report({ metric_id: world.calls, quantity: '1' })
    await world.counted(1)
    expect(await world.usage('&aggregation=count')).to.deep.equal({ [world.calls]: '1' })
  })

  it('takes 1 to 1,000 events in a batch', async () => {
    const event = { metric_id: world.tokens, quantity: '1' }
    expect((await world.reportAll([])).text).to.match(/^events: /)
    expect((await world.reportAll(Array.from({ length: 1_001 }, () => event))).text).to.match(/^events: /)
    const { status, body } = await world.reportAll(Array.from({ length: 1_000 }, () => event))
    expect(status).to.equal(202)
    expect(new Set(body.event_ids).size).to.equal(1_000)
  })

  it('counts an event with a key once, through retries, orders and forms', async () => {
    const event = { metric_id: world.tokens, occurred_at: now - 100, idempotency_key: 'k1' }
    const first = await world.report({ ...event, quantity: '5', properties: { a: 1 } })
    const again = await world.reportAll([
      { ...event, quantity: '5.0', properties: { a: 1 } },
      { ...event, idempotency_key: 'k2', quantity: '7' },
    ])
    expect(again.body.event_ids[0]).to.equal(first.body.id)
    await world.report({ ...event, quantity: '99' }) // differs: the first report counts
    await world.report({ ...event, quantity: '5', occurred_at: now - 99 }) // another time, another event
    await world.counted(3)
    expect(await world.usage()).to.deep.equal({ [world.tokens]: '17' })
  })

  it('collapses equal reports of one event in a batch, and refuses different ones', async () => {
    const event = { metric_id: world.tokens, occurred_at: now - 100, idempotency_key: 'k', quantity: '5' }
    const same = await world.reportAll([event, { ...event, quantity: '5.00' }])
    expect(same.body.accepted).to.equal(2)
    expect(same.body.event_ids[0]).to.equal(same.body.event_ids[1])
    const different = await world.reportAll([event, { ...event, quantity: '6' }])
    expect(different.status).to.equal(422)
    expect(different.text).to.match(/^events\[1\]\.idempotency_key: the same as events\[0\]/)
    await world.counted(1)
    expect(await world.usage()).to.deep.equal({ [world.tokens]: '5' })
  })

  it('takes properties for equal that differ in the order of their fields, at any level', async () => {
    const event = { metric_id: world.tokens, occurred_at: now - 100, idempotency_key: 'k', quantity: '5' }
    const properties = { b: 1, a: { d: [{ f: 1, e: 2 }], c: 'x' }, 10: 'ten', 9: 'nine' }
    const turned = { 9: 'nine', 10: 'ten', a: { c: 'x', d: [{ e: 2, f: 1 }] }, b: 1 }
    const { status, text, body } = await world.reportAll([
      { ...event, properties },
      { ...event, properties: turned },
    ])
    expect(status, text).to.equal(202)
    expect(body.event_ids[0]).to.equal(body.event_ids[1])
    const other = await world.reportAll([
      { ...event, properties },
      { ...event, properties: { ...turned, a: { c: 'x', d: [{ e: 2 }, { f: 1 }] } } },
    ])
    expect(other.text).to.match(/^events\[1\]\.idempotency_key: the same as events\[0\]/)
    const alone = await world.report({ ...event, properties })
    expect(alone.text).to.contain(
      '"properties":{"9":"nine","10":"ten","a":{"c":"x","d":[{"e":2,"f":1}]},"b":1}',
    )
    await world.counted(1)
    expect(await world.usage()).to.deep.equal({ [world.tokens]: '5' })
  })

  it('takes an Idempotency-Key for the whole request', async () => {
    const headers = { 'Idempotency-Key': randomUUID() }
    const events = [
      { metric_id: world.tokens, quantity: '1' },
      { metric_id: world.tokens, quantity: '1' },
    ]
    const first = await world.reportAll(events, headers)
    expect(first.status).to.equal(202)
    expect(new Set(first.body.event_ids).size).to.equal(2)
    expect((await world.reportAll(events, headers)).status).to.equal(409)
    const refused = { 'Idempotency-Key': randomUUID() }
    expect((await world.report({ quantity: '1' }, refused)).status).to.equal(422)
    expect((await world.report({ quantity: '1', metric_id: world.tokens }, refused)).status).to.equal(202)
    await world.counted(3)
    expect(await world.usage()).to.deep.equal({ [world.tokens]: '3' })
  })

  it('counts what comes with one Idempotency-Key on two routes, each for itself', async () => {
    const headers = { 'Idempotency-Key': randomUUID() }
    const at = { metric_id: world.tokens, occurred_at: now - 60 }
    const single = await world.report({ ...at, quantity: '1' }, headers)
    const batch = await world.reportAll([{ ...at, quantity: '4' }], headers)
    expect([single.status, batch.status]).to.deep.equal([202, 202])
    expect(batch.body.event_ids).not.to.include(single.body.id)
    await world.counted(2)
    expect(await world.usage()).to.deep.equal({ [world.tokens]: '5' })
  })

  it('gives requests with one Idempotency-Key that race the same events', async () => {
    const headers = { 'Idempotency-Key': randomUUID() }
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => world.report({ quantity: '1', metric_id: world.tokens }, headers)),
    )
    const ids = answers.filter(({ status }) => status === 202).map(({ body }) => body.id)
    expect(ids.length).to.be.at.least(1)
    expect(new Set(ids).size).to.equal(1)
    expect(answers.every(({ status }) => status === 202 || status === 409)).to.equal(true)
  })

  it('takes gzip, and counts the bytes it inflates to', async () => {
    const event = { account_id: world.account, metric_id: world.tokens, quantity: '2' }
    expect((await api.post('/v2/events', undefined, gzipped(event))).status).to.equal(202)
    const bomb = gzipSync(Buffer.alloc(1_000_000_000 / 100, ' '))
    const answer = await api.post('/v2/events', undefined, {
      raw: bomb,
      headers: { 'content-encoding': 'gzip' },
    })
    expect(answer.status).to.equal(413)
    const broken = await api.post('/v2/events', undefined, {
      raw: 'x',
      headers: { 'content-encoding': 'gzip' },
    })
    expect(broken.status).to.equal(400)
    const brotli = await api.post('/v2/events', undefined, {
      raw: 'x',
      headers: { 'content-encoding': 'br' },
    })
    expect(brotli.status).to.equal(415)
  })

  it('stops reading a body that is too long, and serves others meanwhile', async () => {
    const status = await new Promise<number>((resolve, reject) => {
      const upload = request(`${tally.url}/v2/events`, {
        method: 'POST',
        headers: {
          'x-api-key': tally.key,
          'content-type': 'application/json',
          'transfer-encoding': 'chunked',
        },
      })
      upload.on('response', (response) => {
        resolve(response.statusCode ?? 0)
        upload.destroy()
      })
      upload.on('error', reject)
      const chunk = Buffer.alloc(64 * 1_024, ' ')
      const pour = () => {
        while (!upload.destroyed) if (!upload.write(chunk)) break
      }
      upload.on('drain', pour)
      pour()
    })
    expect(status).to.equal(413)
    expect((await world.report({ quantity: '1', metric_id: world.tokens })).status).to.equal(202)
  })
})
