import { expect } from 'chai'
import { askPeriods, type PeriodUsage } from '../../support/period-usage.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'
import { makeStoredWorld, type StoredWorld } from '../../support/stored-world.ts'

const at = (text: string): number => Date.parse(text) / 1_000

describe('usage by day and month over HTTP', function () {
  this.timeout(60_000)
  let running: RunningApi

  before(async () => {
    running = await startApi('usage_by_period')
  })
  after(() => running.stop())

  const daily = (world: StoredWorld, start: number, end: number, more = '') =>
    askPeriods(world.api, `/v2/accounts/${world.account}/usage/daily?start_at=${start}&end_at=${end}${more}`)
  const monthly = (world: StoredWorld, more = '') =>
    askPeriods(world.api, `/v2/accounts/${world.account}/usage/monthly${more}`)
  const everywhere = (world: StoredWorld, more = '') =>
    askPeriods(world.api, `/v2/metrics/usage/monthly${more}`)

  it('puts the last second of a day and the first of the next in different buckets', async () => {
    const world = await makeStoredWorld(running)
    for (const midnight of ['2024-02-29', '2024-03-01', '2024-01-01', '2025-03-01'].map((d) =>
      at(`${d}T00:00:00Z`),
    ))
      await world.store(
        { source: 'usd', quantity: '1', occurredAt: midnight - 1 },
        { source: 'usd', quantity: '2', occurredAt: midnight },
      )
    const leap = at('2024-02-29T00:00:00Z')
    expect(await daily(world, leap - 86_400, leap + 2 * 86_400)).to.deep.equal([
      [leap - 86_400, [['usd', '1']]],
      [leap, [['usd', '3']]], // its own first second, and the last before March
      [leap + 86_400, [['usd', '2']]],
    ])
    const months = (await monthly(world)).filter(([, lines]) => lines.length > 0)
    expect(
      months.map(([start, lines]) => [new Date(start * 1_000).toISOString().slice(0, 10), lines]),
    ).to.deep.equal([
      ['2023-12-01', [['usd', '1']]],
      ['2024-01-01', [['usd', '2']]],
      ['2024-02-01', [['usd', '4']]],
      ['2024-03-01', [['usd', '2']]],
      ['2025-02-01', [['usd', '1']]],
      ['2025-03-01', [['usd', '2']]],
    ])
  })

  it('has a bucket for each day that meets the range, and counts only what lies in it', async () => {
    const world = await makeStoredWorld(running)
    const day = at('2024-05-10T00:00:00Z')
    const noon = day + 43_200
    await world.store(
      ...[day, noon - 1, noon, noon + 1, day + 86_399, day + 86_400].map((occurredAt, index) => ({
        source: 'usd',
        quantity: String(2 ** index),
        occurredAt,
      })),
    )
    expect(await daily(world, noon, noon + 1)).to.deep.equal([[day, [['usd', '4']]]])
    expect(await daily(world, noon, day + 86_400)).to.deep.equal([[day, [['usd', String(4 + 8 + 16)]]]])
    expect(await daily(world, noon + 1, day + 86_401)).to.deep.equal([
      [day, [['usd', String(8 + 16)]]],
      [day + 86_400, [['usd', '32']]],
    ])
    expect(await daily(world, day - 1, day)).to.deep.equal([[day - 86_400, []]])
    expect(await daily(world, day - 86_400, day + 1)).to.deep.equal([
      [day - 86_400, []],
      [day, [['usd', '1']]],
    ])
    expect(await everywhere(world, `?start_at=${noon}&end_at=${noon + 2}`)).to.deep.equal([
      [at('2024-05-01T00:00:00Z'), [['usd', String(4 + 8)]]],
    ])
  })

  it('has a bucket for each month from the first to the last with usage', async () => {
    const world = await makeStoredWorld(running)
    expect(await monthly(world)).to.deep.equal([])
    const [metric = ''] = world.metrics
    await world.store(
      { source: metric, quantity: '5', occurredAt: at('2023-11-30T23:59:59Z') },
      { source: 'usd', quantity: '7', occurredAt: at('2024-02-01T00:00:00Z') },
    )
    const expected = [
      [at('2023-11-01T00:00:00Z'), [[metric, '5']]],
      [at('2023-12-01T00:00:00Z'), []],
      [at('2024-01-01T00:00:00Z'), []],
      [at('2024-02-01T00:00:00Z'), [['usd', '7']]],
    ]
    expect(await monthly(world)).to.deep.equal(expected)
    expect(await monthly(world, '?currency=USD')).to.deep.equal(expected.slice(-1))
    expect(await monthly(world, '?currency=chf')).to.deep.equal([])
  })

  it('orders lines by the creation of metrics, archived ones too, then by the codes of currencies', async () => {
    const world = await makeStoredWorld(running, 2, 3)
    const [, other = ''] = world.accounts
    const occurredAt = at('2024-06-01T12:00:00Z')
    await world.store(
      ...['usd', 'chf', ...world.metrics.toReversed()].map((source) => ({
        source,
        quantity: '1',
        occurredAt,
      })),
      { source: 'usd', quantity: '10', occurredAt, accountId: other },
    )
    await world.change('UPDATE metrics SET archived_at = now() WHERE metric_id = $1', [world.metrics[1]])
    const lines = [...world.metrics, 'chf', 'usd'].map((source) => [source, '1'])
    const day = at('2024-06-01T00:00:00Z')
    expect(await daily(world, day, day + 1_000_000)).to.deep.include([day, lines])
    expect(await monthly(world)).to.deep.equal([[day, lines]])
    const all = await everywhere(world, `?start_at=${day}&end_at=${day + 86_400}`)
    expect(all).to.deep.equal([[day, [...lines.slice(0, -1), ['usd', '11']]]])
  })

  it('is exact: ties of latest, averages, sums beyond 38 digits', async () => {
    const world = await makeStoredWorld(running)
    const occurredAt = at('2024-07-07T07:07:07Z')
    const acceptedAt = (occurredAt + 5) * 1_000_000
    const ask = async (aggregation: string) => {
      const [bucket] = await daily(world, occurredAt, occurredAt + 1, `&aggregation=${aggregation}`)
      const [[month], [all]] = await Promise.all([
        monthly(world, `?aggregation=${aggregation}`),
        everywhere(world, `?start_at=${occurredAt}&end_at=${occurredAt + 1}&aggregation=${aggregation}`),
      ])
      expect(month?.[1]).to.deep.equal(bucket?.[1])
      expect(all?.[1]).to.deep.equal(bucket?.[1])
      return bucket?.[1]
    }
    // Among events of one second and one acceptance, the greatest id is the latest.
    const tied = ['1', '2', '3', '4', '5', '6', '7', '8'].map((quantity) =>
      world.makeEvent({ source: 'usd', quantity, occurredAt, acceptedAt }),
    )
    await running.store(tied)
    const [greatest] = tied.toSorted((a, b) => (a.id < b.id ? 1 : -1))
    expect(await ask('latest')).to.deep.equal([['usd', greatest?.quantity]])
    // A later acceptance takes precedence over a greater id, and a later occurrence over both.
    await world.store({ source: 'usd', quantity: '20', occurredAt, acceptedAt: acceptedAt + 1 })
    expect(await ask('latest')).to.deep.equal([['usd', '20']])
    const big = '99999999999999999999.999999999999999999'
    await world.store(
      ...Array.from({ length: 30 }, () => ({ source: 'eur', quantity: big, occurredAt })),
      { source: 'chf', quantity: '0.000000000000000001', occurredAt },
      { source: 'chf', quantity: '0.000000000000000002', occurredAt },
    )
    // 41 digits, which a sum in 128 bits would wrap around.
    const sum = (await ask('sum'))?.find(([source]) => source === 'eur')
    expect(sum).to.deep.equal(['eur', '2999999999999999999999.99999999999999997'])
    const averages = new Map(await ask('avg'))
    expect(averages.get('eur')).to.equal(big)
    expect(averages.get('chf')).to.equal('0.000000000000000002') // 1.5 units: rounded half to even
    expect(averages.get('usd')).to.equal('6.222222222222222222')

    const day = occurredAt - (occurredAt % 86_400)
    await world.store({ source: 'usd', quantity: '30', occurredAt: day + 86_399, acceptedAt: acceptedAt - 9 })
    expect((await daily(world, day, day + 86_400, '&aggregation=latest'))[0]?.[1]).to.deep.include([
      'usd',
      '30',
    ])
  })

  it('takes five years back from now when it is not told, and what lies further back when it is', async () => {
    const world = await makeStoredWorld(running)
    const now = new Date()
    const fiveYears = Date.UTC(
      now.getUTCFullYear() - 5,
      now.getUTCMonth(),
      now.getUTCDate(),
      now.getUTCHours(),
    )
    const edge = Math.floor(fiveYears / 1_000)
    await world.store(
      { source: 'usd', quantity: '1', occurredAt: edge + 7_200 },
      { source: 'usd', quantity: '10', occurredAt: edge - 7_200 },
      { source: 'usd', quantity: '100', occurredAt: Math.floor(Date.now() / 1_000) + 3_600 }, // yet to come
    )
    const buckets = await everywhere(world)
    expect(buckets.length).to.be.within(60, 62)
    const total = (found: typeof buckets) =>
      found.flatMap(([, lines]) => lines).reduce((sum, [, quantity]) => sum + Number(quantity), 0)
    expect(total(buckets)).to.equal(1)
    expect(total(await everywhere(world, `?start_at=${edge - 7_200}`))).to.equal(11)
    expect(
      total(
        await everywhere(world, `?end_at=${Math.floor(Date.now() / 1_000) + 7_200}&start_at=${edge + 7_201}`),
      ),
    ).to.equal(100)
  })

  it('refuses ranges that run backwards or meet too many days', async () => {
    const world = await makeStoredWorld(running)
    const cases: [string, number, RegExp][] = [
      ['', 400, /start_at: is required/],
      ['start_at=1', 400, /end_at: is required/],
      ['start_at=x&end_at=1', 400, /start_at/],
      ['start_at=5&end_at=5', 422, /^end_at: must be after start_at/],
      ['start_at=6&end_at=5', 422, /^end_at/],
      ['start_at=0&end_at=10&aggregation=median', 400, /aggregation/],
      ['start_at=0&end_at=10&currency=us', 400, /currency/],
      ['start_at=0&end_at=10&limit=3', 400, /limit/],
      [`start_at=0&end_at=${3_700 * 86_400}`, 200, /^/],
      [
        `start_at=1&end_at=${3_700 * 86_400 + 1}`,
        400,
        /^end_at: the range overlaps 3701 UTC days, at most 3700/,
      ],
      ['start_at=0&end_at=253402300799', 400, /^end_at/],
      ['start_at=253402300790&end_at=253402300799', 200, /^/], // no usage can have this time
    ]
    const targets = [`/v2/accounts/${world.account}/usage/daily`, '/v2/metrics/usage/monthly']
    for (const target of targets)
      for (const [query, status, text] of cases) {
        if (target.startsWith('/v2/metrics') && text.source.includes('is required')) continue
        const answer = await world.api.get<PeriodUsage>(`${target}?${query}`)
        expect(answer.status, `${target}?${query}: ${answer.text}`).to.equal(status)
        expect(answer.text).to.match(text)
      }
    const days = await world.api.get<PeriodUsage>(`${targets[0] ?? ''}?start_at=0&end_at=${3_700 * 86_400}`)
    expect(days.body.data).to.have.length(3_700)
  })

  it('answers for the caller’s own accounts only', async () => {
    const world = await makeStoredWorld(running)
    const theirs = await makeStoredWorld(running)
    await theirs.store({ source: 'usd', quantity: '1', occurredAt: 1_700_000_000 })
    for (const target of ['daily?start_at=0&end_at=1', 'monthly?']) {
      expect((await world.api.get(`/v2/accounts/${theirs.account}/usage/${target}`)).text).to.equal(
        'not found',
      )
      expect((await world.api.get(`/v2/accounts/x/usage/${target}`)).status).to.equal(400)
    }
    const range = 'start_at=1690000000&end_at=1710000000'
    expect((await everywhere(world, `?${range}`)).flatMap(([, lines]) => lines)).to.deep.equal([])
    expect((await everywhere(theirs, `?${range}`)).flatMap(([, lines]) => lines)).to.deep.equal([
      ['usd', '1'],
    ])
  })
})
