import { expect } from 'chai'
import fc from 'fast-check'
import type { Aggregation } from '../../../shared/domain/usage-aggregate.ts'
import { ApiClient } from '../../support/api-client.ts'
import { timesIn } from '../../support/layout.ts'
import { askPeriods, type BalanceBody, linesOf } from '../../support/period-usage.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'
import { until } from '../../support/until.ts'
import { UsageModel } from '../../support/usage-model.ts'
import { type EventBody, makeWorld, type SourceUsage } from '../../support/usage-world.ts'

const AGGREGATIONS: readonly Aggregation[] = ['sum', 'min', 'max', 'avg', 'latest', 'count']

interface Page<T> {
  data: T[]
  has_more: boolean
}

/** Enough for seventy pages, one after the other, on a busy machine. */
const FOLLOWED_WITHIN_MS = 90_000

describe('usage and balances over HTTP', function () {
  this.timeout(120_000)
  let tally: TallyUnderTest
  let api: ApiClient
  let other: ApiClient
  const now = Math.floor(Date.now() / 1_000)

  before(async () => {
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.key)
    other = new ApiClient(tally.url, tally.testKey)
  })
  after(() => tally.end())

  it('equals a plain loop over the events, for random histories, all aggregations and any range', async () => {
    // Times at the edges of slots, days, months and leap days, where an off-by-one error would be visible.
    const edges = [300, 86_400, 86_400 * 31, 86_400 * 366].map((span) => now - (now % span))
    const edge = fc.constantFrom(...edges, Math.floor(Date.UTC(2024, 1, 29) / 1_000), now - 1_000)
    const second = fc
      .tuple(edge, fc.integer({ min: -2, max: 2 }))
      .map(([at, shift]) => Math.min(at + shift, now))
    const report = fc.record({
      source: fc.constantFrom('tokens', 'calls', 'usd', 'eur'),
      quantity: fc.constantFrom(
        '0',
        '1',
        '-1',
        '0.1',
        '0.000000000000000001',
        '99999999999999999999',
        '2.5',
        '-2.5',
        '7',
      ),
      occurredAt: second,
      key: fc.constantFrom('a', 'b', 'c', 'd'),
    })
    const range = fc.record({ start: second, end: second, aggregation: fc.constantFrom(...AGGREGATIONS) })
    const history = fc.record({
      batches: fc.array(fc.array(report, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 5 }),
      ranges: fc.array(range, { minLength: 3, maxLength: 8 }),
      currency: fc.constantFrom('USD', 'eur'),
    })
    await fc.assert(
      fc.asyncProperty(history, async ({ batches, ranges, currency }) => {
        const world = await makeWorld(api)
        const model = new UsageModel()
        for (const [order, batch] of batches.entries()) {
          // A request with one key and two contents would be refused, so the first content replaces the others.
          const events = batch.map((event) => {
            const same = batch.find(
              (e) => e.key === event.key && e.source === event.source && e.occurredAt === event.occurredAt,
            )
            return { ...event, quantity: same?.quantity ?? event.quantity }
          })
          const sourceOf = (name: string) => ({ tokens: world.tokens, calls: world.calls })[name] ?? name
          const answer = await world.reportAll(
            events.map(({ source, quantity, occurredAt, key }) => ({
              ...(source.length === 3 ? { currency: source } : { metric_id: sourceOf(source) }),
              quantity,
              occurred_at: occurredAt,
              idempotency_key: key,
            })),
          )
          expect(answer.status, answer.text).to.equal(202)
          for (const [index, { source, quantity, occurredAt }] of events.entries())
            model.report({
              id: answer.body.event_ids[index] ?? '',
              source: sourceOf(source),
              quantity,
              occurredAt,
              acceptedOrder: order,
            })
        }
        await world.counted(model.size)
        const ask = async (query: string) => {
          const { body } = await api.get<{ events_consumed: SourceUsage[] }>(
            `/v2/accounts/${world.account}/usage?${query}`,
          )
          return Object.fromEntries(
            body.events_consumed.map((l) => [l.metric_id ?? l.currency ?? '', l.quantity]),
          )
        }
        for (const { start, end, aggregation } of ranges) {
          const [from, to] = start < end ? [start, end] : [end, start + 1]
          const expected = model.usage(aggregation, from, to)
          const query = `start_at=${from}&end_at=${to}&aggregation=${aggregation}`
          expect(await ask(query), query).to.deep.equal(expected)
          const code = currency.toLowerCase()
          const only = expected[code] === undefined ? {} : { [code]: expected[code] }
          expect(await ask(`${query}&currency=${currency}`), query).to.deep.equal(only)
        }
        const all = model.usage('sum', 0, 2 ** 32)
        for (const [source, total] of Object.entries(all)) {
          const by = source.length === 3 ? `currency=${source}` : `metric_id=${source}`
          expect(await world.balance(by)).to.include({ usage_total: total, grant_total: '0' })
        }
      }),
      { numRuns: timesIn({ embedded: 12, processes: 4 }) },
    )
  })

  it('lists metrics in order of creation, then currencies by code, with their names', async () => {
    const world = await makeWorld(api)
    await world.reportAll([
      { currency: 'usd', quantity: '1' },
      { metric_id: world.calls, quantity: '1' },
      { currency: 'eur', quantity: '1' },
      { metric_id: world.tokens, quantity: '1' },
    ])
    await world.counted(4)
    const { body } = await api.get<{ account: object; events_consumed: SourceUsage[] }>(
      `/v2/accounts/${world.account}/usage?start_at=0&end_at=4294967295`,
    )
    expect(body.events_consumed.map(({ metric_name: name, currency }) => name ?? currency)).to.deep.equal([
      'tokens',
      'calls',
      'eur',
      'usd',
    ])
    expect(body.events_consumed[0]).to.include({ measurement_units: 'tokens', currency: null })
    expect(body.events_consumed[2]).to.include({
      metric_id: null,
      metric_name: null,
      measurement_units: null,
    })
    expect(body.account).to.deep.equal((await api.get(`/v2/accounts/${world.account}`)).body)
  })

  it('refuses ranges and aggregations that make no sense', async () => {
    const { account } = await makeWorld(api)
    const cases: [string, number][] = [
      ['', 400],
      ['start_at=0', 400],
      ['start_at=x&end_at=1', 400],
      ['start_at=-1&end_at=1', 400],
      ['start_at=0&end_at=1.5', 400],
      ['start_at=0&end_at=1&aggregation=median', 400],
      ['start_at=0&end_at=1&currency=usdx', 400],
      ['start_at=5&end_at=5', 422],
      ['start_at=6&end_at=5', 422],
      ['start_at=0&end_at=253402300799', 200],
    ]
    for (const [query, status] of cases)
      expect((await api.get(`/v2/accounts/${account}/usage?${query}`)).status, query).to.equal(status)
    expect((await other.get(`/v2/accounts/${account}/usage?start_at=0&end_at=1`)).text).to.equal('not found')
  })

  it('subtracts all usage from the grants in force', async () => {
    const world = await makeWorld(api)
    const grant = (change: object) =>
      api.create('/v2/grants', {
        account_id: world.account,
        metric_id: world.tokens,
        amount: '10',
        effective_at: now - 10,
        ...change,
      })
    await grant({ amount: '50.000000000000000001' })
    await grant({ amount: '-0.5' })
    await grant({ amount: '1000', expires_at: now - 5 })
    await grant({ amount: '2000', effective_at: now + 3_600 })
    await grant({ amount: '4000', metric_id: world.calls })
    await grant({ amount: '8000', metric_id: undefined, currency: 'USD' })
    await world.report({ metric_id: world.tokens, quantity: '60.25' })
    await world.report({ currency: 'usd', quantity: '-1' })
    await world.counted(2)
    expect(await world.balance(`metric_id=${world.tokens}`)).to.deep.equal({
      account_id: world.account,
      metric_id: world.tokens,
      currency: null,
      grant_total: '49.500000000000000001',
      usage_total: '60.25',
      balance: '-10.749999999999999999',
    })
    expect(await world.balance('currency=USD')).to.deep.equal({
      account_id: world.account,
      metric_id: null,
      currency: 'usd',
      grant_total: '8000',
      usage_total: '-1',
      balance: '8001',
    })
    expect(await world.balance('currency=chf')).to.include({
      grant_total: '0',
      usage_total: '0',
      balance: '0',
    })
  })

  it('answers a balance for exactly one source of the caller’s own', async () => {
    const world = await makeWorld(api)
    const theirs = await makeWorld(other)
    const ask = async (account: string, query: string) =>
      (await api.get(`/v2/accounts/${account}/balance?${query}`)).status
    expect(await ask(world.account, '')).to.equal(400)
    expect(await ask(world.account, `metric_id=${world.tokens}&currency=usd`)).to.equal(400)
    expect(await ask(world.account, 'currency=us')).to.equal(400)
    expect(await ask(world.account, 'metric_id=x')).to.equal(400)
    expect(await ask(world.account, `metric_id=${theirs.tokens}`)).to.equal(404)
    expect(await ask(theirs.account, 'currency=usd')).to.equal(404)
    expect(await ask(world.account, 'currency=usd')).to.equal(200)
  })

  it('keeps grants as they were given', async () => {
    const world = await makeWorld(api)
    const full = {
      account_id: world.account,
      currency: 'EUR',
      amount: '0012.3400',
      effective_at: now + 3_600,
      expires_at: now + 7_200,
      description: 'welcome',
      contract_v1_id: '3d813cbb-47fb-42ba-91df-831e1593ac29',
    }
    const made = await api.create<{ id: string }>('/v2/grants', full)
    expect(made).to.include({
      ...full,
      currency: 'eur',
      amount: '12.34',
      metric_id: null,
      status: 'scheduled',
      archived_at: null,
    })
    const plain = await api.create<{ id: string }>('/v2/grants', {
      account_id: world.account,
      metric_id: world.tokens,
      amount: '1',
      effective_at: now - 200,
      expires_at: now - 100,
    })
    expect(plain).to.include({ status: 'expired', currency: null, metric_id: world.tokens })
    const ids = async (query: string) =>
      (await api.get<Page<{ id: string }>>(`/v2/grants?${query}`)).body.data.map(({ id }) => id)
    const all = await ids('')
    expect(all.slice(-2)).to.deep.equal([made.id, plain.id])
    expect(await ids('currency=EUR'))
      .to.include(made.id)
      .and.not.include(plain.id)
    expect(await ids(`starting_after=${made.id}`)).to.deep.equal([plain.id])
    expect((await other.get<Page<object>>('/v2/grants')).body.data).to.have.length(0)
  })

  it('refuses grants that cannot be', async () => {
    const world = await makeWorld(api)
    const theirs = await makeWorld(other)
    const base = { account_id: world.account, metric_id: world.tokens, amount: '1', effective_at: now }
    const cases: [object, number, RegExp][] = [
      [{ metric_id: undefined }, 422, /exactly one/],
      [{ currency: 'usd' }, 422, /exactly one/],
      [{ expires_at: now }, 422, /expires_at/],
      [{ account_id: theirs.account }, 422, /account_id/],
      [{ metric_id: theirs.tokens }, 422, /metric_id/],
      [{ amount: '1e3' }, 400, /^amount: "1e3" is not a plain/],
      [{ amount: 5 }, 400, /^amount/],
      [{ effective_at: -1 }, 400, /^effective_at/],
      [{ effective_at: undefined }, 400, /^effective_at: is required/],
      [{ status: 'active' }, 400, /^status: is not a field/],
    ]
    for (const [change, status, text] of cases) {
      const answer = await api.post('/v2/grants', { ...base, ...change })
      expect(answer.status, answer.text).to.equal(status)
      expect(answer.text).to.match(text)
    }
  })

  it('lists events by acceptance, each once, however often it was reported', async () => {
    const mine = new ApiClient(tally.url, tally.testKey)
    const world = await makeWorld(mine)
    const ids: string[] = []
    for (let n = 0; n < 25; n++) {
      const event = {
        metric_id: world.tokens,
        quantity: String(n),
        occurred_at: now - n,
        idempotency_key: `k${n}`,
      }
      ids.push((await world.report(event)).body.id)
      await world.report({ ...event, quantity: '999' })
    }
    const pages = async () => {
      const seen: EventBody[] = []
      for (;;) {
        const after = seen.length === 0 ? '' : `&starting_after=${seen.at(-1)?.id ?? ''}`
        const { body } = await mine.get<Page<EventBody>>(`/v2/events?limit=4${after}`)
        seen.push(...body.data)
        if (!body.has_more) return seen
      }
    }
    const seen = await until(async () => {
      const found = (await pages()).filter(({ account_id: account }) => account === world.account)
      return found.length >= ids.length && found
    })
    expect(seen.map(({ id }) => id).sort()).to.deep.equal([...ids].sort())
    expect(seen.map(({ quantity }) => quantity)).to.not.include('999')
    const places = seen.map(({ accepted_at: at, id }) => `${at} ${id}`)
    expect(places).to.deep.equal([...places].sort())
    expect((await api.get(`/v2/events?starting_after=${ids[0] ?? ''}`)).status).to.equal(400)
  })

  it('shows reported usage by day and month, by property, among balances and currencies, and in filtered lists', async () => {
    const world = await makeWorld(api)
    const day = now - (now % 86_400) - 86_400
    const month = Math.floor(
      Date.UTC(new Date(day * 1_000).getUTCFullYear(), new Date(day * 1_000).getUTCMonth()) / 1_000,
    )
    const tag = `run ${now}=${world.account}`
    await world.reportAll([
      { metric_id: world.tokens, quantity: '2.5', occurred_at: day, properties: { tag, n: 1.5 } },
      { metric_id: world.calls, quantity: '4', occurred_at: day + 86_399, properties: { tag } },
      { currency: 'OMR', quantity: '0.125', occurred_at: day + 60 },
    ])
    await world.counted(3)
    const lines: [string, string][] = [
      [world.tokens, '2.5'],
      [world.calls, '4'],
      ['omr', '0.125'],
    ]
    const usage = `/v2/accounts/${world.account}/usage`
    expect(await askPeriods(api, `${usage}/monthly`)).to.deep.equal([[month, lines]])
    expect(await askPeriods(api, `${usage}/daily?start_at=${day}&end_at=${day + 86_400}`)).to.deep.equal([
      [day, lines],
    ])
    const all = await askPeriods(api, `/v2/metrics/usage/monthly?start_at=${day}&end_at=${day + 86_400}`)
    expect(all[0]?.[1]).to.deep.include.members(lines.slice(0, 2))
    const found = await api.get<{ data: Parameters<typeof linesOf>[0] }>(
      `/v2/events/aggregate?property=tag&value=${encodeURIComponent(tag)}`,
    )
    expect(linesOf(found.body.data)).to.deep.equal(lines.slice(0, 2))
    const balances = await api.get<{ data: BalanceBody[] }>(
      `/v2/accounts/balances?account_ids=${world.account}`,
    )
    const ofTokens = balances.body.data.find(({ metric_id: metric }) => metric === world.tokens)
    expect(ofTokens).to.include({ grant_total: '0', usage_total: '2.5', balance: '-2.5' })
    const currencies = await api.get<Page<{ currency: string }>>('/v2/currencies')
    expect(currencies.body.data.find(({ currency }) => currency === 'omr')).to.include({
      name: 'Rial Omani',
      minor_units: 3,
    })
    const filter = `account_id=${world.account}&metric_id=${world.calls}`
    const listed = await until(async () => {
      const { body } = await api.get<Page<EventBody>>(`/v2/events?${filter}`)
      return body.data.length > 0 && body.data
    })
    expect(listed.map(({ quantity }) => quantity)).to.deep.equal(['4'])
  })

  it('never lets somebody who keeps the last id miss an event', async () => {
    const world = await makeWorld(other)
    const reported: string[] = []
    const state = { reporting: true }
    const seen: string[] = []
    let cursor: string | undefined
    const follow = async () => {
      const { body } = await other.get<Page<EventBody>>(
        `/v2/events?limit=7${cursor === undefined ? '' : `&starting_after=${cursor}`}`,
      )
      cursor = body.data.at(-1)?.id ?? cursor
      seen.push(
        ...body.data.filter(({ account_id: account }) => account === world.account).map(({ id }) => id),
      )
      return body.data.length
    }
    const reporter = async (name: number) => {
      for (let n = 0; n < 40; n++) {
        const answer = await world.reportAll(
          [0, 1, 2].map(() => ({ metric_id: world.tokens, quantity: '1', properties: { name, n } })),
        )
        reported.push(...answer.body.event_ids)
      }
    }
    const reporters = Promise.all([1, 2, 3, 4].map(reporter)).then(() => (state.reporting = false))
    while (state.reporting) await follow()
    await reporters
    await until(async () => {
      await follow()
      return seen.length >= reported.length
    }, FOLLOWED_WITHIN_MS)
    expect([...seen].sort()).to.deep.equal([...reported].sort())
  })
})
