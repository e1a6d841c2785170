import { expect } from 'chai'
import { ApiClient } from '../../support/api-client.ts'
import type { PreviewBody } from '../../support/billing-over-http.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'
import type { EventBody, SourceUsage } from '../../support/usage-world.ts'

interface Seeded {
  seed: number
  up_to: number
  customer_ids: string[]
  account_ids: string[]
  metric_ids: string[]
  grant_ids: string[]
  contract_id: string
  events: number
}

interface Page<T> {
  data: T[]
  has_more: boolean
}

const DAY_S = 86_400

describe('the world that a seed makes up', function () {
  this.timeout(120_000)
  let tally: TallyUnderTest
  let api: ApiClient

  before(async () => {
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.testKey)
  })
  beforeEach(() => api.create('/v2/test/reset', {}))
  after(() => tally.end())

  const plant = async (seed?: number) => {
    const seeded = await api.create<Seeded>('/v2/test/seed', seed === undefined ? undefined : { seed })
    await api.create('/v2/test/drain', {})
    return seeded
  }
  const list = async <T>(path: string): Promise<T[]> => (await api.get<Page<T>>(path)).body.data

  /** Reads all data of a world, without ids and times. */
  const lookAt = async (seeded: Seeded) => {
    const {
      account_ids: accountIds,
      metric_ids: metricIds,
      contract_id: contractId,
      up_to: upTo,
      events,
    } = seeded
    const nameOf = (id: string | null, currency: string | null) =>
      id === null ? currency : metricIds.indexOf(id)
    const usage = []
    for (const id of accountIds) {
      const range = `start_at=${upTo - 90 * DAY_S}&end_at=${upTo}`
      for (const aggregation of ['sum', 'count', 'latest']) {
        const { body } = await api.get<{ events_consumed: SourceUsage[] }>(
          `/v2/accounts/${id}/usage?${range}&aggregation=${aggregation}`,
        )
        usage.push(body.events_consumed.map((line) => [nameOf(line.metric_id, line.currency), line.quantity]))
      }
    }
    const { body: balances } = await api.get<Page<Record<string, string | null>>>(
      `/v2/accounts/balances?account_ids=${accountIds.join(',')}`,
    )
    const grants = await list<Record<string, string | number>>('/v2/grants')
    const preview = await api.create<PreviewBody>('/v2/invoice-previews', {
      contract_id: contractId,
      at: upTo - 45 * DAY_S,
    })
    return {
      invoice: preview.lines.map(({ value, quantity, amount, price: { model } }) => [
        model,
        value,
        quantity,
        amount,
      ]),
      total: preview.total,

      events,
      usage,
      balances: balances.data.map(({ grant_total: granted, usage_total: used, balance }) => [
        granted,
        used,
        balance,
      ]),
      customers: (await list<{ name: string; external_id: string }>('/v2/customers')).map(
        ({ name, external_id: externalId }) => [name, externalId],
      ),
      accounts: (await list<{ name: string; external_id: string }>('/v2/accounts')).map(
        ({ name, external_id: externalId }) => [name, externalId],
      ),
      metrics: (await list<{ name: string; measurement_units: string }>('/v2/metrics')).map(
        ({ name, measurement_units: units }) => [name, units],
      ),
      grants: grants.map(({ amount, description, status, effective_at: at }) => [
        amount,
        description,
        status,
        Number(at) - upTo,
      ]),
      refills: (await list<Record<string, unknown>>('/v2/refill-configurations')).map(
        ({ minimum_balance: minimum, target_balance: target, is_active: isActive }) => [
          minimum,
          target,
          isActive,
        ],
      ),
    }
  }

  it('is the same for the same seed in an empty company, whatever its clock shows', async () => {
    const first = await plant(7)
    const seen = await lookAt(first)
    expect(seen.customers).to.have.length(3)
    expect(seen.accounts).to.have.length(7)
    expect(seen.metrics).to.have.length(2)
    expect(new Set(seen.grants.map(([, , status]) => status))).to.deep.equal(
      new Set(['active', 'expired', 'scheduled']),
    )
    // In an order that follows from ids.
    expect(seen.invoice.map(([model, value]) => [model, value])).to.have.deep.members([
      ['flat', null],
      ['per_unit', 'large'],
      ['graduated', null],
      ['package', null],
    ])
    expect(Number(seen.total)).to.be.greaterThan(10)
    expect(seen.refills).to.deep.equal([['10000', '250000', false]])
    expect(first.events).to.be.within(1_500, 3_000)
    const counted = seen.usage.filter((_, n) => n % 3 === 1).flat()
    expect(counted.reduce((sum, [, count]) => sum + Number(count), 0)).to.equal(first.events)
    await api.create('/v2/test/reset', {})
    await api.create('/v2/test/clock/advance', { seconds: 400 * DAY_S + 4_321 })
    const second = await plant(7)
    expect(second.up_to - first.up_to).to.be.within(400 * DAY_S, 400 * DAY_S + 10_000)
    const seenAgain = await lookAt(second)
    expect(seenAgain.invoice).to.have.deep.members(seen.invoice)
    expect({ ...seenAgain, invoice: seen.invoice }).to.deep.equal(seen)
    expect(second.account_ids).not.to.deep.equal(first.account_ids)
  })

  it('has usage in the 90 days before the clock’s now, and none elsewhere', async () => {
    const { up_to: upTo, events, account_ids: accountIds } = await plant()
    const { body: clock } = await api.get<{ now: number }>('/v2/test/clock')
    expect(upTo).to.be.within(clock.now - 30, clock.now)
    const { body } = await api.get<{
      data: { period_start_at: number; data: { quantity: string }[] }[]
    }>(
      `/v2/accounts/${accountIds[0] ?? ''}/usage/daily?start_at=${upTo - 90 * DAY_S}&end_at=${upTo}&aggregation=count`,
    )
    const days = body.data.map(({ data }) => data.reduce((sum, { quantity }) => sum + Number(quantity), 0))
    expect(days.length).to.be.within(90, 91)
    // Few days have no usage. Which ones depends on the position of midnight in the generated usage.
    expect(days.slice(1, -1).filter((count) => count === 0)).to.have.length.at.most(2)
    const page = await list<EventBody>('/v2/events?limit=1')
    expect(page).to.have.length.at.most(1)
    const all = await Promise.all(
      accountIds.map(async (id) => {
        const { body } = await api.get<{ events_consumed: SourceUsage[] }>(
          `/v2/accounts/${id}/usage?start_at=0&end_at=4294967295&aggregation=count`,
        )
        return body.events_consumed.reduce((sum, { quantity }) => sum + Number(quantity), 0)
      }),
    )
    expect(all.reduce((sum, count) => sum + count, 0)).to.equal(events)
  })

  it('is made once, however often it is asked for, and at once', async () => {
    const answers = await Promise.all([plant(3), plant(3), plant(3)])
    for (const answer of answers) expect(answer).to.deep.equal(answers[0])
    const seen = await lookAt(await plant(3))
    await api.create('/v2/test/clock/advance', { seconds: 5 * DAY_S })
    const again = await plant(3)
    expect(again).to.deep.equal(answers[0])
    const counts = (await lookAt(again)).usage
    expect(counts).to.deep.equal(seen.usage)
  })

  it('stands beside the world of another seed', async () => {
    const one = await plant(1)
    const alone = await lookAt(one)
    const two = await plant(2)
    const both = await lookAt(one)
    expect(both.usage).to.deep.equal(alone.usage)
    expect(both.accounts).to.have.length(14)
    expect((await lookAt(two)).usage).not.to.deep.equal(alone.usage)
  })

  it('is a conflict when its usage lies in a future that the clock has left, or its external ids are taken', async () => {
    await api.create('/v2/test/clock/advance', { seconds: 200 * DAY_S })
    await plant(5)
    await api.request('DELETE', '/v2/test/clock', undefined, {})
    const left = await api.post('/v2/test/seed', { seed: 5 })
    expect([left.status, left.text]).to.deep.equal([
      409,
      'seed: the usage of 5 was made at another time and now lies more than five minutes ahead',
    ])
    await api.create('/v2/customers', { name: 'mine', external_id: 'seed-6-customer-1' })
    expect((await api.post('/v2/test/seed', { seed: 6 })).status).to.equal(409)
    expect((await api.get('/v2/accounts/external-id/seed-6-account-1')).status).to.equal(404)
  })

  it('is for test companies, by whole numbers', async () => {
    const live = await new ApiClient(tally.url, tally.key).post('/v2/test/seed', { seed: 1 })
    expect([live.status, live.text]).to.deep.equal([
      403,
      'only for test companies: this key belongs to a live company',
    ])
    for (const seed of [-1, 1.5, '7', 2 ** 32]) {
      const { status, text } = await api.post('/v2/test/seed', { seed })
      expect([status, text.startsWith('seed: ')], text).to.deep.equal([400, true])
    }
  })
})
