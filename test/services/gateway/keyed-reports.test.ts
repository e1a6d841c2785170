import { hash, randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { GATEWAY_POINTS, type GatewayPoint } from '../../../services/gateway/crash-points.ts'
import { reportListener } from '../../../services/gateway/report-listener.ts'
import { usageEventId } from '../../../shared/domain/usage-event.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { clock, NAMES, startGateway, type TestGateway } from './two-gateways.ts'

const SINGLE = '/v2/events'
const BATCH = '/v2/events/batch'
const HEADERS = { 'content-type': 'application/json', 'x-api-key': NAMES.keys.full }
const LATER_US = 90_000_000

/** Points before the key is used up, after which a repeat continues the report. */
const BEGUN: readonly GatewayPoint[] = ['gateway-keyed', 'gateway-appending', 'gateway-appended']

const event = (fields: object = {}) => ({
  account_id: NAMES.account,
  metric_id: NAMES.metric,
  quantity: '5',
  properties: { model: 'large', tags: { b: 1, a: 2 } },
  ...fields,
})
/** The content of event(), in the form of another JSON library. */
const turned = (fields: object = {}) => ({
  ...fields,
  properties: { tags: { a: 2, b: 1 }, model: 'large' },
  quantity: '05.0',
  metric_id: NAMES.metric,
  account_id: NAMES.account,
})

describe('reports with an Idempotency-Key', function () {
  this.timeout(60_000)
  let gateway: TestGateway
  let key: string

  before(async () => {
    gateway = await startGateway('keyed_reports', reportListener)
  })
  beforeEach(() => {
    key = randomUUID()
    gateway.takeLines()
    clock.at += LATER_US
  })
  after(() => gateway.stop())

  const send = async (path: string, body: object, requestKey = key) => {
    const { status, text } = await gateway.send({
      path,
      headers: { ...HEADERS, 'idempotency-key': requestKey },
      body: Buffer.from(JSON.stringify(body)),
    })
    return { status, text, ids: status === 202 ? idsOf(text) : [] }
  }
  const idsOf = (text: string): string[] => {
    const { id, event_ids } = JSON.parse(text) as { id?: string; event_ids?: string[] }
    return event_ids ?? [id ?? '']
  }
  /** The events that were appended since the last call, each once, by id and quantity. */
  const appended = (): Set<string> =>
    new Set(
      gateway
        .takeLines()
        .flatMap((lines) => [...lines.matchAll(/"event_id":"(event_\w+)","quantity":"([^"]+)"/g)])
        .map(([, id, quantity]) => `${id} ${quantity}`),
    )
  const setOf = (ids: readonly string[], quantities: readonly string[]) =>
    new Set(ids.map((id, n) => `${id} ${quantities[n]}`))

  for (const [path, quantities, one, same, other] of [
    [SINGLE, ['5'], event(), turned(), event({ quantity: '6' })],
    [
      BATCH,
      ['5', '1'],
      { events: [event(), event({ quantity: '1' })] },
      { events: [turned(), event({ quantity: '1.0' })] },
      { events: [event({ quantity: '1' }), event()] },
    ],
  ] as const)
    describe(`on ${path}`, () => {
      for (const point of ['gateway-accepted', ...BEGUN] as const)
        it(`that crashed (${point}) go on when they say the same, with the events of the first attempt`, async () => {
          gateway.crashAt(point)
          expect((await send(path, one)).status).to.equal(500)
          clock.at += LATER_US
          const again = await send(path, same)
          expect(again.status, again.text).to.equal(202)
          expect(appended()).to.deep.equal(setOf(again.ids, quantities))
          expect((await send(path, same)).status).to.equal(409)
        })

      for (const point of BEGUN)
        it(`that crashed (${point}) are not taken with another content, nor told as taken`, async () => {
          gateway.crashAt(point)
          expect((await send(path, one)).status).to.equal(500)
          const refused = await send(path, other)
          expect([refused.status, refused.text]).to.deep.equal([
            422,
            'Idempotency-Key: another request has begun with this key, and whether it counts is not known: nothing of ' +
              'this one was done, send that one again or this one with another key',
          ])
          const { status, ids } = await send(path, one)
          expect(status).to.equal(202)
          expect((await send(path, other)).status).to.equal(409)
          expect(appended()).to.deep.equal(setOf(ids, quantities))
        })

      it('are answered by name once they are done, whether somebody was told so or not', async () => {
        gateway.crashAt('gateway-completed')
        expect((await send(path, one)).status).to.equal(500)
        const [first = '', ...others] = [...appended()].map((line) => line.split(' ')[0] ?? '')
        const made = others.length === 0 ? first : `2 events, the first of them ${first}`
        const again = await send(path, same)
        expect([again.status, again.text]).to.deep.equal([
          409,
          `Idempotency-Key: this key was used before, for ${made}`,
        ])
        const differing = await send(path, other)
        expect([differing.status, differing.text]).to.deep.equal([
          409,
          `Idempotency-Key: this key was used before, for ${made}, with another content: nothing of this request was done`,
        ])
        expect(gateway.takeLines()).to.deep.equal([])
      })

      it('at once are one request when they say the same', async () => {
        const answers = await Promise.all(
          Array.from({ length: 8 }, (_, n) => send(path, n % 2 === 0 ? one : same)),
        )
        const taken = answers.filter(({ status }) => status === 202)
        expect(taken.length).to.be.at.least(1)
        expect(answers.every(({ status }) => status === 202 || status === 409)).to.equal(true)
        expect(appended()).to.deep.equal(setOf(taken[0]?.ids ?? [], quantities))
        expect(new Set(taken.map(({ ids }) => ids.join())).size).to.equal(1)
      })

      it('at once with different contents are taken as one of them, and refused as the other', async () => {
        const answers = await Promise.all(
          Array.from({ length: 8 }, (_, n) => send(path, n % 2 === 0 ? one : other)),
        )
        const taken = [0, 1].map((of) =>
          answers.filter(({ status }, n) => n % 2 === of && status === 202).map(({ ids }) => ids),
        )
        const won = taken.findIndex((ids) => ids.length > 0)
        expect(taken[1 - won], 'both contents were taken').to.deep.equal([])
        for (const { status, text } of answers.filter((answer) => answer.status !== 202))
          expect([409, 422], text).to.include(status)
        const lines = appended()
        expect(lines.size).to.equal(quantities.length)
        if (won === 0) expect(lines).to.deep.equal(setOf(taken[0]?.[0] ?? [], quantities))
      })
    })

  it('are of one route: the same key on the other gives other events', async () => {
    const occurred_at = Math.floor(clock.at / 1e6) - 5
    const single = await send(SINGLE, event({ occurred_at }))
    const batch = await send(BATCH, { events: [event({ occurred_at })] })
    expect([single.status, batch.status]).to.deep.equal([202, 202])
    expect(batch.ids).not.to.deep.equal(single.ids)
  })

  it('mean another thing by a time of their own, a key of an event, or another order', async () => {
    const occurred_at = Math.floor(clock.at / 1e6)
    const own = { occurred_at, idempotency_key: 'own' }
    for (const [one, other] of [
      [[event()], [event({ occurred_at })]],
      [[event({ occurred_at })], [event(own)]],
      [[event({ properties: { a: '1' } })], [event({ properties: { a: 1 } })]],
      [
        [event({ currency: 'usd', metric_id: undefined })],
        [event({ currency: 'eur', metric_id: undefined })],
      ],
      [
        [event(), event({ quantity: '1' })],
        [event({ quantity: '1' }), event()],
      ],
      [[event()], [event(), event()]],
    ] as const) {
      key = randomUUID()
      gateway.crashAt('gateway-keyed')
      expect((await send(BATCH, { events: one })).status).to.equal(500)
      expect((await send(BATCH, { events: other })).status, JSON.stringify(other)).to.equal(422)
    }
    key = randomUUID()
    gateway.crashAt('gateway-keyed')
    await send(SINGLE, event({ currency: 'USD', metric_id: undefined }))
    expect((await send(SINGLE, event({ currency: 'usd', metric_id: undefined }))).status).to.equal(202)
    key = randomUUID()
    gateway.crashAt('gateway-keyed')
    await send(SINGLE, event({ currency: null, occurred_at: null, properties: null }))
    const bare = event({ currency: undefined, occurred_at: undefined, properties: undefined })
    expect((await send(SINGLE, bare)).status, 'null, and left out').to.equal(202)
  })

  it('that began with an earlier version go on with the ids they had then, on either route', async () => {
    const { namespace, account, metric } = NAMES
    const second = Math.floor(clock.at / 1e6)
    for (const [path, body, count] of [
      [SINGLE, event(), 1],
      [BATCH, { events: [event(), event()] }, 2],
    ] as const) {
      key = randomUUID()
      await inNamespace(gateway.pool, namespace, (db) =>
        db.query(
          `INSERT INTO idempotency_keys (namespace_id, route, key, first_used_at, digest, form)
           VALUES ($1, $2, $3, to_timestamp($4), $5, 1)`,
          [namespace, `POST ${path}`, key, second, hash('sha256', JSON.stringify(body), 'buffer')],
        ),
      )
      clock.at += LATER_US
      const again = await send(path, body)
      expect(again.status, again.text).to.equal(202)
      expect(again.ids).to.deep.equal(
        Array.from({ length: count }, (_, index) =>
          usageEventId(namespace, account, metric, second, { kind: 'request', key, index }),
        ),
      )
      expect((await send(path, body)).status).to.equal(409)
    }
  })

  it('are crashed at every point that a report gets to', () => {
    const reports = GATEWAY_POINTS.slice(0, GATEWAY_POINTS.indexOf('gateway-correcting'))
    expect(['gateway-accepted', ...BEGUN, 'gateway-completed']).to.have.members([...reports])
  })
})
