import { EventEmitter, once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { formatAmount, ZERO } from '../../../shared/amount/amount.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { dirtySlotRepository } from '../../../shared/clickhouse/rollups/dirty-slots.ts'
import { ROLLUP_TABLES } from '../../../shared/clickhouse/rollups/rollup-table-names.ts'
import { dayOf } from '../../../shared/clickhouse/rollups/usage-cover.ts'
import type { UsageReader } from '../../../shared/clickhouse/usage/usage-aggregates.ts'
import { usageThroughRollups } from '../../../shared/clickhouse/usage/usage-through-rollups.ts'
import { ALL_TIME, DAY_S } from '../../../shared/domain/time-range.ts'
import { measureOf, type UsageAggregate } from '../../../shared/domain/usage-aggregate.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { asking } from '../../support/pausing.ts'
import { EPOCH_CACHED_MS, type RollupStage, startRollupStage } from '../../support/rollup-stage.ts'
import { takeRollupStep } from '../../support/rollup-steps.ts'
import { until } from '../../support/until.ts'
import { ACCOUNT, makeCorrection, makeReport, NAMESPACE } from '../../support/usage-event.ts'

/** The largest possible quantity. Two of them do not fit into 128 bits. */
const LARGEST = '99999999999999999999.999999999999999999'
const SMALLEST = '0.000000000000000001'
/** Sums of twelve of one and three of the other, and of eight and two. */
const SUM = '1199999999999999999999.999999999999999991'
const SUM_OF_TWO = '799999999999999999999.999999999999999994'

const HOUR_S = 3_600

describe('the readers of usage', function () {
  this.timeout(60_000)
  let stage: RollupStage

  before(async () => {
    stage = await startRollupStage('usage_readers', 300)
    // Merges would collapse repeated rows.
    for (const table of ['usage_events', ...ROLLUP_TABLES])
      await stage.client.command({ query: `SYSTEM STOP MERGES ${table}` })
  })
  after(() => stage.close())

  const store = (event: UsageEvent) =>
    usageEventRepository(stage.writing).insertLines(Buffer.from(usageEventToLine(event)))

  /** Whether a query is for this account or namespace. */
  const isAskedOf = ({ query_params: params }: { query_params?: Record<string, unknown> }, id: string) =>
    JSON.stringify(params).includes(id)

  const sumIn = async (reader: UsageReader, namespaceId: string): Promise<string> => {
    const sum = (await reader.sumByAccount(namespaceId, [ACCOUNT])).get(ACCOUNT)?.get('usd')
    return formatAmount(sum ?? ZERO)
  }

  /** Stores five events that count, each twice, and one that does not. */
  async function storeAround(occurredAt: number): Promise<void> {
    const counting = [LARGEST, LARGEST, LARGEST, LARGEST, SMALLEST].map((quantity) =>
      makeReport({ occurredAt, quantity }),
    )
    const report = makeReport({ occurredAt, quantity: '7' })
    const amended = makeCorrection(report, { quantity: '8' })
    for (const event of [
      ...counting,
      report,
      amended,
      makeCorrection(amended, { voided: true }),
      ...counting,
    ])
      await store(event)
  }

  const shown = (usage: UsageAggregate) => [
    Number(measureOf(usage, 'count')),
    ...(['sum', 'min', 'max'] as const).map((measure) => formatAmount(measureOf(usage, measure))),
  ]

  /** Reads by all kinds of requests, of the account and of all accounts, over all time and over three hours. */
  async function ask(reader: UsageReader, now: number): Promise<unknown[]> {
    const recent = { startAt: now - 3 * HOUR_S, endAt: now + HOUR_S }
    const selections = [
      { range: ALL_TIME },
      { range: ALL_TIME, accountId: ACCOUNT, source: 'usd' },
      { range: recent, accountId: ACCOUNT },
    ]
    const answers: unknown[] = []
    for (const selection of selections) {
      const usage = (await reader.aggregate(NAMESPACE, selection)).get('usd')
      answers.push(usage && shown(usage))
      for (const period of ['day', 'month'] as const) {
        const periods = await reader.aggregateByPeriod(NAMESPACE, period, selection)
        const counts = [...periods.values()].map((usage) => Number(usage.get('usd')?.count ?? 0n))
        answers.push(counts.reduce((total, count) => total + count, 0))
      }
    }
    const sum = (await reader.sumByAccount(NAMESPACE, [ACCOUNT])).get(ACCOUNT)?.get('usd')
    return [...answers, sum && formatAmount(sum)]
  }

  it('count each event once, as it counts now, to the last digit, wherever they read it', async () => {
    const now = await stage.epochs.now()
    for (const occurredAt of [now - 2 * DAY_S, now - 2 * HOUR_S, now - 1]) await storeAround(occurredAt)
    const usage = [15, SUM, SMALLEST, LARGEST]
    const expected = [usage, 15, 15, usage, 15, 15, [10, SUM_OF_TWO, SMALLEST, LARGEST], 10, 10, SUM]
    expect(await ask(stage.raw, now), 'from the events').to.deep.equal(expected)
    expect(await ask(stage.rolled, now), 'without rollups').to.deep.equal(expected)
    for (const upTo of [30 * HOUR_S, HOUR_S, 3 * HOUR_S]) {
      await takeRollupStep(stage.computing, { kind: 'rebuild', upTo })
      expect(await ask(usageThroughRollups(stage.client), now), `closed up to ${upTo} s ago`).to.deep.equal(
        expected,
      )
    }
  })

  it('read accounts of the same id in several namespaces together, and each its own usage', async () => {
    const namespaces = [6, 7, 8].map((n) => `018cc251-f400-7000-8000-00000000000${n}`)
    const now = await stage.epochs.now()
    const ages = [0, 2 * HOUR_S, 3 * DAY_S, 60 * DAY_S]
    for (const [n, namespaceId] of namespaces.entries())
      for (const age of ages)
        for (let count = 0; count <= n; count++)
          await store(makeReport({ namespaceId, occurredAt: now - age - 10 - count }))
    await takeRollupStep(stage.computing, { kind: 'rebuild', upTo: HOUR_S })
    const reader = usageThroughRollups(stage.client)
    const expectAll = async (late: readonly number[]) => {
      const sums = await Promise.all(namespaces.map((id) => reader.sumByAccount(id, [ACCOUNT])))
      expect(sums.map((ofAll) => formatAmount(ofAll.get(ACCOUNT)?.get('usd') ?? ZERO))).to.deep.equal(
        namespaces.map((_, n) => String(ages.length * (n + 1) + (late[n] ?? 0))),
      )
    }
    await expectAll([])
    await expectAll([]) // from the cache
    await takeRollupStep(stage.computing, { kind: 'close', upTo: 0 })
    await expectAll([])
    // One of them has late usage. Only for this account events are read.
    const [, second = ''] = namespaces
    const slot = now - 5 * HOUR_S
    const mark = { namespaceId: second, accountId: ACCOUNT, slot: slot - (slot % 300), kind: 'slot' as const }
    await dirtySlotRepository(stage.writing).placePending([mark], '12', now)
    await store(makeReport({ namespaceId: second, occurredAt: slot }))
    await expectAll([0, 1, 0])
    await expectAll([0, 1, 0])
  })

  it('read together an account that they know to be closed up to different times, each up to its own', async () => {
    const [namespaceId, other] = ['018cc251-f400-7000-8000-000000000009', `account_${'e'.repeat(32)}`]
    const now = await stage.epochs.now()
    for (const age of [30 * 60, 3 * HOUR_S]) await store(makeReport({ namespaceId, occurredAt: now - age }))
    await takeRollupStep(stage.computing, { kind: 'rebuild', upTo: HOUR_S })
    // Two reads learn a new time before their queries run. A third read makes sure that both share the query for closed
    // usage.
    const gates = new EventEmitter()
    const [newest, closed] = [once(gates, 'newest'), once(gates, 'closed')]
    const held = { newest: 0, closed: 0 }
    const reader = usageThroughRollups(
      asking(stage.client, async (given, query) => {
        const isOf = (account: string) => isAskedOf(given, account)
        const isNewest = given.query.includes('FROM usage_dirty_slots')
        if (isNewest && isOf(ACCOUNT)) {
          held.newest++
          await newest
        }
        if (!isNewest && isOf(other)) {
          held.closed++
          await closed
        }
        return query(given)
      }),
    )
    const reads = [sumIn(reader, namespaceId)]
    await until(() => Promise.resolve(held.newest === 1))
    await takeRollupStep(stage.computing, { kind: 'close', upTo: 0 })
    await sleep(EPOCH_CACHED_MS)
    reads.push(sumIn(reader, namespaceId))
    await until(() => Promise.resolve(held.newest === 2))
    const third = reader.sumByAccount(namespaceId, [other])
    await until(() => Promise.resolve(held.closed === 1))
    gates.emit('newest')
    const sums = await Promise.all(reads)
    gates.emit('closed')
    expect((await third).size).to.equal(0)
    expect(sums).to.deep.equal(['2', '2'])
  })

  it('read marked usage of an account from its events, though another read of it that waits saw no mark yet', async () => {
    const [namespaceId, other] = ['018cc251-f400-7000-8000-000000000010', `account_${'f'.repeat(32)}`]
    const now = await stage.epochs.now()
    const occurredAt = now - 3 * HOUR_S
    const slot = {
      namespaceId,
      accountId: ACCOUNT,
      slot: occurredAt - (occurredAt % 300),
      kind: 'slot' as const,
    }
    await store(makeReport({ namespaceId, occurredAt }))
    await takeRollupStep(stage.computing, { kind: 'rebuild', upTo: HOUR_S })
    // One read finds no mark and the next one finds a mark, and both get their answers at once. A third read makes sure
    // that both share the query for closed usage.
    const gates = new EventEmitter()
    const [told, closed] = [once(gates, 'told'), once(gates, 'closed')]
    const held = { told: 0, closed: 0 }
    const reader = usageThroughRollups(
      asking(stage.client, async (given, query) => {
        const isOf = (account: string) => isAskedOf(given, account)
        const asksForMarks = given.query.includes('FROM usage_dirty_slots')
        if (!asksForMarks && isOf(other)) {
          held.closed++
          await closed
        }
        const answer = await query(given)
        if (asksForMarks && isOf(ACCOUNT)) {
          held.told++
          await told
        }
        return answer
      }),
    )
    const sumOf = () => sumIn(reader, namespaceId)
    const reads = [sumOf()]
    await until(() => Promise.resolve(held.told === 1))
    await dirtySlotRepository(stage.writing).placePending([slot], '14', now)
    await store(makeReport({ namespaceId, occurredAt }))
    reads.push(sumOf())
    await until(() => Promise.resolve(held.told === 2))
    const third = reader.sumByAccount(namespaceId, [other])
    await until(() => Promise.resolve(held.closed === 1))
    gates.emit('told')
    const sums = await Promise.all(reads)
    gates.emit('closed')
    expect((await third).size).to.equal(0)
    expect(sums).to.deep.equal(['1', '2'])
    expect(await sumOf(), 'whoever asks next').to.equal('2')
  })

  it('answer who has something cached while marks of other companies are looked for', async () => {
    const [cached, other] = [11, 12].map((n) => `018cc251-f400-7000-8000-0000000000${n}`) as [string, string]
    const now = await stage.epochs.now()
    for (const namespaceId of [cached, other])
      await store(makeReport({ namespaceId, occurredAt: now - 3 * HOUR_S }))
    await takeRollupStep(stage.computing, { kind: 'rebuild', upTo: HOUR_S })
    const gates = new EventEmitter()
    const go = once(gates, 'go')
    let held = 0
    const reader = usageThroughRollups(
      asking(stage.client, async (given, query) => {
        if (isAskedOf(given, other)) {
          held++
          await go
        }
        return query(given)
      }),
    )
    const sumOf = (namespaceId: string) => sumIn(reader, namespaceId)
    expect(await sumOf(cached)).to.equal('1')
    const [slow, quick] = [sumOf(other), sumOf(cached)]
    expect(await quick).to.equal('1')
    expect(held).to.equal(1)
    gates.emit('go')
    expect(await slow).to.equal('1')
  })

  it('read clean slots once that lie between late ones', async () => {
    const namespaceId = '018cc251-f400-7000-8000-000000000004'
    const now = await stage.epochs.now()
    const day = dayOf(now - DAY_S)
    const slots = Array.from({ length: 100 }, (_, n) => day + 300 * n)
    for (const occurredAt of slots) await store(makeReport({ namespaceId, occurredAt }))
    await takeRollupStep(stage.computing, { kind: 'rebuild', upTo: HOUR_S })
    const late = slots.filter((_, n) => n % 2 === 1)
    await dirtySlotRepository(stage.writing).placeReady(
      late.map((slot) => ({ namespaceId, accountId: ACCOUNT, slot, kind: 'slot' as const })),
      '11',
      now,
    )
    const reader = usageThroughRollups(stage.client)
    const sum = (await reader.sumByAccount(namespaceId, [ACCOUNT])).get(ACCOUNT)?.get('usd')
    expect(sum && formatAmount(sum)).to.equal('100')
    const usage = (await reader.aggregate(namespaceId, { range: ALL_TIME })).get('usd')
    expect(usage && shown(usage)).to.deep.equal([100, '100', '1', '1'])
  })

  it('read of the events the seconds that are asked for and no others of their five minutes', async () => {
    const short = await startRollupStage('usage_readers_short', 60)
    try {
      const now = await short.epochs.now()
      const bucket = dayOf(now) - DAY_S + 7_200
      for (const at of [0, 30, 60, 120, 180, 240, 299])
        await usageEventRepository(short.writing).insertLines(
          Buffer.from(usageEventToLine(makeReport({ occurredAt: bucket + at }))),
        )
      await takeRollupStep(short.computing, { kind: 'rebuild', upTo: HOUR_S })
      const late = [bucket + 60, bucket + 180]
      await dirtySlotRepository(short.writing).placeReady(
        late.map((slot) => ({ namespaceId: NAMESPACE, accountId: ACCOUNT, slot, kind: 'slot' as const })),
        '13',
        now,
      )
      const reader = usageThroughRollups(short.client)
      const countIn = async (from: number, to: number) =>
        Number(
          (await reader.aggregate(NAMESPACE, { range: { startAt: bucket + from, endAt: bucket + to } })).get(
            'usd',
          )?.count ?? 0,
        )
      expect(await countIn(0, 300)).to.equal(7)
      expect(await countIn(1, 299), 'within slots').to.equal(5)
      expect(await countIn(31, 59), 'within one').to.equal(0)
      expect(await countIn(30, 61)).to.equal(2)
    } finally {
      await short.close()
    }
  })

  it('read marked days from the events and the others from rollups, however the marked ones lie', async () => {
    const namespaceId = '018cc251-f400-7000-8000-000000000005'
    const now = await stage.epochs.now()
    const days = Array.from({ length: 60 }, (_, n) => dayOf(now) - (100 - n) * DAY_S)
    const report = (day: number, at: number) => store(makeReport({ namespaceId, occurredAt: day + at }))
    for (const day of days) await report(day, 0)
    await takeRollupStep(stage.computing, { kind: 'rebuild', upTo: HOUR_S })
    const dirty = dirtySlotRepository(stage.writing)
    const expectAll = async (count: number) => {
      const reader = usageThroughRollups(stage.client)
      const sum = (await reader.sumByAccount(namespaceId, [ACCOUNT])).get(ACCOUNT)?.get('usd')
      expect(sum && formatAmount(sum)).to.equal(String(count))
      const usage = (await reader.aggregate(namespaceId, { range: ALL_TIME })).get('usd')
      expect(usage && shown(usage)).to.deep.equal([count, String(count), '1', '1'])
    }
    // Runs of one to six days with one day between them, then nearly all days.
    const between = [1, 4, 8, 13, 19]
    const marks = [days.slice(0, 26).filter((_, n) => !between.includes(n)), days.slice(2, -1)]
    let count = days.length
    for (const [n, late] of marks.entries()) {
      await dirty.placeReady(
        late.map((slot) => ({ namespaceId, accountId: ACCOUNT, slot, kind: 'day' as const })),
        String(20 + n),
        now,
      )
      // Rollups lack this usage.
      for (const day of late) await report(day, n + 1)
      count += late.length
      await expectAll(count)
    }
  })

  it('know the latest event of several accounts by its second, then by acceptance, then by its id', async () => {
    const namespaceId = '018cc251-f400-7000-8000-000000000002'
    const now = await stage.epochs.now()
    const second = now - 2 * HOUR_S
    /** Makes one event for each account, in rising order of ids. */
    const madeAt = (source: string, seconds: readonly number[]) =>
      seconds
        .map((occurredAt, n) =>
          makeReport({ namespaceId, source, occurredAt, accountId: `account_${String(n).repeat(32)}` }),
        )
        .sort((a, b) => (a.id < b.id ? -1 : 1))
    const at = Array<number>(6).fill(second)
    const sets: Record<string, { events: UsageEvent[]; latest: number }> = {
      // The event with the smallest id was accepted last.
      eur: { events: madeAt('eur', at).map((event, n) => ({ ...event, acceptedAt: 9e14 - n })), latest: 0 },
      gbp: { events: madeAt('gbp', at).map((event) => ({ ...event, acceptedAt: 9e14 })), latest: 5 },
      // The event with the last second was accepted first.
      usd: {
        events: madeAt(
          'usd',
          at.map((one, n) => one + n),
        ).map((event, n) => ({ ...event, acceptedAt: 9e14 - n })),
        latest: 5,
      },
    }
    const expected: [string, string][] = []
    for (const [source, { events, latest }] of Object.entries(sets)) {
      for (const [n, event] of events.entries()) await store({ ...event, quantity: String(n + 1) })
      expected.push([source, String(latest + 1)])
    }
    const latestOf = async (reader: UsageReader, measures?: ['latest']) => {
      const usage = await reader.aggregate(namespaceId, { range: ALL_TIME, ...(measures && { measures }) })
      return [...usage].map(([source, one]) => [source, formatAmount(measureOf(one, 'latest'))]).sort()
    }
    expect(await latestOf(stage.raw), 'from the events').to.deep.equal(expected)
    for (const upTo of [HOUR_S, 3 * HOUR_S]) {
      await takeRollupStep(stage.computing, { kind: 'rebuild', upTo })
      for (const measures of [undefined, ['latest'] as ['latest']])
        expect(
          await latestOf(usageThroughRollups(stage.client), measures),
          `closed up to ${upTo} s ago`,
        ).to.deep.equal(expected)
    }
  })
})
