import { expect } from 'chai'
import { DomainError } from '../../shared/errors/domain-error.ts'
import { inNamespace } from '../../shared/postgres/core/transaction.ts'
import { eventRevisionRepository } from '../../shared/postgres/event-revisions.ts'
import type { ApiClient } from '../support/api-client.ts'
import { until } from '../support/until.ts'
import { type EventBody, makeWorld } from '../support/usage-world.ts'
import { startWholeStage, type WholeStage } from './whole-stage.ts'

type Corrected = EventBody & { corrected_at?: number; voided_at?: number }

interface Revision {
  revision: number
  api_key_id: string | null
  event: Corrected
}

const NO_EVENT = `event_65565c9f${'0'.repeat(24)}`
const now = Math.floor(Date.now() / 1_000)

describe('correcting usage over HTTP', function () {
  this.timeout(60_000)
  let stage: WholeStage
  let api: ApiClient
  let namespaceId: string
  let keyId: string
  let world: Awaited<ReturnType<typeof makeWorld>>

  before(async () => {
    stage = await startWholeStage('corrections', { lookUpTimeoutMs: 1_500 })
  })
  after(() => stage.close())

  beforeEach(async () => {
    ;({ api, namespaceId, keyId } = await stage.newCaller())
    world = await makeWorld(api)
  })

  const append = (...given: Parameters<WholeStage['eventLog']['append']>) => stage.eventLog.append(...given)
  afterEach(async () => {
    stage.log.append = append
    await stage.letLoaderGoOn()
  })

  const reportOne = async (fields: object = {}): Promise<string> =>
    (await world.report({ metric_id: world.tokens, quantity: '5', ...fields })).body.id
  const patch = (id: string, body: object) => api.patch<Corrected>(`/v2/events/${id}`, body)
  const voidIt = (id: string) => api.post<Corrected>(`/v2/events/${id}/void`, {})
  const correctAll = (corrections: readonly object[]) =>
    api.post<{ corrected: number; event_ids: string[] }>('/v2/events/corrections', { corrections })
  const revisionsOf = async (id: string): Promise<Revision[]> =>
    (await api.get<{ data: Revision[] }>(`/v2/events/${id}/revisions`)).body.data
  /** Waits until usage is as expected. */
  const expectUsage = async (expected: Record<string, string>) => {
    await stage.loaded()
    expect(await world.usage()).to.deep.equal(expected)
  }

  it('replaces what is named, keeps the rest, and is seen by its caller at once', async () => {
    const id = await reportOne({ properties: { model: 'large', n: 1 }, occurred_at: now - 100 })
    const before = (await api.get<Corrected>(`/v2/events/${id}`)).body
    expect(before).to.include({ id, quantity: '5' }).and.not.to.have.any.keys('corrected_at', 'voided_at')
    await stage.holdLoader()
    const begunAt = Math.floor(Date.now() / 1_000)
    const first = await patch(id, { quantity: '007.50' })
    expect(first.status, first.text).to.equal(202)
    expect(first.body).to.deep.equal({
      ...before,
      quantity: '7.5',
      corrected_at: first.body.corrected_at,
    })
    expect(first.body.corrected_at).to.be.within(begunAt - 1, begunAt + 60)
    const second = await patch(id, { properties: { model: 'small' } })
    expect(second.body).to.deep.include({ quantity: '7.5', properties: { model: 'small' } })
    expect((await api.get(`/v2/events/${id}`)).body).to.deep.equal(second.body)
    await stage.letLoaderGoOn()
    await expectUsage({ [world.tokens]: '7.5' })
    const listed = await until(async () => {
      const { data } = (await api.get<{ data: Corrected[] }>('/v2/events')).body
      return data.length > 0 && data
    })
    expect(listed).to.deep.equal([second.body])
  })

  it('takes a void event out of every answer for good, and leaves it in the list', async () => {
    const report = { occurred_at: now - 50, idempotency_key: 'k' }
    const id = await reportOne(report)
    await reportOne({ quantity: '1' })
    const begunAt = Math.floor(Date.now() / 1_000)
    const voided = await voidIt(id)
    expect(voided.status, voided.text).to.equal(202)
    expect(voided.body.voided_at)
      .to.equal(voided.body.corrected_at)
      .and.to.be.within(begunAt - 1, begunAt + 60)
    await expectUsage({ [world.tokens]: '1' })
    const again = await voidIt(id)
    expect([again.status, again.body]).to.deep.equal([202, voided.body])
    expect(await revisionsOf(id)).to.have.length(2)
    const late = await patch(id, { quantity: '9' })
    expect([late.status, late.text]).to.deep.equal([
      409,
      'event_id: this event was voided, which cannot be taken back',
    ])
    const same = await patch(id, { quantity: '5' })
    expect(same.status).to.equal(409)
    expect(await reportOne(report)).to.equal(id)
    await expectUsage({ [world.tokens]: '1' })
    expect((await api.get(`/v2/events/${id}`)).body).to.deep.equal(voided.body)
    const listed = await until(async () => {
      const { data } = (await api.get<{ data: Corrected[] }>('/v2/events')).body
      return data.length === 2 && data
    })
    expect(listed.find((event) => event.id === id)).to.deep.equal(voided.body)
  })

  it('keeps what an event was, with the key that changed it, on pages', async () => {
    const id = await reportOne()
    expect((await revisionsOf(id)).map(({ revision }) => revision)).to.deep.equal([0])
    for (const quantity of ['6', '7']) await patch(id, { quantity })
    await voidIt(id)
    const revisions = await revisionsOf(id)
    expect(
      revisions.map(({ revision, api_key_id: key, event }) => [revision, key, event.quantity]),
    ).to.deep.equal([
      [0, null, '5'],
      [1, keyId, '6'],
      [2, keyId, '7'],
      [3, keyId, '7'],
    ])
    expect(revisions.map(({ event }) => event.voided_at !== undefined)).to.deep.equal([
      ...[false, false, false],
      true,
    ])
    const paged: Revision[] = []
    for (let hasMore = true; hasMore;) {
      const last = paged.at(-1)
      const after = last === undefined ? '' : `&starting_after=${last.revision}`
      const page = await api.get<{ data: Revision[]; has_more: boolean }>(
        `/v2/events/${id}/revisions?limit=2${after}`,
      )
      paged.push(...page.body.data)
      hasMore = page.body.has_more
    }
    expect(paged).to.deep.equal(revisions)
    const wrong = await api.get(`/v2/events/${id}/revisions?starting_after=9`)
    expect([wrong.status, wrong.text]).to.deep.equal([400, 'starting_after: this event has no such revision'])
  })

  it('is harmless when it is sent again, and makes no revision that changes nothing', async () => {
    const id = await reportOne()
    const unchanged = await patch(id, { quantity: '5.0' })
    expect(unchanged.status).to.equal(202)
    expect(unchanged.body).not.to.have.property('corrected_at')
    const first = await patch(id, { quantity: '6' })
    const again = await patch(id, { quantity: '6' })
    expect(again.body).to.deep.equal(first.body)
    expect(await revisionsOf(id)).to.have.length(2)
  })

  it('holds both of two corrections of different fields, however they race, and counts what the last revision says', async () => {
    for (let round = 0; round < 8; round++) {
      const id = await reportOne({ properties: { a: 1 }, occurred_at: now - 100 })
      await stage.loaded() // otherwise each correction would wait for that, and give up on a slow machine
      const answers = await Promise.all([
        ...Array.from({ length: 4 }, (_, n) => patch(id, { quantity: String(10 + n) })),
        ...Array.from({ length: 4 }, (_, n) => patch(id, { properties: { a: 10 + n } })),
      ])
      expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([202]))
      const revisions = await revisionsOf(id)
      expect(revisions).to.have.length(9)
      const { event: last } = revisions.at(-1) as Revision
      expect(last.quantity).to.match(/^1[0-3]$/)
      expect(last.properties['a']).to.be.within(10, 13)
      await stage.loaded()
      const byProperty = async () => {
        const { body } = await api.get<{ data: { quantity: string }[] }>(
          `/v2/events/aggregate?property=a&value=${String(last.properties['a'])}`,
        )
        return body.data.map(({ quantity }) => quantity)
      }
      expect(await byProperty()).to.deep.equal([last.quantity])
      await voidIt(id)
      await stage.loaded()
      expect(await byProperty(), 'once it is void').to.deep.equal([])
    }
  })

  it('corrects many events at once or none, whoever else does the same in another order', async () => {
    const { body } = await world.reportAll(
      Array.from({ length: 300 }, (_, n) => ({
        metric_id: world.tokens,
        quantity: '1',
        occurred_at: now - n,
      })),
    )
    const ids = body.event_ids
    const rounds = Array.from({ length: 6 }, (_, n) =>
      correctAll(
        (n % 2 === 0 ? ids : ids.toReversed()).map((id) => ({ event_id: id, quantity: String(n + 2) })),
      ),
    )
    for (const { status, text } of await Promise.all(rounds)) expect(status, text).to.equal(202)
    await stage.loaded()
    const last = await world.usage('&aggregation=min')
    expect(await world.usage('&aggregation=max')).to.deep.equal(last)
    expect(Number(last[world.tokens])).to.be.within(2, 7)
    const [first = '', second = ''] = ids
    await voidIt(second)
    const refused = await correctAll([
      { event_id: first, quantity: '99' },
      { event_id: second, quantity: '99' },
    ])
    expect([refused.status, refused.text]).to.deep.equal([
      409,
      'corrections[1].event_id: this event was voided, which cannot be taken back',
    ])
    expect((await api.get<Corrected>(`/v2/events/${first}`)).body.quantity).to.equal(last[world.tokens])
  })

  it('refuses what no report could have been either, by name, and writes nothing', async () => {
    const id = await reportOne()
    const huge = 'x'.repeat(17_000)
    const deep = { a: { b: { c: { d: { e: { f: { g: { h: {} } } } } } } } }
    for (const [body, status, reason] of [
      [{}, 422, /^quantity, properties: at least one of them is required$/],
      [{ quantity: '1e5' }, 400, /^quantity: "1e5" is not a plain decimal number/],
      [{ quantity: '0.0000000000000000001' }, 400, /^quantity: .* has 19 decimal places/],
      [{ quantity: 5 }, 400, /^quantity: must be text/],
      [{ properties: { huge } }, 400, /^properties: they take \d+ bytes/],
      [{ properties: deep }, 400, /^properties: they are nested deeper than 8/],
      [{ properties: { a: 'b\0' } }, 400, /^properties: they hold a NUL character/],
      [{ properties: null }, 400, /^properties: must be an object/],
      [{ occurred_at: 5 }, 400, /^occurred_at: is not a field of this request/],
    ] as const) {
      const answer = await patch(id, body)
      expect([answer.status, answer.text], JSON.stringify(body).slice(0, 80)).to.satisfy(
        ([got, text]: [number, string]) => got === status && reason.test(text),
      )
    }
    const lost = await api.request('PATCH', `/v2/events/${id}`, undefined, {
      raw: '{"properties":{"n":9007199254740993}}',
      headers: { 'content-type': 'application/json' },
    })
    expect(lost.text).to.match(/^properties: the number 9007199254740993 would lose digits/)
    const many = await correctAll([
      { event_id: id, quantity: '9' },
      { event_id: id, void: true },
      { event_id: NO_EVENT, quantity: '1', void: true },
    ])
    expect(many.status).to.equal(422)
    expect(many.text.split('\n')).to.deep.equal([
      'corrections[1].event_id: the same as corrections[0].event_id; a request can correct an event only once',
      'corrections[2].void: cannot be combined with quantity or properties',
    ])
    const malformed = await correctAll([
      { event_id: id, quantity: 'x' },
      { event_id: 'y' },
      { event_id: id, void: false },
    ])
    expect(malformed.status).to.equal(400)
    expect(malformed.text).to.match(
      /^corrections\[0\]\.quantity: .*\ncorrections\[1\]\.event_id: .*\ncorrections\[2\]\.void: must be true, or left out$/,
    )
    expect((await correctAll([])).text).to.equal('corrections: must not be empty')
    expect(
      (await correctAll(Array.from({ length: 1_001 }, () => ({ event_id: id, void: true })))).status,
    ).to.equal(400)
    expect(await revisionsOf(id)).to.have.length(1)
  })

  it('knows no event that nobody reported, and none of another company', async () => {
    const id = await reportOne()
    const stranger = (await stage.newCaller()).api
    for (const [who, of] of [
      [api, NO_EVENT],
      [stranger, id],
    ] as const) {
      const answers = [
        await who.get(`/v2/events/${of}`),
        await who.get(`/v2/events/${of}/revisions`),
        await who.patch(`/v2/events/${of}`, { quantity: '1' }),
        await who.post(`/v2/events/${of}/void`, {}),
      ]
      expect(answers.map(({ status }) => status)).to.deep.equal([404, 404, 404, 404])
      const batch = await who.post('/v2/events/corrections', { corrections: [{ event_id: of, void: true }] })
      expect([batch.status, batch.text]).to.deep.equal([
        422,
        'corrections[0].event_id: there is no such event',
      ])
    }
    await patch(id, { quantity: '6' })
    expect((await stranger.get(`/v2/events/${id}/revisions`)).status).to.equal(404)
    expect((await stranger.patch(`/v2/events/${id}`, { quantity: '1' })).status).to.equal(404)
  })

  it('waits for an event that was reported a moment ago, and says 503 when it is not loaded in time', async () => {
    await stage.holdLoader()
    const id = await reportOne()
    for (const answer of [
      await patch(id, { quantity: '6' }),
      await api.get(`/v2/events/${id}`),
      await patch(NO_EVENT, { quantity: '6' }),
    ]) {
      expect(answer.status).to.equal(503)
      expect(answer.text).to.match(/not loaded yet/)
      expect(answer.headers.get('retry-after')).to.equal('1')
    }
    const waiting = [patch(id, { quantity: '6' }), api.get<Corrected>(`/v2/events/${id}`)]
    await stage.letLoaderGoOn()
    const [corrected, got] = await Promise.all(waiting)
    expect([corrected?.status, corrected?.text.includes('"6"'), got?.status]).to.deep.equal([202, true, 200])
    expect(await revisionsOf(id)).to.have.length(2)
  })

  it('keeps a correction that the log did not take, and counts it once the log is back', async () => {
    const id = await reportOne()
    await world.counted(1)
    stage.log.append = () => Promise.reject(new DomainError('unavailable', 'the event log cannot be reached'))
    const failed = await patch(id, { quantity: '6' })
    expect([failed.status, failed.headers.get('retry-after')]).to.deep.equal([503, '1'])
    expect((await api.get<Corrected>(`/v2/events/${id}`)).body.quantity).to.equal('6')
    stage.log.append = append
    // The relay sends the correction without a repeat.
    await until(async () => (await world.usage())[world.tokens] === '6')
    // A repeat of the request makes no second revision.
    stage.log.append = () => Promise.reject(new DomainError('overloaded', 'too much'))
    expect((await voidIt(id)).status).to.equal(503)
    stage.log.append = append
    const again = await voidIt(id)
    expect(again.status).to.equal(202)
    await stage.loaded()
    expect(await world.usage()).to.deep.equal({})
    expect(await revisionsOf(id)).to.have.length(3)
  })

  it('gives each correction a later time than the one before, even when the clock stands still or goes back', async () => {
    const id = await reportOne()
    await patch(id, { quantity: '6' })
    const ahead = (now + 3_600) * 1_000_000
    await inNamespace(stage.db.pool, namespaceId, async (db) => {
      const revisions = eventRevisionRepository(db)
      const newest = (await revisions.listNewest(namespaceId, [id])).get(id)
      if (newest === undefined) throw new Error('no revision')
      const event = { ...newest.event, correctedAt: ahead, quantity: '7' }
      await revisions.insert(namespaceId, [{ revision: 2, event, keyId }])
    })
    const late = await patch(id, { quantity: '8' })
    expect(late.body).to.include({ quantity: '8', corrected_at: now + 3_600 })
    const { rows } = await inNamespace(stage.db.pool, namespaceId, (db) =>
      db.query<{ corrected_at: string }>(
        'SELECT corrected_at FROM event_revisions ORDER BY revision DESC LIMIT 1',
      ),
    )
    expect(Number(rows[0]?.corrected_at)).to.equal(ahead + 1)
    await expectUsage({ [world.tokens]: '8' })
  })
})
