import { expect } from 'chai'
import { ApiClient } from '../support/api-client.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../support/tally-under-test.ts'
import { until } from '../support/until.ts'
import { type EventBody, makeWorld } from '../support/usage-world.ts'

interface Taken {
  accepted: number
  event_ids: string[]
}

const ONE = { 'content-type': 'application/cloudevents+json' }
const LIST = { 'content-type': 'application/cloudevents-batch+json; charset=utf-8' }

describe('CloudEvents, from the request to the balance', function () {
  this.timeout(60_000)
  let tally: TallyUnderTest
  let api: ApiClient
  let world: Awaited<ReturnType<typeof makeWorld>>

  before(async () => {
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.key)
    world = await makeWorld(api)
    await api.patch(`/v2/metrics/${world.tokens}`, { event_type: 'model.called', event_quantity: 'tokens' })
    await api.patch(`/v2/metrics/${world.calls}`, { event_type: 'model.called' })
    await api.patch(`/v2/accounts/${world.account}`, { external_id: 'acme' })
  })
  after(() => tally.end())

  const event = (fields: object = {}) => ({
    specversion: '1.0',
    id: '1',
    source: '/gateway/eu',
    type: 'model.called',
    subject: 'acme',
    time: new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000).toISOString(),
    data: { tokens: 12.5, model: 'large' },
    ...fields,
  })
  const others = [
    event({ id: '2', data: { tokens: '0.000000000000000001' } }),
    event({ source: '/gateway/us', data: { tokens: 1e-7 } }),
    event({ type: 'currency:USD', data: { quantity: '3.5' } }),
  ]

  it('count once for each metric of their type, however often they are sent, and are corrected by their ids', async () => {
    let ids: string[] = []
    for (let attempt = 0; attempt < 3; attempt++) {
      const { body } = await api.post<Taken>('/v2/events', event(), { headers: ONE })
      const batch = await api.post<Taken>('/v2/events/batch', [event(), ...others], { headers: LIST })
      expect(body.accepted).to.equal(2)
      expect(batch.body.accepted).to.equal(7)
      expect(batch.body.event_ids.slice(0, 2)).to.deep.equal(body.event_ids)
      ids = body.event_ids
    }
    await world.counted(7)
    const usd = { usd: '3.5' }
    expect(await world.usage()).to.deep.equal({
      [world.tokens]: '12.500000100000000001',
      [world.calls]: '3',
      ...usd,
    })
    const [tokensId = '', callsId = ''] = ids
    const { body: stored } = await api.get<EventBody>(`/v2/events/${tokensId}`)
    expect(stored).to.deep.include({ quantity: '12.5', properties: { model: 'large', tokens: 12.5 } })

    expect((await api.patch(`/v2/events/${tokensId}`, { quantity: '2' })).status).to.equal(202)
    expect((await api.post(`/v2/events/${callsId}/void`, {})).status).to.equal(202)
    await api.create('/v2/events', event(), { headers: ONE }) // a late retry brings nothing back
    const { body } = await api.get<{ data: { event: EventBody }[] }>(`/v2/events/${tokensId}/revisions`)
    expect(body.data.map(({ event: { quantity } }) => quantity)).to.deep.equal(['12.5', '2'])
    expect((await api.get<EventBody>(`/v2/events/${callsId}`)).body).to.have.property('voided_at')
    // A correction counts within moments of its answer.
    await until(async () => {
      const { usage_total: used } = await world.balance(`metric_id=${world.tokens}`)
      return used === '2.000000100000000001'
    })
    await world.counted(6)
  })

  it('are taken on OpenMeter’s path with its header for keys', async () => {
    const { key, url } = tally
    const send = (body: object, headers: Record<string, string> = {}) =>
      fetch(`${url}/openmeter/api/v1/events`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
    const euro = event({ id: 'openmeter', type: 'currency:eur', data: { quantity: '1.5' } })
    for (const [body, headers] of [
      [euro, {}],
      [[euro, euro], {}],
      [euro, ONE],
      [[euro], LIST],
    ] as const) {
      const answer = await send(body, headers)
      expect([answer.status, await answer.text()]).to.deep.equal([204, ''])
    }
    expect((await send(euro, { 'x-api-key': key })).status).to.equal(401)
    expect(
      (await fetch(`${url}/openmeter/api/v1/events`, { headers: { 'x-api-key': key } })).status,
    ).to.equal(404)
    const isCounted = async () => (await world.usage('&currency=eur&aggregation=count'))['eur'] !== undefined
    await until(isCounted)
    expect((await world.usage())['eur']).to.equal('1.5')
  })

  it('take a key in Authorization like every other operation, and say nothing of it', async () => {
    const answers = await Promise.all(
      (['/v2/metrics', '/v2/caller'] as const).map((path) =>
        fetch(tally.url + path, { headers: { authorization: `bearer ${tally.key}` } }),
      ),
    )
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200])
    const native = { account_id: world.account, currency: 'gbp', quantity: '1' }
    const reported = await new ApiClient(tally.url, undefined).post('/v2/events', native, {
      headers: { authorization: `Bearer ${tally.key}` },
    })
    expect(reported.status).to.equal(202)
    const both = { authorization: `Bearer ${tally.key}` }
    expect((await api.get('/v2/metrics', { headers: both })).status).to.equal(401)
    expect((await api.post('/v2/events', native, { headers: both })).status).to.equal(401)
    expect(await tally.output()).not.to.contain(tally.key)
  })
})
