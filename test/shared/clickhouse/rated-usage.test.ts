import { expect } from 'chai'
import fc from 'fast-check'
import { formatAmount } from '../../../shared/amount/amount.ts'
import { RATIO_ZERO } from '../../../shared/amount/ratio.ts'
import type { ClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { ROLLUP_TABLES } from '../../../shared/clickhouse/rollups/rollup-table-names.ts'
import { dayOf } from '../../../shared/clickhouse/rollups/usage-cover.ts'
import { propertyToken } from '../../../shared/clickhouse/usage/property-token.ts'
import {
  type RatedPlan,
  type RatedUsage,
  ratedUsageReader,
} from '../../../shared/clickhouse/usage/rated-usage.ts'
import { rawReadSemaphore } from '../../../shared/clickhouse/usage/raw-read-semaphore.ts'
import { simulatedUsageReader } from '../../../shared/clickhouse/usage/simulated-usage.ts'
import { namedValues } from '../../../shared/domain/billing/named-values.ts'
import { monthOf, monthsAfter } from '../../../shared/domain/month.ts'
import { type Properties, propertyPairs } from '../../../shared/domain/properties.ts'
import { ALL_TIME, DAY_S, type TimeRange } from '../../../shared/domain/time-range.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { storeLateCoarsely } from '../../support/coarse-marks.ts'
import { countingClickHouse, QueryCounts } from '../../support/count-queries.ts'
import { failureOf } from '../../support/failure-of.ts'
import { asking } from '../../support/pausing.ts'
import { randomRate } from '../../support/random-rates.ts'
import { type RollupStage, setSlotLength, startRollupStage } from '../../support/rollup-stage.ts'
import { takeRollupStep } from '../../support/rollup-steps.ts'
import { until } from '../../support/until.ts'
import { ACCOUNT, makeCorrection, makeReport, NAMESPACE } from '../../support/usage-event.ts'
import { UsageRows } from '../../support/usage-rows.ts'
import { looped, shown, shownRows } from './looped-usage.ts'

/** The time for which histories run; at least three run. */
const SHORT_MS = 12_000
/** Half of the histories have usage of a year ago, without which no months are read. */
const MONTHS_READ_WITHIN = 20
const HOUR_S = 3_600
const LARGEST = '99999999999999999999.999999999999999999'
const OTHER_NAMESPACE = '018cc251-f400-7000-8000-000000000002'
const OTHER_ACCOUNT = `account_${'b'.repeat(32)}`
/** The sources of randomRate in random events. */
const SOURCES = ['metric_t', 'metric_t', 'metric_u', 'usd']

const quantity = fc.constantFrom('1', '-1', '2.5', '7', '0.000000000000000001', LARGEST, LARGEST)
const properties: fc.Arbitrary<Properties> = fc
  .record(
    {
      region: fc.constantFrom('a', 'b', 'c', 'd', '', null, 1),
      model: fc.constantFrom('a', 'b', 'c', { a: 'a' }),
      id: fc.nat(),
    },
    { requiredKeys: [] },
  )
  .chain((some) => fc.shuffledSubarray(Object.entries(some), { minLength: Object.keys(some).length }))
  .map((entries) => Object.fromEntries(entries) as Properties)
/** Seconds from the edge of a day or of a slot. */
const shift = fc.constantFrom(-1, 0, 0, 1, 150, 299, 300)
const time = fc.oneof(
  fc.record({ day: fc.constantFrom(0, 0, 1, 2, 3), shift }),
  fc.record({ old: fc.constantFrom(32, 33, 34, 200, 203, 206, 209, 400), shift }),
  fc.record({ slot: fc.integer({ min: 1, max: 5 }), shift }),
  fc.record({ hour: fc.integer({ min: 1, max: 60 }), shift }),
)
type Time = typeof time extends fc.Arbitrary<infer T> ? T : never

const event = fc.record({
  isElsewhere: fc.constantFrom<'no' | 'account' | 'namespace'>(
    'no',
    'no',
    'no',
    'no',
    'account',
    'namespace',
  ),
  source: fc.constantFrom(...SOURCES),
  quantity,
  properties,
  at: time,
  /** Often equal, so that the id decides which event is the latest. */
  acceptedSecond: fc.integer({ min: 0, max: 2 }),
  isRepeated: fc.boolean(),
  corrections: fc.array(
    fc.oneof(fc.record({ quantity }), fc.record({ properties }), fc.constant('void' as const)),
    {
      maxLength: 2,
    },
  ),
})
const history = fc.record({
  slotS: fc.constantFrom(60, 300),
  isOld: fc.boolean(),
  events: fc.array(event, { minLength: 24, maxLength: 40 }),
  /** The number of rows that are stored before rollups are computed; the others are late. */
  timely: fc.integer({ min: 10, max: 40 }),
  order: fc.array(fc.nat(), { minLength: 160, maxLength: 160 }),
  marks: fc.constantFrom('accounts' as const, 'slots' as const, 'days' as const),
  upTo: fc.constantFrom(50 * HOUR_S, 3 * HOUR_S, 900, 300),
  plans: fc.array(
    fc.record({
      ranges: fc.array(fc.tuple(time, time), { maxLength: 4 }),
      isAsOf: fc.boolean(),
      rates: fc.tuple(randomRate('1'), randomRate('2'), randomRate('3')),
      rateCount: fc.constantFrom(0, 1, 3),
      creditBefore: time,
    }),
    { minLength: 3, maxLength: 5 },
  ),
})
type History = typeof history extends fc.Arbitrary<infer T> ? T : never

describe('usage that invoices are rated by', function () {
  this.timeout(240_000)
  let stage: RollupStage

  before(async () => {
    stage = await startRollupStage('rated_usage', 300)
    // Merges would collapse repeated rows.
    for (const table of ['usage_events', ...ROLLUP_TABLES])
      await stage.client.command({ query: `SYSTEM STOP MERGES ${table}` })
  })
  after(() => stage.close())
  beforeEach(async () => {
    for (const table of ['usage_events', ...ROLLUP_TABLES, 'usage_dirty_slots'])
      await stage.client.command({ query: `TRUNCATE TABLE ${table}` })
    await setSlotLength(stage.client, 300)
  })

  const store = (...events: readonly UsageEvent[]) =>
    usageEventRepository(stage.writing).insertLines(Buffer.from(events.map(usageEventToLine).join('\n')))

  const readBy = (plan: RatedPlan, client: ClickHouse = stage.client) =>
    ratedUsageReader(client, rawReadSemaphore()).read(NAMESPACE, plan)

  const counts = new QueryCounts()

  it('is what a loop over the events finds, whatever is late, repeated, corrected or voided, with rollups and without', async () => {
    const readFrom = new Set<string>()
    const startedAt = performance.now()
    let played = 0
    await fc.assert(
      fc.asyncProperty(history, async (drawn) => {
        if (played >= 3 && performance.now() - startedAt > SHORT_MS) return
        await play(drawn)
        played++
        for (const { query } of counts.clickhouse)
          for (const [, table = ''] of query.matchAll(/FROM (usage_\w+) FINAL/g)) readFrom.add(table)
        counts.clear()
      }),
      { numRuns: 100, endOnFailure: true },
    )
    // A reader that reads only events would also be right, so the test checks that rollups are read.
    expect(readFrom).to.include.all.keys('usage_by_day', 'usage_by_slot', 'usage_events')
    if (played >= MONTHS_READ_WITHIN) expect(readFrom).to.include('usage_by_month')
  })

  async function play(drawn: History): Promise<void> {
    for (const table of ['usage_events', ...ROLLUP_TABLES, 'usage_dirty_slots'])
      await stage.client.command({ query: `TRUNCATE TABLE ${table}` })
    await stage.client.command({ query: 'TRUNCATE TABLE rollup_epochs' })
    const now = await stage.epochs.now()
    const rows = rowsOf(drawn, now)
    const stored = new UsageRows()
    const passed: string[] = []
    const compare = async (what: string) => {
      passed.push(what)
      for (const plan of plansOf(drawn, now)) {
        const when = `now ${now}, after ${passed.join('; ')}: ${JSON.stringify(plan.usage.ranges)}`
        const read = await readBy(plan, countingClickHouse(stage.client, counts))
        expect(shown(read), when).to.deep.equal(shown(looped(plan, stored.counting(NAMESPACE))))
      }
      const all = plansOfBoth(drawn, now)
      const read = await ratedUsageReader(stage.client, rawReadSemaphore()).readAll(NAMESPACE, all)
      expect(read.map(shown), `together, now ${now}, after ${passed.join('; ')}`).to.deep.equal(
        all.map((plan) => shown(looped(plan, stored.counting(NAMESPACE)))),
      )
      for (const plan of plansOf(drawn, now).slice(0, 1))
        await compareSimulated(plan, stored.counting(NAMESPACE), `now ${now}, after ${passed.join('; ')}`)
    }
    const [timely, late] = [rows.slice(0, drawn.timely), rows.slice(drawn.timely)]
    await store(...timely)
    stored.store(timely)
    await compare('without rollups')
    await setSlotLength(stage.client, drawn.slotS)
    await takeRollupStep(stage.computing, { kind: 'rebuild', upTo: drawn.upTo })
    await compare('built')
    await storeLateCoarsely(stage, drawn.marks, now)(late)
    stored.store(late)
    await compare('late')
    await takeRollupStep(stage.computing, { kind: 'close', upTo: 300 })
    await compare('closed')
    await takeRollupStep(stage.computing, { kind: 'late' })
    await compare('worked off')
  }

  /** Compares the reader for simulations, with the periods between the edges of the plan's ranges. */
  async function compareSimulated(
    plan: RatedPlan,
    events: readonly UsageEvent[],
    when: string,
  ): Promise<void> {
    const edges = [...new Set(plan.usage.ranges.flatMap(({ startAt, endAt }) => [startAt, endAt]))]
    const [first, ...others] = edges.sort((a, b) => a - b)
    if (first === undefined || others.length === 0) return
    const periods = others.map((endAt, index) => ({ startAt: edges[index] ?? first, endAt }))
    const reader = simulatedUsageReader(countingClickHouse(stage.client, counts), rawReadSemaphore())
    const { signal } = new AbortController()
    const { named } = plan.usage
    const whole = { startAt: first, endAt: others.at(-1) ?? first }
    const inside = events.filter(({ occurredAt }) => whole.startAt <= occurredAt && occurredAt < whole.endAt)
    const users = [...new Set(inside.map(({ accountId }) => accountId))].sort()
    const ranges = periods.map((period, piece) => ({ piece, ...period }))
    const loopedFor = (accounts: readonly string[]) =>
      accounts.map((accountId) => [
        accountId,
        shownRows(
          looped({ ...plan, contract: { accountId, currency: 'usd' }, usage: { ranges, named } }, events),
        ),
      ])
    for (const accounts of [
      [ACCOUNT, OTHER_ACCOUNT],
      [OTHER_ACCOUNT],
      { first: ACCOUNT, last: OTHER_ACCOUNT },
      { first: OTHER_ACCOUNT, last: OTHER_ACCOUNT },
    ]) {
      const read = await reader.read(
        NAMESPACE,
        { accounts, periods, sources: SOURCES, named, rowsMax: 10_000 },
        signal,
      )
      const found = [...(read ?? [])].map(([accountId, usage]) => [
        accountId,
        shownRows({ usage: new Map([...usage.entries()].filter(([, rows]) => rows.length > 0)) }),
      ])
      const wanted = users.filter((id) => id >= ('first' in accounts ? accounts.first : (accounts[0] ?? '')))
      expect(found, `${when}: ${JSON.stringify(accounts)}`).to.have.deep.members(loopedFor(wanted))
    }
    expect(await reader.listAccounts(NAMESPACE, whole, 10, signal), when).to.deep.equal(users)
    expect(await reader.listAccounts(NAMESPACE, whole, 1, signal), when).to.deep.equal(users.slice(0, 1))
  }

  it('is read by month where it is long, with each day once, and by day in a month in which a piece ends', async () => {
    const now = await stage.epochs.now()
    const month = monthsAfter(monthOf(now), -10)
    const changesAt = month + 14 * DAY_S
    const events = Array.from({ length: 20 }, (_, n) =>
      makeReport({
        source: 'metric_t',
        quantity: String(2 ** n),
        occurredAt: month + n * 15 * DAY_S + HOUR_S,
      }),
    )
    await store(...events)
    await takeRollupStep(stage.computing, { kind: 'rebuild', upTo: HOUR_S })
    const plan: RatedPlan = {
      contract: { accountId: ACCOUNT, currency: 'usd' },
      creditBefore: now,
      usage: {
        ranges: [
          { piece: 0, startAt: monthsAfter(month, -1), endAt: changesAt },
          { piece: 1, startAt: changesAt, endAt: now },
        ],
        named: new Map(),
      },
    }
    counts.clear()
    const read = await readBy(plan, countingClickHouse(stage.client, counts))
    expect(counts.clickhouse.some(({ query }) => query.includes('FROM usage_by_month FINAL'))).to.equal(true)
    expect(shown(read)).to.deep.equal(shown(looped(plan, events)))
  })

  it('is asked in as many questions for fifty pieces and two hundred rates as for one', async () => {
    const now = await stage.epochs.now()
    const start = dayOf(now) - 60 * DAY_S
    await store(
      ...Array.from({ length: 60 }, (_, n) =>
        makeReport({
          source: 'metric_t',
          occurredAt: start + n * DAY_S,
          ...withProperties({ model: `m${n}` }),
        }),
      ),
    )
    await takeRollupStep(stage.computing, { kind: 'rebuild', upTo: HOUR_S })
    const planOf = (pieces: number, rates: number): RatedPlan => ({
      contract: { accountId: ACCOUNT, currency: 'usd' },
      creditBefore: now,
      usage: {
        ranges: Array.from({ length: pieces }, (_, piece) => ({
          piece,
          startAt: start + piece * DAY_S + 7,
          endAt: start + (piece + 1) * DAY_S + 7,
        })),
        named: new Map([
          ['metric_t', new Map([['model', new Set(Array.from({ length: 10 * rates }, (_, n) => `m${n}`))]])],
        ]),
      },
    })
    const asked: number[] = []
    for (const [pieces, rates] of [
      [1, 1],
      [50, 200],
    ] as const) {
      counts.clear()
      const { usage } = await readBy(planOf(pieces, rates), countingClickHouse(stage.client, counts))
      expect(usage.size).to.equal(pieces)
      expect(usage.get(pieces - 1)?.map((row) => row.properties)).to.deep.equal([
        rates === 1 ? { model: 'm1' } : { model: `m${pieces}` },
      ])
      asked.push(counts.clickhouse.length)
    }
    // Queries: the marks, the epoch, and the usage.
    expect(asked).to.deep.equal([3, 3])
  })

  it('tells values apart whose token ends with zero bytes', async () => {
    const occurredAt = (await stage.epochs.now()) - 2 * DAY_S
    const trap = (ending: string): string => {
      for (let n = 0; ; n++) if (propertyToken('model', `m${n}`).endsWith(ending)) return `m${n}`
    }
    const values = [trap('00'), trap('0000'), 'plain']
    await store(
      ...values.map((model, n) =>
        makeReport({
          source: 'metric_t',
          occurredAt,
          quantity: String(2 ** n),
          ...withProperties({ model }),
        }),
      ),
      makeReport({ source: 'metric_t', occurredAt, quantity: '8' }),
    )
    const { usage } = await readBy({
      contract: { accountId: ACCOUNT, currency: 'usd' },
      creditBefore: 0,
      usage: {
        ranges: [{ piece: 0, ...ALL_TIME }],
        named: new Map([['metric_t', new Map([['model', new Set(values)]])]]),
      },
    })
    expect(
      usage.get(0)?.map(({ properties: { model }, usage: { sum } }) => [model, formatAmount(sum)]),
    ).to.have.deep.members([...values.map((model, n) => [model, String(2 ** n)]), [undefined, '8']])
  })

  it('is one row of the same values in any order, and knows the latest event by its second, its acceptance and its id', async () => {
    const now = await stage.epochs.now()
    const start = dayOf(now) - 4 * DAY_S
    const sources = ['metric_t', 'metric_u']
    /** Makes events of one day, in rising order of ids. */
    const madeOn = (source: string, day: number, seconds: readonly number[]) =>
      seconds
        .map((second, n) =>
          makeReport({
            source,
            occurredAt: start + day * DAY_S + second,
            ...withProperties(n % 2 === 0 ? { model: 'a', region: 'b' } : { region: 'b', model: 'a' }),
          }),
        )
        .sort((a, b) => (a.id < b.id ? -1 : 1))
    const same = Array<number>(6).fill(7)
    const latest: UsageEvent[] = []
    for (const source of sources) {
      const sets = [
        madeOn(source, 0, same).map((one) => ({ ...one, acceptedAt: 9e14 })),
        madeOn(source, 1, same).map((one, n) => ({ ...one, acceptedAt: 9e14 - n })),
        madeOn(source, 2, [1, 2, 3, 4, 5, 6]).map((one, n) => ({ ...one, acceptedAt: 9e14 - n })),
      ].map((set) => set.map((one, n) => ({ ...one, quantity: String(n + 1) })))
      await store(...sets.flat())
      latest.push(...[sets[0]?.[5], sets[1]?.[0], sets[2]?.[5]].filter((one) => one !== undefined))
    }
    const plan = {
      contract: { accountId: ACCOUNT, currency: 'usd' },
      creditBefore: 0,
      usage: {
        ranges: [0, 1, 2].map((day) => ({
          piece: day,
          startAt: start + day * DAY_S,
          endAt: start + (day + 1) * DAY_S,
        })),
        named: new Map([
          ['metric_t', new Map(['model', 'region'].map((name) => [name, new Set(['a', 'b'])] as const))],
        ]),
      },
    }
    const expectLatest = async (when: string) => {
      const { usage } = await readBy(plan)
      const found = [...usage.values()].flat().map((row) => ({
        source: row.source,
        count: Number(row.usage.count),
        quantity: formatAmount(row.usage.latest.quantity),
        id: row.usage.latest.id,
      }))
      expect(found, when).to.have.deep.members(
        latest.map(({ source, quantity: last, id }) => ({ source, count: 6, quantity: last, id })),
      )
    }
    await expectLatest('from the events')
    await takeRollupStep(stage.computing, { kind: 'rebuild', upTo: HOUR_S })
    await expectLatest('through rollups')
  })

  it('waits for its turn, of two at once, to read properties, and for none to read without', async function () {
    this.timeout(10_000)
    const ranges = [{ piece: 0, ...ALL_TIME }]
    const contract = { accountId: ACCOUNT, currency: 'usd' }
    const named = new Map([['metric_t', new Map([['model', new Set(['a'])]])]])
    const plain = { contract, creditBefore: 0, usage: { ranges, named: new Map() } }
    const byProperty = { ...plain, usage: { ranges, named } }
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    let held = 0
    const client = asking(stage.client, async (given, query) => {
      if (given.query.includes('property_tokens')) {
        held++
        await released
      }
      return query(given)
    })
    const reader = ratedUsageReader(client, rawReadSemaphore({ waitMs: 50, waitingMax: 1 }))
    const read = (plan: RatedPlan) => reader.read(NAMESPACE, plan)
    const first = [read(byProperty), read(byProperty)]
    await until(() => Promise.resolve(held === 2))
    const others = [failureOf(read(byProperty)), failureOf(read(byProperty))]
    await read(plain)
    for (const err of await Promise.all(others))
      expect(err).to.be.instanceOf(DomainError).with.property('code', 'overloaded')
    release()
    await Promise.all(first)
    expect(held).to.equal(2)
    await read(byProperty)
  })

  it('waits for a place for simulations, too, and no longer than who asks', async function () {
    this.timeout(10_000)
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    let held = 0
    const client = asking(stage.client, async (given, query) => {
      held++
      await released
      return query(given)
    })
    const semaphore = rawReadSemaphore({ atOnce: 1, waitMs: 5_000, waitingMax: 1 })
    const reader = simulatedUsageReader(client, semaphore)
    const gone = new AbortController()
    const wanted = {
      accounts: [ACCOUNT],
      periods: [ALL_TIME],
      sources: SOURCES,
      named: new Map(),
      rowsMax: 10_000,
    }
    const first = reader.listAccounts(NAMESPACE, ALL_TIME, 1, gone.signal)
    await until(() => Promise.resolve(held > 0))
    const waiting = failureOf(reader.read(NAMESPACE, wanted, gone.signal))
    const late = await failureOf(reader.read(NAMESPACE, wanted, gone.signal))
    expect(late).to.be.instanceOf(DomainError).with.property('code', 'overloaded')
    gone.abort()
    expect(await waiting)
      .to.be.instanceOf(DomainError)
      .with.property('code', 'overloaded')
    release()
    await first
    expect((await reader.read(NAMESPACE, wanted, new AbortController().signal))?.size).to.equal(0)
  })

  it('shares a question among invoices, as far as its parameters hold what is asked', async () => {
    const now = await stage.epochs.now()
    const start = dayOf(now) - 30 * DAY_S
    await store(makeReport({ source: 'metric_t', quantity: '2', occurredAt: start + 60 }))
    const planOf = (nth: number, pieces: number, values = 0): RatedPlan => ({
      contract: { accountId: ACCOUNT, currency: 'usd' },
      creditBefore: 0,
      usage: {
        ranges: Array.from({ length: pieces }, (_, piece) => ({
          piece,
          startAt: start + piece * 7 * 60 + nth,
          endAt: start + (piece + 1) * 7 * 60 + nth,
        })),
        named: new Map(
          values === 0
            ? []
            : [
                [
                  'metric_u',
                  new Map([['model', new Set(Array.from({ length: values }, (_, n) => `${nth} ${n}`))]]),
                ],
              ],
        ),
      },
    })
    const plans = (count: number, pieces: number, values?: number) =>
      Array.from({ length: count }, (_, nth) => planOf(nth, pieces, values))
    const reader = ratedUsageReader(countingClickHouse(stage.client, counts), rawReadSemaphore())
    const statements = async (work: () => Promise<RatedUsage[]>) => {
      counts.clear()
      const read = await work()
      for (const { usage } of read)
        expect([...usage.values()].flat().map(({ usage: { sum } }) => formatAmount(sum))).to.deep.equal(['2'])
      return counts.clickhouse.filter(({ query }) => query.includes('is_named')).length
    }
    expect(await statements(() => reader.readAll(NAMESPACE, plans(40, 10)))).to.equal(1)
    expect(
      await statements(() => Promise.all(plans(40, 10).map((plan) => reader.read(NAMESPACE, plan)))),
    ).to.be.below(4)
    // 20,000 cuts, and 15,000 values.
    expect(await statements(() => reader.readAll(NAMESPACE, plans(50, 200)))).to.be.within(3, 4)
    expect(await statements(() => reader.readAll(NAMESPACE, plans(3, 1, 5_000)))).to.equal(3)
  })

  it('begins and ends each invoice where it does, also where others that are read with it begin and end elsewhere', async () => {
    const start = dayOf(await stage.epochs.now()) - 30 * DAY_S
    const ranges = [
      [ACCOUNT, 0, 100],
      [OTHER_ACCOUNT, 150, 300],
    ] as const
    await store(
      ...[ACCOUNT, OTHER_ACCOUNT].flatMap((accountId) =>
        [90, 120, 160, 290, 310].map((second) =>
          makeReport({ accountId, source: 'metric_t', quantity: String(second), occurredAt: start + second }),
        ),
      ),
    )
    const plans = ranges.map(([accountId, from, to]): RatedPlan => ({
      contract: { accountId, currency: 'usd' },
      creditBefore: 0,
      usage: { ranges: [{ piece: 0, startAt: start + from, endAt: start + to }], named: new Map() },
    }))
    for (const order of [plans, plans.toReversed()]) {
      const read = await ratedUsageReader(stage.client, rawReadSemaphore()).readAll(NAMESPACE, order)
      const sums = read.map(({ usage }) => usage.get(0)?.map((row) => formatAmount(row.usage.sum)))
      expect(order === plans ? sums : sums.reverse()).to.deep.equal([['90'], ['450']])
    }
  })

  it('refuses more values than a question can name', async () => {
    const values = new Set(Array.from({ length: 8_001 }, (_, n) => String(n)))
    const planOf = (some: Set<string>): RatedPlan => ({
      contract: { accountId: ACCOUNT, currency: 'usd' },
      creditBefore: 0,
      usage: {
        ranges: [{ piece: 0, ...ALL_TIME }],
        named: new Map([['metric_t', new Map([['model', some]])]]),
      },
    })
    const err = await failureOf(readBy(planOf(values)))
    expect(err).to.be.instanceOf(DomainError).with.property('code', 'unprocessable')
    values.delete('0')
    expect((await readBy(planOf(values))).usage.size).to.equal(0)
  })

  it('is none where there is nothing to read', async () => {
    counts.clear()
    const plan = {
      contract: { accountId: ACCOUNT, currency: 'usd' },
      creditBefore: -5,
      usage: { ranges: [{ piece: 0, startAt: -10, endAt: 0 }], named: new Map() },
    }
    const { usage, currencyUsage } = await readBy(plan, countingClickHouse(stage.client, counts))
    expect(usage.size).to.equal(0)
    expect(currencyUsage).to.deep.equal(RATIO_ZERO)
    expect(counts.clickhouse.filter(({ query }) => query.includes('usage_events'))).to.deep.equal([])
  })
})

const withProperties = (given: Properties) => ({
  properties: JSON.stringify(given),
  propertyPairs: propertyPairs(given),
})

function timeOf(at: Time, { slotS, isOld }: History, now: number): number {
  // Not in each history, because this makes many days to roll up. Times are near midnight in months of long ago, and
  // near noon where days are read by slots.
  if ('old' in at && isOld && at.old > 100) return dayOf(now) - at.old * DAY_S + at.shift
  if ('old' in at) return dayOf(now) - (isOld ? at.old : at.old % 4) * DAY_S - DAY_S / 2 + at.shift
  if ('day' in at) return Math.min(now - 30, dayOf(now) - at.day * DAY_S + at.shift)
  if ('slot' in at) return now - (now % slotS) - at.slot * slotS + (at.shift % slotS)
  return now - (now % HOUR_S) - at.hour * HOUR_S + at.shift
}

/** All rows of a history, in any order: reports, repeated reports, and corrections. */
function rowsOf(drawn: History, now: number): UsageEvent[] {
  const rows = drawn.events.flatMap(({ isElsewhere, at, acceptedSecond, properties: given, ...one }) => {
    const report = makeReport({
      namespaceId: isElsewhere === 'namespace' ? OTHER_NAMESPACE : NAMESPACE,
      accountId: isElsewhere === 'account' ? OTHER_ACCOUNT : ACCOUNT,
      source: one.source,
      quantity: one.quantity,
      occurredAt: timeOf(at, drawn, now),
      acceptedAt: (now - 1_000 + acceptedSecond) * 1_000_000,
      ...withProperties(given),
    })
    const made = [report, ...(one.isRepeated ? [report] : [])]
    let newest = report
    for (const correction of one.corrections) {
      const change =
        correction === 'void'
          ? { voided: true }
          : 'quantity' in correction
            ? correction
            : withProperties(correction.properties)
      newest = makeCorrection(newest, change)
      made.push(newest)
      if (correction === 'void') break
    }
    return made
  })
  return rows
    .map((row, n) => ({ row, place: drawn.order[n % drawn.order.length] ?? 0 }))
    .sort((a, b) => a.place - b.place)
    .map(({ row }) => row)
}

const plansOf = (drawn: History, now: number): RatedPlan[] =>
  drawn.plans.map(({ ranges, isAsOf, rates, rateCount, creditBefore }) => ({
    contract: { accountId: ACCOUNT, currency: 'usd' },
    creditBefore: timeOf(creditBefore, drawn, now),
    usage: {
      ranges: ranges.map(([one, two], nth) => ({
        piece: 2 * nth + 1,
        ...rangeOf(one, two, isAsOf, drawn, now),
      })),
      named: namedValues([...rates.slice(0, rateCount), ...(rateCount === 3 ? [ofCurrency] : [])]),
    },
  }))

/**
 * Plans of two accounts, one of them with another currency. Plans that are read together must get the same usage as
 * alone.
 */
const plansOfBoth = (drawn: History, now: number): RatedPlan[] =>
  plansOf(drawn, now).flatMap((plan, nth) => [
    plan,
    { ...plan, contract: { accountId: OTHER_ACCOUNT, currency: nth % 2 === 0 ? 'usd' : 'eur' } },
  ])

/** The currency of the contract may also have rates by property. */
const ofCurrency = {
  ...{ id: '4', startsAt: 0, endsAt: null, source: 'usd', aggregation: 'sum' as const },
  ...{ filters: [{ property: 'region', values: ['d', '1'] }], groupBy: null, prices: [], priceId: 'p' },
}

function rangeOf(one: Time, two: Time, isAsOf: boolean, drawn: History, now: number): TimeRange {
  const [a, b] = [timeOf(one, drawn, now), timeOf(two, drawn, now)]
  return { startAt: Math.min(a, b), endAt: isAsOf ? now - 450 : Math.max(a, b) }
}
