import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { formatAmount } from '../../../shared/amount/amount.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { GROUP_LIMITS, groupedUsageReader } from '../../../shared/clickhouse/usage/grouped-usage.ts'
import { rawReadSemaphore } from '../../../shared/clickhouse/usage/raw-read-semaphore.ts'
import { monthOf } from '../../../shared/domain/month.ts'
import { type Properties, propertyPairs } from '../../../shared/domain/properties.ts'
import { ALL_TIME } from '../../../shared/domain/time-range.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { countingClickHouse, QueryCounts, usageQueriesOf } from '../../support/count-queries.ts'
import { failureOf } from '../../support/failure-of.ts'
import { compareGroups, type GroupAsk, naiveGroups } from '../../support/naive-groups.ts'
import { asking } from '../../support/pausing.ts'
import { type RollupStage, startRollupStage } from '../../support/rollup-stage.ts'
import { storeAsLoader, takeRollupStep } from '../../support/rollup-steps.ts'
import { makeCorrection, makeReport } from '../../support/usage-event.ts'
import { UsageRows } from '../../support/usage-rows.ts'

const DAY_S = 86_400
/** The last second of a month, in the past of every test run. */
const EDGE = Date.UTC(2026, 1, 1) / 1_000
const ACCOUNTS = ['a', 'b', 'c'].map((digit) => `account_${digit.repeat(32)}`)
/** JavaScript writes it as a whole number of more than 64 bits, with which ClickHouse cannot read the document. */
const BIG = 100_000_000_000_000_000_000

const quantity = fc.constantFrom(
  ...['1', '-1', '2.5', '7', '0.000000000000000001', '-0.000000000000000002'],
  ...['99999999999999999999', '-99999999999999999999.999999999999999999'],
)
const value = fc.oneof(
  fc.constantFrom<unknown>('large', 'small', '1', 1, '1.0', 1.5, 'true', true, false, null, 'null', ''),
  fc.constantFrom<unknown>(['large'], { model: 'large' }, [], {}, 'a=b', 'é', '𝛼', '\uffff', '"q"\\', '\n'),
  fc.constantFrom<unknown>(BIG, -BIG, BIG / 5, String(BIG), 1e21, '1e21', '1e+21', 1.5e300, 5e-324, -1e-7),
  fc.constantFrom<unknown>(2 ** 53, 2 ** 63, 2 ** 64, -(2 ** 63), -(2 ** 64), 123e18, 0.1, -0),
  fc.constantFrom<unknown>('𝛼'.repeat(500), '𝛼'.repeat(501), 'x'.repeat(501)),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string({ maxLength: 4 }),
)
const properties: fc.Arbitrary<Properties> = fc.record(
  {
    model: value,
    'gen_ai.model': fc.constantFrom<unknown>('large', 1, BIG),
    nested: fc.constant({ model: 'nested', other: [{ model: 'deep' }] }),
    // It makes the document one that ClickHouse cannot read.
    other: fc.constantFrom<unknown>(BIG, 1, { inner: [BIG] }),
  },
  { requiredKeys: [] },
)
const event = fc.record({
  account: fc.nat({ max: ACCOUNTS.length - 1 }),
  source: fc.constantFrom('usd', 'usd', 'usd', 'eur'),
  quantity,
  occurredAt: fc
    .tuple(fc.constantFrom(EDGE, EDGE - DAY_S, EDGE - 40 * DAY_S), fc.integer({ min: -1, max: 1 }))
    .map(([at, shift]) => at + shift),
  properties,
  corrections: fc.array(
    fc.oneof(
      quantity.map((amount) => ({ quantity: amount })),
      properties.map((given) => ({ properties: given })),
      fc.constant('void' as const),
    ),
    { maxLength: 2 },
  ),
  isRepeated: fc.boolean(),
})
const ask = fc.record({
  start: fc.constantFrom(0, EDGE - 40 * DAY_S, EDGE - 1, EDGE),
  end: fc.constantFrom(ALL_TIME.endAt, EDGE, EDGE + 1, EDGE - DAY_S),
  aggregation: fc.constantFrom(...(['sum', 'min', 'max', 'avg', 'latest', 'count'] as const)),
  period: fc.constantFrom(undefined, 'day' as const, 'month' as const),
  account: fc.option(fc.constantFrom(...ACCOUNTS), { nil: undefined, freq: 4 }),
  property: fc.constantFrom(undefined, 'model', 'model', 'model', 'gen_ai.model', 'missing'),
  limit: fc.integer({ min: 1, max: 4 }),
})
type Ask = typeof ask extends fc.Arbitrary<infer T> ? T : never
const world = fc.record({
  events: fc.array(event, { minLength: 1, maxLength: 30 }),
  inserts: fc.integer({ min: 1, max: 3 }),
  asks: fc.array(ask, { minLength: 2, maxLength: 4 }),
})

