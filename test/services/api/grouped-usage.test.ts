import { expect } from 'chai'
import { groupedUsage, type GroupedUsageQuery } from '../../../services/api/usage/grouped-usage.ts'
import type { GroupedUsageReader } from '../../../shared/clickhouse/usage/grouped-usage.ts'
import type { GroupedUsage } from '../../../shared/domain/grouped-usage.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import { failureOf } from '../../support/failure-of.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'
import { makeStoredWorld, type StoredWorld } from '../../support/stored-world.ts'

const DAY_S = 86_400
const DAY = Date.UTC(2026, 2, 30) / 1_000
const [MARCH, APRIL] = [Date.UTC(2026, 2, 1) / 1_000, Date.UTC(2026, 3, 1) / 1_000]

type Answer = SchemaOf<'GroupedUsage'>

describe('usage by period, account and property over HTTP', function () {
  this.timeout(60_000)
  let running: RunningApi

  before(async () => {
    // Why in one layout: usage-by-period reads groups with the same statements in the other.
    running = await startApi('grouped_usage_api')
  })
  after(() => running.stop())

  const ask = async ({ api }: StoredWorld, query: string): Promise<Answer> => {
    const { status, text, body } = await api.get<Answer>(`/v2/usage?${query}`)
    expect(status, `${query}: ${text}`).to.equal(200)
    return body
  }
  const RANGE = `start_at=${DAY}&end_at=${DAY + 3 * DAY_S}`

  /** Stores usage of three days, over the end of a month, by three accounts and with three models. */
  async function makeUsage(): Promise<StoredWorld> {
    const world = await makeStoredWorld(running, 3, 1)
    const models = [
      { model: 'large' },
      { model: 1 },
      { model: '1' },
      {},
      { model: 'large' },
      { model: 'small' },
    ]
    await world.store(
      ...models.map((properties, n) => ({
        source: 'usd',
        accountId: world.accounts[n % 3] ?? '',
        quantity: String(2 ** n),
        occurredAt: DAY + (n % 3) * DAY_S,
        properties,
      })),
      { source: 'eur', quantity: '1000', occurredAt: DAY },
      { source: world.metrics[0] ?? '', quantity: '5', occurredAt: DAY + DAY_S },
      { source: 'usd', quantity: '500', occurredAt: DAY - 1 },
      { source: 'usd', quantity: '500', occurredAt: DAY + 3 * DAY_S },
    )
    return world
  }

  const all = { quantity: '63', event_count: 6 }
  const head = { metric_id: null, currency: 'usd', aggregation: 'sum', group_by: null, property: null }

  it('answers the total, and the total by day and by month without gaps', async () => {
    const world = await makeUsage()
    const nothing = { data: [], rest: null, without: null }
    expect(await ask(world, `currency=USD&${RANGE}`)).to.deep.equal({ ...head, total: all, ...nothing })
    const days = [
      { period_start_at: DAY, quantity: '9', event_count: 2 },
      { period_start_at: DAY + DAY_S, quantity: '18', event_count: 2 },
      { period_start_at: DAY + 2 * DAY_S, quantity: '36', event_count: 2 },
    ]
    const byDay = await ask(world, `currency=usd&${RANGE}&period=day`)
    expect(byDay).to.deep.equal({ ...head, total: { ...all, periods: days }, ...nothing })
    const byMonth = await ask(world, `currency=usd&start_at=${DAY}&end_at=${DAY + 33 * DAY_S}&period=month`)
    expect(byMonth.total.periods).to.deep.equal([
      { period_start_at: MARCH, quantity: '27', event_count: 4 },
      { period_start_at: APRIL, quantity: '536', event_count: 3 },
      { period_start_at: Date.UTC(2026, 4, 1) / 1_000, quantity: '0', event_count: 0 },
    ])
    expect((await ask(world, `metric_id=${world.metrics[0]}&${RANGE}`)).total).to.deep.equal({
      quantity: '5',
      event_count: 1,
    })
    const ofOne = await ask(world, `currency=usd&account_id=${world.accounts[1]}&${RANGE}&aggregation=avg`)
    expect(ofOne.total).to.deep.equal({ quantity: '9', event_count: 2 })
    const latest = await ask(world, `currency=usd&${RANGE}&aggregation=latest&period=day`)
    expect(latest.total.quantity).to.equal(latest.total.periods?.[2]?.quantity)
  })

  it('answers without events: 0 for sums and counts, and null for other quantities', async () => {
    const world = await makeStoredWorld(running)
    for (const [aggregation, quantity] of [
      ...['sum', 'count'].map((name) => [name, '0'] as const),
      ...['min', 'max', 'avg', 'latest'].map((name) => [name, null] as const),
    ])
      for (const group of ['', '&group_by=account', '&group_by=property&property=model']) {
        const answer = await ask(world, `currency=usd&${RANGE}&period=day&aggregation=${aggregation}${group}`)
        const none = { quantity, event_count: 0 }
        const periods = [0, 1, 2].map((n) => ({ period_start_at: DAY + n * DAY_S, ...none }))
        expect(answer.total).to.deep.equal({ ...none, periods })
        expect([answer.data, answer.rest, answer.without]).to.deep.equal([[], null, null])
      }
    const far = await ask(world, 'currency=usd&start_at=5000000000&end_at=5000000001&group_by=account')
    expect(far.total).to.deep.equal({ quantity: '0', event_count: 0 })
  })

  it('answers the accounts with the largest usage, and the rest', async () => {
    const world = await makeUsage()
    const [, second = '', third = ''] = world.accounts
    const answer = await ask(world, `currency=usd&${RANGE}&group_by=account&limit=1&period=day`)
    const periods = (quantities: readonly string[]) =>
      quantities.map((quantity, n) => ({
        period_start_at: DAY + n * DAY_S,
        quantity,
        event_count: quantity === '0' ? 0 : 2,
      }))
    expect(answer).to.deep.equal({
      ...head,
      group_by: 'account',
      total: { ...all, periods: periods(['9', '18', '36']) },
      data: [
        {
          account_id: third,
          value: null,
          quantity: '36',
          event_count: 2,
          periods: periods(['0', '0', '36']),
        },
      ],
      rest: { groups: 2, quantity: '27', event_count: 4, periods: periods(['9', '18', '0']) },
      without: null,
    })
    const two = await ask(world, `currency=usd&${RANGE}&group_by=account&limit=2`)
    expect(two.data.map(({ account_id: id }) => id)).to.deep.equal([third, second])
    const ofOne = await ask(world, `currency=usd&${RANGE}&group_by=account&account_id=${second}`)
    expect(ofOne.data).to.deep.equal([{ account_id: second, value: null, quantity: '18', event_count: 2 }])
    expect(ofOne.rest).to.equal(null)
  })

  it('answers the values of a property, the rest, and what lacks it', async () => {
    const world = await makeUsage()
    const answer = await ask(world, `currency=usd&${RANGE}&group_by=property&property=model&limit=2`)
    expect(answer).to.deep.equal({
      ...head,
      group_by: 'property',
      property: 'model',
      total: all,
      data: [
        { account_id: null, value: 'small', quantity: '32', event_count: 1 },
        { account_id: null, value: 'large', quantity: '17', event_count: 2 },
      ],
      // The number and the text are one value.
      rest: { groups: 1, quantity: '6', event_count: 2 },
      without: { quantity: '8', event_count: 1 },
    })
    const ofOne = await ask(
      world,
      `currency=usd&${RANGE}&group_by=property&property=model&account_id=${world.account}`,
    )
    expect([ofOne.data.map(({ value }) => value), ofOne.without]).to.deep.equal([
      ['large'],
      { quantity: '8', event_count: 1 },
    ])
  })

  it('keeps companies apart', async () => {
    const [world, other] = [await makeUsage(), await makeStoredWorld(running)]
    for (const group of ['', '&group_by=account', '&group_by=property&property=model'])
      expect((await ask(other, `currency=usd&${RANGE}${group}`)).total.event_count, group).to.equal(0)
    for (const query of [`currency=usd&account_id=${world.account}`, `metric_id=${world.metrics[0]}`]) {
      const answer = await other.api.get(`/v2/usage?${query}&${RANGE}`)
      expect([answer.status, answer.text], query).to.deep.equal([404, 'not found'])
    }
  })

  it('refuses what it cannot answer', async () => {
    const world = await makeStoredWorld(running)
    const days = (count: number) => `start_at=0&end_at=${count * DAY_S}`
    const cases: [string, number, string][] = [
      [RANGE, 400, 'metric_id, currency: exactly one of them is required'],
      [`currency=usd&metric_id=${world.metrics[0]}&${RANGE}`, 400, 'metric_id, currency: exactly one'],
      ['currency=usd&start_at=0', 400, 'end_at'],
      ['currency=usd&end_at=1', 400, 'start_at'],
      ['currency=usd&start_at=5&end_at=5', 422, 'end_at: must be after start_at'],
      [`currency=usd&${RANGE}&period=week`, 400, 'period'],
      [`currency=usd&${RANGE}&group_by=property`, 400, 'property: required with group_by=property'],
      [`currency=usd&${RANGE}&property=model`, 400, 'property: only with group_by=property'],
      [`currency=usd&${RANGE}&group_by=account&property=model`, 400, 'property: only with'],
      [`currency=usd&${RANGE}&group_by=account&limit=0`, 400, 'limit'],
      [`currency=usd&${RANGE}&group_by=account&limit=1001`, 400, 'limit'],
      [`currency=usd&${days(3_701)}&period=month`, 400, 'overlaps 3701 UTC days'],
      [`currency=usd&${days(41)}&period=day&group_by=account&limit=1000`, 400, '41,000 quantities'],
      [`metric_id=metric_${'0'.repeat(32)}&${RANGE}`, 404, 'not found'],
      [`currency=usd&account_id=account_${'0'.repeat(32)}&${RANGE}`, 404, 'not found'],
    ]
    for (const [query, status, text] of cases) {
      const answer = await world.api.get(`/v2/usage?${query}`)
      expect(answer.status, `${query}: ${answer.text}`).to.equal(status)
      expect(answer.text, query).to.contain(text)
    }
    for (const query of [
      days(3_701),
      `${days(3_700)}&period=day`,
      `${days(3_700)}&period=day&group_by=account`,
      `${days(40)}&period=day&group_by=account&limit=1000`,
    ])
      await ask(world, `currency=usd&${query}`)
  })

  it('reads no events by property when there are too many', async () => {
    const NOTHING: GroupedUsage = { total: undefined, data: [], rest: undefined, without: undefined }
    let reads = 0
    const grouped: GroupedUsageReader = {
      byAccount: () => Promise.resolve(NOTHING),
      byProperty: () => {
        reads++
        return Promise.resolve(NOTHING)
      },
    }
    const usageOf = (count: bigint) =>
      groupedUsage(
        () => Promise.resolve(),
        {
          aggregate: () => Promise.resolve(new Map([['usd', { count }]])),
          aggregateByPeriod: () => Promise.resolve(new Map()),
        },
        grouped,
      )
    const query: GroupedUsageQuery = {
      ...{ source: 'usd', range: { startAt: 0, endAt: 1 }, aggregation: 'sum', limit: 10 },
      ...{ accountId: undefined, period: undefined, groupBy: 'property', property: 'model' },
    }
    const { signal } = new AbortController()
    await usageOf(5_000_000n)('namespace', query, signal)
    expect(reads).to.equal(1)
    const err = await failureOf(usageOf(5_000_001n)('namespace', query, signal))
    expect(err).to.be.instanceOf(DomainError).with.property('code', 'unprocessable')
    expect((err as DomainError).message).to.equal(
      'property: the range has 5,000,001 events, at most 5,000,000 can be grouped by a property; name an account or a shorter range',
    )
    expect(reads).to.equal(1)
  })

  it('makes a fixed number of queries, however many groups and periods there are', async function () {
    if (running.inside === undefined) return this.skip()
    const { counts } = running.inside
    const world = await makeUsage()
    const queriesOf = async (query: string) => {
      counts.clear()
      await ask(world, `metric_id=${world.metrics[0]}&account_id=${world.account}&${query}`)
      const usage = counts.clickhouse.filter(({ query: sent }) => !sent.includes('rollup_epochs'))
      return [counts.postgres.length, usage.length]
    }
    for (const range of [RANGE, `start_at=0&end_at=${3_000 * DAY_S}`])
      for (const period of ['', '&period=day', '&period=month']) {
        expect(await queriesOf(`${range}${period}`)).to.deep.equal([2, 2])
        expect(await queriesOf(`${range}${period}&group_by=account`)).to.deep.equal([2, 3])
        expect(await queriesOf(`${range}${period}&group_by=property&property=model`)).to.deep.equal([2, 4])
      }
  })
})
