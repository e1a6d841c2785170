import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { ApiClient } from '../../support/api-client.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'
import { until } from '../../support/until.ts'
import { makeWorld } from '../../support/usage-world.ts'

interface Clock {
  now: number
  real_now: number
}

interface Caller extends Clock {
  company: { mode: string }
  namespace_id: string
}

const DAY_S = 86_400
const YEAR_S = 366 * DAY_S

describe('the clock of a test company', function () {
  this.timeout(120_000)
  let tally: TallyUnderTest
  let api: ApiClient
  let live: ApiClient
  let world: Awaited<ReturnType<typeof makeWorld>>

  before(async () => {
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.testKey)
    live = new ApiClient(tally.url, tally.key)
  })
  beforeEach(async () => {
    await api.create('/v2/test/reset', {})
    world = await makeWorld(api)
  })
  after(() => tally.end())

  const shown = async () => (await api.get<Clock>('/v2/test/clock')).body
  const set = (now: number) => api.request<Clock>('PUT', '/v2/test/clock', { now }, {})
  const advance = (seconds: number, headers: Record<string, string> = {}) =>
    api.post<Clock>('/v2/test/clock/advance', { seconds }, { headers })
  const back = () => api.request<Clock>('DELETE', '/v2/test/clock', undefined, {})
  const grant = (fields: object) =>
    api.create<{ id: string; status: string }>('/v2/grants', {
      account_id: world.account,
      currency: 'usd',
      amount: '10',
      ...fields,
    })
  const statusOf = async (id: string) => (await api.get<{ status: string }>(`/v2/grants/${id}`)).body.status

  it('shows real time, then what it was set or moved to and on from there, then real time again', async () => {
    const first = await shown()
    expect(first.now).to.equal(first.real_now)
    const { status, body } = await set(first.now + YEAR_S)
    expect([status, body.now]).to.deep.equal([200, first.now + YEAR_S])
    expect((await shown()).now).to.be.within(first.now + YEAR_S, first.now + YEAR_S + 30)
    const moved = await advance(DAY_S)
    expect(moved.body.now - moved.body.real_now).to.be.within(YEAR_S + DAY_S - 30, YEAR_S + DAY_S + 1)
    const returned = await back()
    expect([returned.status, returned.body.now]).to.deep.equal([200, returned.body.real_now])
    expect((await shown()).now).to.be.within(first.now, first.now + 60)
  })

  it('is told to whoever asks whose a key is', async () => {
    const real = await api.get<Caller>('/v2/caller')
    expect(real.body.now).to.equal(real.body.real_now)
    await advance(YEAR_S)
    const { body } = await api.get<Caller>('/v2/caller')
    expect(body.now - body.real_now).to.equal(YEAR_S)
    const others = await live.get<Caller>('/v2/caller')
    expect(others.body.now).to.equal(others.body.real_now)
    expect([body.company.mode, others.body.company.mode]).to.deep.equal(['test', 'live'])
    await api.create('/v2/test/reset', {})
    const after = await api.get<Caller>('/v2/caller')
    expect(after.body.company).to.deep.equal(body.company)
    expect(after.body.namespace_id).not.to.equal(body.namespace_id)
  })

  it('goes forward only, and ten years at most', async () => {
    const { now } = await shown()
    await set(now + DAY_S)
    const backwards = await set(now + DAY_S - 60)
    expect([backwards.status, backwards.text]).to.satisfy(
      ([status, text]: [number, string]) =>
        status === 422 && /^now: the clock shows \d+ and goes forward only/.test(text),
    )
    const far = await set(now + 11 * YEAR_S)
    expect([far.status, far.text]).to.deep.equal([
      422,
      'now: the clock may be at most ten years ahead of real time',
    ])
    for (let years = 0; years < 9; years++) expect((await advance(YEAR_S)).status).to.equal(200)
    expect([(await advance(YEAR_S)).status, (await shown()).now > now + 9 * YEAR_S]).to.deep.equal([
      422,
      true,
    ])
    expect((await set(2 ** 32)).status, 'a time that no event can have').to.equal(422)
  })

  it('is moved once by an Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': 'one day' }
    const { body } = await advance(DAY_S, headers)
    expect((await advance(DAY_S, headers)).status).to.equal(409)
    expect((await shown()).now).to.be.within(body.now, body.now + 30)
  })

  it('decides which grants have begun, which are over, and what counts in balances', async () => {
    const { now } = await shown()
    const current = await grant({ effective_at: now - DAY_S, expires_at: now + DAY_S })
    const later = await grant({ effective_at: now + DAY_S, amount: '7' })
    expect([current.status, later.status]).to.deep.equal(['active', 'scheduled'])
    const totals = async () => {
      const [{ grant_total: one }, { body }] = [
        await world.balance('currency=usd'),
        await api.get<{ data: { currency: string | null; grant_total: string }[] }>(
          `/v2/accounts/balances?account_ids=${world.account}`,
        ),
      ]
      const [several] = body.data.filter(({ currency }) => currency === 'usd')
      return [one, several?.grant_total]
    }
    expect(await totals()).to.deep.equal(['10', '10'])
    await advance(2 * DAY_S)
    expect([await statusOf(current.id), await statusOf(later.id)]).to.deep.equal(['expired', 'active'])
    expect(await totals()).to.deep.equal(['7', '7'])
    const { body: listed } = await api.get<{ data: { status: string }[] }>('/v2/grants')
    expect(listed.data.map(({ status }) => status)).to.deep.equal(['expired', 'active'])
    const made = await grant({ effective_at: now + DAY_S + 60 })
    expect(made.status).to.equal('active')
    const voided = await api.create<{ status: string }>(`/v2/grants/${later.id}/void`, {})
    expect(voided.status).to.equal('voided')
    await back()
    expect(await totals()).to.deep.equal(['10', '10'])
  })

  it('decides how far back and ahead usage may lie, and when usage without a time happened', async () => {
    const { now, real_now: realNow } = await shown()
    await advance(3 * YEAR_S)
    const early = await world.report({ currency: 'usd', quantity: '1', occurred_at: now - 3 * YEAR_S })
    expect([early.status, early.text]).to.deep.equal([422, 'occurred_at: lies more than five years back'])
    const ahead = now + 3 * YEAR_S
    const refused = await world.report({ currency: 'usd', quantity: '1', occurred_at: ahead + 600 })
    expect([refused.status, refused.text]).to.deep.equal([
      422,
      'occurred_at: lies more than five minutes ahead',
    ])
    const { status, body } = await world.report({ currency: 'usd', quantity: '2', occurred_at: ahead + 240 })
    expect(status).to.equal(202)
    expect(body.accepted_at, 'accepted in real time').to.be.within(realNow, realNow + 60)
    const timeless = await world.report({ currency: 'usd', quantity: '4' })
    expect(timeless.body.occurred_at).to.be.within(ahead, ahead + 60)
    const keyed = await world.reportAll([{ currency: 'usd', quantity: '8' }], { 'Idempotency-Key': 'k' })
    expect(keyed.status).to.equal(202)
    await world.counted(3)
    expect((await world.usage())['usd']).to.equal('14')
    expect((await world.balance('currency=usd')).usage_total).to.equal('14')
    const events = await api.get<{ data: { occurred_at: number }[] }>('/v2/events')
    expect(events.status).to.equal(200)
    await back()
    expect((await world.balance('currency=usd')).usage_total, 'it counts on').to.equal('14')
    const future = await world.report({ currency: 'usd', quantity: '1', occurred_at: ahead })
    expect(future.status).to.equal(422)
  })

  it('decides where ranges end that are not said', async () => {
    const { now } = await shown()
    await advance(2 * YEAR_S)
    const occurredAt = now + 2 * YEAR_S - 600
    await world.report({
      currency: 'usd',
      quantity: '3',
      occurred_at: occurredAt,
      properties: { model: 'large' },
    })
    await world.counted(1)
    const { body: found } = await api.get<{ data: { quantity: string }[] }>(
      '/v2/events/aggregate?property=model&value=large',
    )
    expect(found.data.map(({ quantity }) => quantity)).to.deep.equal(['3'])
    const { body: months } = await api.get<{
      data: { period_start_at: number; data: { quantity: string }[] }[]
    }>('/v2/metrics/usage/monthly')
    expect(months.data.at(-1)?.data.map(({ quantity }) => quantity)).to.deep.equal(['3'])
    expect(months.data.at(-1)?.period_start_at).to.be.within(occurredAt - 32 * DAY_S, occurredAt)
  })

  it('decides which grants a refill finds in force, and when the grant it makes is effective', async () => {
    const { now } = await shown()
    const ofMetric = { currency: undefined, metric_id: world.tokens }
    await grant({ ...ofMetric, effective_at: now - DAY_S, expires_at: now + DAY_S })
    await grant({ ...ofMetric, effective_at: now + 3 * DAY_S, amount: '20' })
    const key = { account_id: world.account, metric_id: world.tokens }
    await api.create('/v2/refill-configurations', { ...key, minimum_balance: '5', target_balance: '8' })
    const refills = async () => {
      const path = `/v2/refill-configurations/${world.account}/${world.tokens}/refills`
      return (await api.get<{ data: { amount: string; effective_at: number }[] }>(path)).body.data
    }
    await sleep(3_000)
    expect(await refills(), 'before the grant expires').to.deep.equal([])
    const { body: moved } = await advance(2 * DAY_S)
    const made = await until(async () => {
      const found = await refills()
      return found.length > 0 && found
    }, 5_000)
    expect(made.map(({ amount }) => amount)).to.deep.equal(['8'])
    expect(made[0]?.effective_at).to.be.within(moved.now, moved.now + 30)
    expect((await world.balance(`metric_id=${world.tokens}`)).balance).to.equal('8')
    await advance(2 * DAY_S)
    expect((await world.balance(`metric_id=${world.tokens}`)).balance, 'the later grant has begun').to.equal(
      '28',
    )
    await sleep(3_000)
    expect(await refills()).to.have.length(1)
  })

  it('is no concern of live companies', async () => {
    const answers = await Promise.all([
      live.get('/v2/test/clock'),
      live.request('PUT', '/v2/test/clock', { now: 4_000_000_000 }, {}),
      live.post('/v2/test/clock/advance', { seconds: 1 }),
      live.request('DELETE', '/v2/test/clock', undefined, {}),
      live.post('/v2/test/reset', {}),
      live.post('/v2/test/drain', {}),
    ])
    for (const { status, text } of answers)
      expect([status, text]).to.deep.equal([
        403,
        'only for test companies: this key belongs to a live company',
      ])
    const { id } = await live.create<{ id: string }>('/v2/accounts', { name: 'a' })
    await advance(YEAR_S)
    const { body } = await live.post<{ occurred_at: number; accepted_at: number }>('/v2/events', {
      account_id: id,
      currency: 'usd',
      quantity: '1',
    })
    expect(body.occurred_at).to.equal(body.accepted_at)
  })
})