const PLAIN: GroupAsk = {
  ...{ range: ALL_TIME, source: 'usd', accountId: undefined, aggregation: 'sum' },
  ...{ period: undefined, limit: 10, property: 'model' },
}

/** Less than the groups would take if each period had them. */
const MEMORY_BYTES = 72 * 1_024 * 1_024

describe('usage by group', function () {
  this.timeout(180_000)
  let stage: RollupStage

  before(async () => {
    stage = await startRollupStage('grouped_usage', 300)
    // Merges would collapse repeated rows before they are read.
    await stage.client.command({ query: 'SYSTEM STOP MERGES usage_events' })
  })
  after(() => stage.close())

  const store = (events: readonly UsageEvent[]) =>
    usageEventRepository(stage.writing).insertLines(Buffer.from(events.map(usageEventToLine).join('\n')))
  const makeReader = (client = stage.client, limits = GROUP_LIMITS) =>
    groupedUsageReader(client, rawReadSemaphore(), limits)
  const withProperties = (given: Properties) => ({
    properties: JSON.stringify(given),
    propertyPairs: propertyPairs(given),
  })
  /** Stores one event for each set of properties; the nth has the quantity n + 1. */
  async function storeEach(sets: readonly Properties[], fields: Partial<UsageEvent> = {}) {
    const namespaceId = randomUUID()
    const rows = new UsageRows()
    const events = sets.map((given, n) =>
      makeReport({
        namespaceId,
        quantity: String(n + 1),
        occurredAt: EDGE,
        ...withProperties(given),
        ...fields,
      }),
    )
    rows.store(events)
    await store(events)
    return { namespaceId, model: rows.model(namespaceId), rows }
  }

  const rowsOf = (
    namespaceId: string,
    drawn: (typeof world extends fc.Arbitrary<infer T> ? T : never)['events'],
  ) =>
    drawn.flatMap(({ account, properties: given, corrections, isRepeated, ...fields }, n) => {
      const report = makeReport({
        namespaceId,
        ...fields,
        accountId: ACCOUNTS[account] ?? '',
        acceptedAt: EDGE * 1_000_000 + (n >> 1), // two at once, so that ids decide
        ...withProperties(given),
      })
      const rows = [report, ...(isRepeated ? [report] : [])]
      let newest = report
      for (const change of corrections) {
        if (newest.voided) break
        newest = makeCorrection(
          newest,
          change === 'void'
            ? { voided: true }
            : 'properties' in change
              ? withProperties(change.properties)
              : change,
        )
        rows.push(newest)
      }
      return rows
    })

  const askOf = ({ start, end, account, ...drawn }: Ask): GroupAsk => ({
    ...drawn,
    range: { startAt: Math.min(start, end), endAt: Math.max(start, end) },
    source: 'usd',
    accountId: account,
  })

  it('equals plain loops over random events, with and without rollups, whatever their properties are', async () => {
    let worlds = 0
    await fc.assert(
      fc.asyncProperty(world, async (drawn) => {
        const namespaceId = randomUUID()
        const rows = rowsOf(namespaceId, drawn.events)
        const stored = new UsageRows()
        stored.store(rows)
        const size = Math.ceil(rows.length / drawn.inserts)
        // The newest versions first, so that the order of arrival does not decide.
        const arriving = rows.toReversed()
        for (let from = 0; from < rows.length; from += size)
          await storeAsLoader(stage, ...arriving.slice(from, from + size))
        // First without rollups, then through rollups, with marks and without.
        if (++worlds === 8) await takeRollupStep(stage.computing, { kind: 'rebuild', upTo: 300 })
        if (worlds > 8 && worlds % 3 === 0) await takeRollupStep(stage.computing, { kind: 'late' })
        const model = stored.model(namespaceId)
        const reader = makeReader()
        for (const one of drawn.asks) await compareGroups(reader, namespaceId, model, askOf(one), 'random')
      }),
      { numRuns: 30, interruptAfterTimeLimit: 120_000, endOnFailure: true },
    )
    expect(worlds).to.be.at.least(12)
  })

  it('finds the largest values also where their events are read in two ways', async () => {
    // With 1e20 elsewhere ClickHouse cannot read the document, and so the value of the model.
    const { namespaceId, model } = await storeEach([
      { model: 'a' },
      { model: 'b' },
      { model: 'a', big: BIG },
      { model: 'c', big: BIG },
      { model: 'd' },
      { big: BIG },
      {},
    ])
    const counts = new QueryCounts()
    const reader = makeReader(countingClickHouse(stage.client, counts))
    for (const aggregation of ['sum', 'min', 'max', 'avg', 'latest', 'count'] as const)
      for (const limit of [1, 3, 5])
        await compareGroups(
          reader,
          namespaceId,
          model,
          { ...PLAIN, aggregation, limit, period: limit === 3 ? 'day' : undefined },
          'two ways',
        )
    counts.clear()
    await compareGroups(reader, namespaceId, model, { ...PLAIN, limit: 1 }, 'two ways')
    expect(counts.clickhouse, 'two rankings, and the usage').to.have.length(3)
  })

  it('ranks groups that the text path makes smaller, and names those that take their place', async () => {
    // As ClickHouse reads them, a and b have the largest averages. Their other events make them the smallest.
    const namespaceId = randomUUID()
    const rows = new UsageRows()
    const events = [
      ...['a', 'b'].map((name) => [name, '100', {}] as const),
      ...['a', 'b'].map((name) => [name, '-1000', { big: BIG }] as const),
      ...['c', 'd', 'e'].map((name, n) => [name, String(n + 1), {}] as const),
    ].map(([name, amount, more]) =>
      makeReport({ namespaceId, quantity: amount, ...withProperties({ model: name, ...more }) }),
    )
    rows.store(events)
    await store(events)
    const model = rows.model(namespaceId)
    for (const aggregation of ['sum', 'min', 'avg'] as const)
      for (const limit of [1, 2, 3])
        await compareGroups(makeReader(), namespaceId, model, { ...PLAIN, aggregation, limit }, 'smaller')
  })

  it('orders averages as they are shown, rounded half to even', async () => {
    const namespaceId = randomUUID()
    const rows = new UsageRows()
    const unit = '0.000000000000000001'
    const sets: Record<string, string[]> = {
      half: ['0', unit],
      odd: [unit, '0.000000000000000002'],
      third: ['0', '0', unit],
      // An average that is rounded to the same quantity is ranked by its name.
      two: ['0.000000000000000002'],
      aMinusTwo: ['-0.000000000000000002'],
      minusHalf: ['0', `-${unit}`],
      minusOdd: [`-${unit}`, '-0.000000000000000002'],
      large: ['99999999999999999999.999999999999999999', '99999999999999999999.999999999999999998'],
      small: ['-99999999999999999999.999999999999999999', '-99999999999999999999.999999999999999998'],
    }
    const events = Object.entries(sets).flatMap(([name, amounts]) =>
      amounts.map((amount) =>
        makeReport({ namespaceId, quantity: amount, ...withProperties({ model: name }) }),
      ),
    )
    rows.store(events)
    await store(events)
    for (const limit of [1, 2, 3, 4, 5, 6, 7, 8, 9])
      await compareGroups(
        makeReader(),
        namespaceId,
        rows.model(namespaceId),
        { ...PLAIN, aggregation: 'avg', limit },
        'averages',
      )
  })

  it('names many long values, which are sent as tokens', async () => {
    const { namespaceId, model } = await storeEach(
      Array.from({ length: 300 }, (_, n) => ({ model: `${'é'.repeat(490)}${n}` })),
    )
    await compareGroups(makeReader(), namespaceId, model, { ...PLAIN, limit: 200 }, 'long')
  })

  it('counts the groups of the rest once, not in each period', async () => {
    const namespaceId = randomUUID()
    const [values, days] = [9_000, 100]
    const second = `${EDGE} - ${DAY_S} * (1 + intDiv(number, ${values}))`
    await stage.client.command({
      query: `INSERT INTO usage_events (namespace_id, account_id, source, occurred_at, event_id, quantity, properties,
          accepted_at, version)
        SELECT '${namespaceId}', '${ACCOUNTS[0]}', 'usd', ${second},
          concat('event_', lower(hex(toUInt32(${second}))), leftPad(lower(hex(number)), 24, '0')), 1,
          concat('{"model":', toString(number % ${values}), '}'), 1, 1
        FROM numbers(${values * days})`,
    })
    // Each thread has its own memory, and a machine may have many cores.
    const client = asking(stage.client, (given, query) =>
      query({ ...given, clickhouse_settings: { ...given.clickhouse_settings, max_threads: 2 } }),
    )
    const reader = makeReader(client, { ...GROUP_LIMITS, memory: MEMORY_BYTES })
    const { rest } = await reader.byProperty(namespaceId, { ...PLAIN, period: 'day' }, 'model')
    expect(rest?.groups).to.equal(values - PLAIN.limit)
    expect(rest?.periods.size).to.equal(days)
    expect(
      [...(rest?.periods.values() ?? [])].every(({ count }) => count === BigInt(values - PLAIN.limit)),
    ).to.equal(true)
  })

  it('refuses what takes too much memory in ClickHouse', async () => {
    const { namespaceId } = await storeEach([{ model: 'a' }])
    const limited = makeReader(stage.client, { ...GROUP_LIMITS, memory: 1_000 })
    for (const err of [
      await failureOf(limited.byProperty(namespaceId, PLAIN, 'model')),
      await failureOf(limited.byAccount(namespaceId, PLAIN)),
    ]) {
      expect(err).to.be.instanceOf(DomainError).with.property('code', 'unprocessable')
      expect((err as Error).message).to.include('there are too many groups and periods')
    }
  })

  it('refuses more values, and more texts that ClickHouse cannot read, than the limits', async () => {
    const { namespaceId } = await storeEach([{ model: 'a' }, { model: 'b' }, { model: 'c' }, { model: 'a' }])
    const limited = makeReader(stage.client, { ...GROUP_LIMITS, values: 2, texts: 1 })
    const failure = async (given: string, reader = limited) =>
      failureOf(reader.byProperty(given, { ...PLAIN, limit: 1 }, 'model'))
    const expectUnprocessable = (err: unknown, text: string) => {
      expect(err).to.be.instanceOf(DomainError).with.property('code', 'unprocessable')
      expect((err as DomainError).message).to.contain(text)
    }
    expectUnprocessable(await failure(namespaceId), 'property: it has more than 2 values')
    const enough = makeReader(stage.client, { ...GROUP_LIMITS, values: 3 })
    expect((await enough.byProperty(namespaceId, PLAIN, 'model')).data).to.have.length(3)
    // Far more values than the limit: ClickHouse itself stops.
    const many = await storeEach(Array.from({ length: 100 }, (_, n) => ({ model: n })))
    expectUnprocessable(await failure(many.namespaceId), 'property: it has more than 2 values')

    const texts = await storeEach([
      { model: 'a', big: BIG },
      { model: 'b', big: BIG },
    ])
    expectUnprocessable(await failure(texts.namespaceId), 'property: too many events have a whole number')
    const large = makeReader(stage.client, { ...GROUP_LIMITS, bytes: 10 })
    expectUnprocessable(await failure(texts.namespaceId, large), 'property: too many events')
  })

  it('reads again when an unreadable text with a new value arrives in the meantime', async () => {
    const { namespaceId, rows } = await storeEach([{ model: 'a' }, { model: 'b' }])
    let isRanked = false
    const client = asking(stage.client, async (given, query) => {
      const answer = await query(given)
      if (!isRanked && given.query.includes('LIMIT {atMost:UInt32}')) {
        isRanked = true
        const late = makeReport({
          namespaceId,
          quantity: '50',
          ...withProperties({ model: 'new', big: BIG }),
        })
        rows.store([late])
        await store([late])
      }
      return answer
    })
    const read = await makeReader(client).byProperty(namespaceId, { ...PLAIN, limit: 1 }, 'model')
    expect(read.data.map(({ name, whole }) => [name, whole.sum && formatAmount(whole.sum)])).to.deep.equal([
      ['new', '50'],
    ])
    expect(naiveGroups(rows.model(namespaceId), { ...PLAIN, limit: 1 }).rest?.groups).to.equal(2)
    expect(read.rest?.groups).to.equal(2)
  })

  it('counts the usage of the running day once, of each table that has a part of it', async () => {
    const namespaceId = randomUUID()
    const now = await stage.epochs.now()
    const today = now - (now % DAY_S)
    const rows = new UsageRows()
    const times = [
      monthOf(now),
      today - DAY_S,
      today,
      today + 1,
      now - 7_200,
      now - 1_200,
      now - 301,
      now - 1,
      now,
    ]
    const events = times.flatMap((occurredAt, n) =>
      ACCOUNTS.slice(n % 2).map((accountId) =>
        makeReport({ namespaceId, accountId, occurredAt, quantity: String(n + 1), ...withProperties({ n }) }),
      ),
    )
    rows.store(events)
    await store(events)
    const model = rows.model(namespaceId)
    for (const upTo of [7_000, 300]) {
      await takeRollupStep(stage.computing, { kind: 'rebuild', upTo })
      for (const period of [undefined, 'day', 'month'] as const)
        for (const property of [undefined, 'n'])
          for (const range of [ALL_TIME, { startAt: today, endAt: now }])
            await compareGroups(
              makeReader(),
              namespaceId,
              model,
              { ...PLAIN, range, period, property, limit: 2 },
              `closed up to ${upTo} s ago`,
            )
    }
  })

  it('asks a fixed number of queries, and reads months that have ended as months', async () => {
    const namespaceId = randomUUID()
    const now = await stage.epochs.now()
    const month = monthOf(monthOf(now) - DAY_S)
    const accountIds = Array.from({ length: 40 }, (_, n) => `account_${String(n).padStart(32, '0')}`)
    const rows = new UsageRows()
    const events = accountIds.flatMap((accountId) =>
      [month, month + 9 * DAY_S, monthOf(now) - 1].map((occurredAt) =>
        makeReport({ namespaceId, accountId, occurredAt }),
      ),
    )
    rows.store(events)
    await store(events)
    await takeRollupStep(stage.computing, { kind: 'rebuild', upTo: 300 })
    const counts = new QueryCounts()
    const reader = makeReader(countingClickHouse(stage.client, counts))
    const range = { startAt: month, endAt: monthOf(now) }
    const model = rows.model(namespaceId)
    const tablesOf = async (asked: GroupAsk) => {
      counts.clear()
      await compareGroups(reader, namespaceId, model, asked, 'an ended month')
      const usage = usageQueriesOf(counts).filter(({ query }) => !query.includes('usage_dirty_slots'))
      expect(usageQueriesOf(counts)).to.have.length(3)
      return usage.map(({ query }) => [...query.matchAll(/FROM (usage_\w+)/g)].map(([, table]) => table))
    }
    const byAccount = { ...PLAIN, property: undefined, range, limit: 7 }
    expect(await tablesOf(byAccount)).to.deep.equal([['usage_by_month'], ['usage_by_month']])
    expect(await tablesOf({ ...byAccount, period: 'day' }), 'its days').to.deep.equal([
      ['usage_by_month'],
      ['usage_by_day'],
    ])
    counts.clear()
    await compareGroups(reader, namespaceId, model, { ...PLAIN, range }, 'by property')
    expect(counts.clickhouse).to.have.length(2)
  })
})
