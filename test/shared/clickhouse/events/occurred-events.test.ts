import { expect } from 'chai'
import fc from 'fast-check'
import type { ClickHouse } from '../../../../shared/clickhouse/clickhouse.ts'
import { occurredEvents, type OccurredFilter } from '../../../../shared/clickhouse/events/occurred-events.ts'
import { usageEventRepository } from '../../../../shared/clickhouse/events/usage-events.ts'
import { ROLLUP_TABLES } from '../../../../shared/clickhouse/rollups/rollup-table-names.ts'
import { dayOf } from '../../../../shared/clickhouse/rollups/usage-cover.ts'
import { rawReadSemaphore } from '../../../../shared/clickhouse/usage/raw-read-semaphore.ts'
import type { ListOrder } from '../../../../shared/domain/page.ts'
import { type Properties, propertyPairs } from '../../../../shared/domain/properties.ts'
import { ALL_TIME, DAY_S } from '../../../../shared/domain/time-range.ts'
import type { UsageEvent } from '../../../../shared/domain/usage-event.ts'
import { usageEventToLine } from '../../../../shared/usage-lines/log-line.ts'
import { storeLateCoarsely } from '../../../support/coarse-marks.ts'
import { countingClickHouse, QueryCounts } from '../../../support/count-queries.ts'
import { type RollupStage, setSlotLength, startRollupStage } from '../../../support/rollup-stage.ts'
import { takeRollupStep } from '../../../support/rollup-steps.ts'
import { ACCOUNT, makeCorrection, makeReport, NAMESPACE } from '../../../support/usage-event.ts'
import { UsageRows } from '../../../support/usage-rows.ts'

/** The number of worlds; undefined runs worlds for a limited time. */
const WORLDS = process.env['FAULT_LONG'] === '1' ? 200 : undefined
const SHORT_MS = 6_000

const HOUR_S = 3_600
const OTHER_NAMESPACE = '22222222-0000-7000-8000-000000000001'
const ACCOUNTS = [ACCOUNT, `account_${'b'.repeat(32)}`]
const SOURCES = ['usd', `metric_${'c'.repeat(32)}`]
/** A value whose token ends with a zero byte, which ClickHouse's index does not find by itself. */
const VALUES = ['large', 'small', '1', 'zero 176'] as const

/** Times before now, in seconds. Many events have one of few times, so that ids decide. */
const age = fc.oneof(
  fc.constantFrom(10, 11, 700, 701, HOUR_S, 3 * HOUR_S, 26 * HOUR_S, 26 * HOUR_S + 1, 50 * HOUR_S),
  fc
    .tuple(fc.constantFrom(3, 10, 32, 33, 34, 41, 400), fc.constantFrom(0, 1, 299))
    .map(([d, s]) => d * DAY_S + s),
)
const properties = fc.record(
  { model: fc.constantFrom<unknown>(...VALUES, 1, null, ['large']) },
  { requiredKeys: [] },
)
const event = fc.record({
  age,
  account: fc.nat({ max: 1 }),
  source: fc.nat({ max: 1 }),
  isElsewhere: fc.constantFrom(false, false, false, true),
  properties,
  corrections: fc.array(
    fc.oneof(fc.record({ properties }), fc.constant('void' as const), fc.constant('quantity' as const)),
    { maxLength: 2 },
  ),
  isRepeated: fc.boolean(),
})
const rows = fc.array(fc.nat({ max: 80 }), { minLength: 1, maxLength: 12 })
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('store' as const),
      rows,
      marks: fc.constantFrom('accounts' as const, 'accounts' as const, 'slots' as const, 'days' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('late' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('close' as const), upTo: fc.constantFrom(300, 3 * HOUR_S) }),
  },
)
const ask = fc.record({
  order: fc.constantFrom<ListOrder>('oldest', 'newest'),
  limit: fc.constantFrom(1, 2, 3, 7, 100),
  account: fc.option(fc.nat({ max: 1 }), { freq: 3, nil: undefined }),
  source: fc.option(fc.nat({ max: 1 }), { freq: 2, nil: undefined }),
  value: fc.option(fc.constantFrom(...VALUES), { freq: 2, nil: undefined }),
  from: fc.option(age, { freq: 2, nil: undefined }),
  to: fc.option(age, { freq: 2, nil: undefined }),
  /** Events that are reported while the list is read. */
  meanwhile: fc.array(fc.record({ age, account: fc.nat({ max: 1 }) }), { maxLength: 4 }),
})
const world = fc.record({
  slotS: fc.constantFrom(10, 60, 300),
  /** Rollups end this many seconds before now; undefined without rollups. */
  builtUpTo: fc.constantFrom(undefined, 300, 3 * HOUR_S, 30 * HOUR_S, 80 * HOUR_S),
  events: fc.array(event, { minLength: 10, maxLength: 40 }),
  steps: fc.array(step, { minLength: 2, maxLength: 5 }),
  asks: fc.array(ask, { minLength: 3, maxLength: 6 }),
})
type Drawn = typeof world extends fc.Arbitrary<infer T> ? T : never

describe('events by the time of their occurrence', function () {
  this.timeout(WORLDS === undefined ? 120_000 : 3_600_000)
  let stage: RollupStage
  let reading: ClickHouse
  const asked = new QueryCounts()

  before(async () => {
    stage = await startRollupStage('occurred_events', 300)
    reading = countingClickHouse(stage.client, asked)
  })
  after(() => stage.close())
  beforeEach(async () => {
    for (const table of ['usage_events', ...ROLLUP_TABLES, 'usage_dirty_slots'])
      await stage.client.command({ query: `TRUNCATE TABLE ${table}` })
    await setSlotLength(stage.client, 300)
    asked.clear()
  })

  const lister = () => occurredEvents(reading, rawReadSemaphore())
  const store = async (...events: readonly UsageEvent[]) => {
    await usageEventRepository(stage.writing).insertLines(
      Buffer.from(events.map(usageEventToLine).join('\n')),
    )
  }
  const rebuild = (upTo: number) => takeRollupStep(stage.computing, { kind: 'rebuild', upTo })
  const EVERYTHING: OccurredFilter = {
    accountId: undefined,
    source: undefined,
    range: ALL_TIME,
    property: undefined,
  }

  /** Reads a list to its end. @param between called after each page */
  async function readAll(
    filter: OccurredFilter,
    order: ListOrder,
    limit: number,
    between: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<{
    ids: string[]
    shorter: number
    events: { id: string; quantity: string; voided: boolean }[]
  }> {
    const list = lister()
    const events: { id: string; quantity: string; voided: boolean }[] = []
    let shorter = 0
    for (;;) {
      const after = events.at(-1)?.id
      const { items, hasMore } = await list.list(NAMESPACE, filter, { order, limit, after })
      expect(items.length).to.be.at.most(limit)
      events.push(...items.map(({ id, quantity, voided }) => ({ id, quantity, voided })))
      if (!hasMore) return { ids: events.map(({ id }) => id), shorter, events }
      expect(items.length, 'a page with a next page has events').to.be.at.least(1)
      if (items.length < limit) shorter++
      await between()
    }
  }

  const inOrder = (ids: readonly string[], order: ListOrder): string[] =>
    order === 'oldest' ? ids.toSorted() : ids.toSorted().reverse()

  it('equal a plain sort of random events, with rollups and without, while others are reported', async () => {
    const startedAt = performance.now()
    const readFrom = new Set<string>()
    let played = 0
    await fc.assert(
      fc.asyncProperty(world, async (drawn) => {
        if (WORLDS === undefined && played >= 4 && performance.now() - startedAt > SHORT_MS) return
        await play(drawn)
        for (const { query } of asked.clickhouse)
          for (const [, table = ''] of query.matchAll(/FROM (usage_\w+)/g)) readFrom.add(table)
        played++
      }),
      { numRuns: WORLDS ?? 40, endOnFailure: true },
    )
    process.stdout.write(`    (${played} worlds)\n`)
    if (played < 10) return
    for (const table of ['usage_by_slot', 'usage_by_slot_total', 'usage_by_day', 'usage_by_day_total'])
      expect([...readFrom], 'the tables that were read').to.include(table)
  })

  async function play(drawn: Drawn): Promise<void> {
    for (const table of ['usage_events', ...ROLLUP_TABLES, 'usage_dirty_slots'])
      await stage.client.command({ query: `TRUNCATE TABLE ${table}` })
    await setSlotLength(stage.client, drawn.slotS)
    const now = await stage.epochs.now()
    const all = rowsOf(drawn, now)
    const stored = new UsageRows()
    const first = all.filter((_, n) => n % 2 === 0)
    await store(...first)
    stored.store(first)
    if (drawn.builtUpTo !== undefined) await rebuild(drawn.builtUpTo)
    for (const one of drawn.steps)
      if (one.kind === 'store') {
        const some = one.rows.flatMap((place) => all[place % all.length] ?? [])
        await storeLateCoarsely(stage, one.marks, now)(some)
        stored.store(some)
      } else if (drawn.builtUpTo !== undefined) await takeRollupStep(stage.computing, one)
    for (const one of drawn.asks) await compare(drawn, one, now, stored)
  }

  async function compare(
    drawn: Drawn,
    one: Drawn['asks'][number],
    now: number,
    stored: UsageRows,
  ): Promise<void> {
    const filter: OccurredFilter = {
      accountId: one.account === undefined ? undefined : ACCOUNTS[one.account],
      source: one.source === undefined ? undefined : SOURCES[one.source],
      property: one.value === undefined ? undefined : { name: 'model', value: one.value },
      range: {
        startAt: one.from === undefined ? 0 : now - one.from,
        endAt: one.to === undefined ? ALL_TIME.endAt : now - one.to,
      },
    }
    const expected = () => stored.newest(NAMESPACE).filter((event) => isListed(filter, event))
    const before = expected()
    let n = 0
    const { ids, events } = await readAll(filter, one.order, one.limit, async () => {
      const next = one.meanwhile[n++]
      if (next === undefined) return
      const fresh = makeReport({
        accountId: ACCOUNTS[next.account] ?? '',
        occurredAt: now - next.age,
        acceptedAt: now * 1_000_000,
      })
      await storeLateCoarsely(stage, 'accounts', now)([fresh])
      stored.store([fresh])
    })
    const when = JSON.stringify({ now, drawn: { ...drawn, asks: [one] } })
    const after = new Map(expected().map((event) => [event.id, event]))
    expect(ids, when).to.deep.equal(inOrder([...new Set(ids)], one.order))
    expect(ids, `only events of the list; ${when}`).to.satisfy((list: string[]) =>
      list.every((id) => after.has(id)),
    )
    expect(ids, `every event that was there; ${when}`).to.include.members(before.map(({ id }) => id))
    for (const { id, ...shown } of events) {
      const { quantity, voided } = after.get(id) as UsageEvent
      expect(shown, when).to.deep.equal({ quantity, voided })
    }
  }

  it('have the events of a marked day, whose rollups do not know them', async () => {
    const now = await stage.epochs.now()
    const at = (days: number) => dayOf(now) - days * DAY_S + 100
    const known = [2, 5, 36, 50].map((days) => makeReport({ occurredAt: at(days) }))
    await store(...known)
    await rebuild(300)
    const late = [3, 40].map((days) => makeReport({ occurredAt: at(days) }))
    await storeLateCoarsely(stage, 'days', now)(late)
    const expected = [...known, ...late].map(({ id }) => id)
    for (const accountId of [undefined, ACCOUNT])
      for (const order of ['oldest', 'newest'] as const)
        for (const limit of [1, 2, 100])
          expect((await readAll({ ...EVERYTHING, accountId }, order, limit)).ids).to.deep.equal(
            inOrder(expected, order),
          )
  })

  it('have a second with more events than a page, each once', async () => {
    const now = await stage.epochs.now()
    const events = Array.from({ length: 40 }, (_, n) =>
      makeReport({ occurredAt: now - 2 * HOUR_S, accountId: ACCOUNTS[n % 2] ?? '' }),
    )
    await store(...events, ...events.slice(5, 20))
    for (const hasRollups of [false, true]) {
      if (hasRollups) await rebuild(300)
      for (const order of ['oldest', 'newest'] as const)
        for (const limit of [1, 7, 39, 40, 100]) {
          const { ids } = await readAll(EVERYTHING, order, limit)
          expect(ids).to.deep.equal(
            inOrder(
              events.map(({ id }) => id),
              order,
            ),
          )
        }
    }
  })

  it('have events that are all void, of days and slots that count nothing', async () => {
    const now = await stage.epochs.now()
    const reports = [2 * HOUR_S, 3 * DAY_S, 60 * DAY_S].map((ago) => makeReport({ occurredAt: now - ago }))
    await store(...reports, ...reports.map((report) => makeCorrection(report, { voided: true })))
    await rebuild(300)
    for (const accountId of [undefined, ACCOUNT])
      for (const limit of [1, 100]) {
        const { ids, events } = await readAll({ ...EVERYTHING, accountId }, 'newest', limit)
        expect(ids).to.deep.equal(
          inOrder(
            reports.map(({ id }) => id),
            'newest',
          ),
        )
        expect(events.every(({ voided }) => voided)).to.equal(true)
      }
  })

  it('make few queries for a page: the state of rollups, where events are, three reads, and the events', async () => {
    const now = await stage.epochs.now()
    const ages = Array.from({ length: 60 }, (_, days) => days * DAY_S + HOUR_S)
    await store(...ages.map((ago) => makeReport({ occurredAt: now - ago })))
    await rebuild(300)
    const list = lister()
    await list.list(NAMESPACE, EVERYTHING, { order: 'newest', limit: 1, after: undefined })
    for (const accountId of [undefined, ACCOUNT])
      for (const property of [undefined, { name: 'model', value: 'none' }]) {
        asked.clear()
        const filter = { ...EVERYTHING, accountId, property }
        await list.list(NAMESPACE, filter, { order: 'newest', limit: 100, after: undefined })
        expect(asked.clickhouse.length).to.be.at.most(9)
        const reads = asked.clickhouse.filter(({ query }) => /FROM usage_events/.test(query))
        expect(reads.length).to.be.at.most(4)
      }
  })
})

const isListed = ({ accountId, source, property, range }: OccurredFilter, event: UsageEvent): boolean =>
  (accountId === undefined || event.accountId === accountId) &&
  (source === undefined || event.source === source) &&
  event.occurredAt >= range.startAt &&
  event.occurredAt < range.endAt &&
  (property === undefined || event.propertyPairs.includes(`${property.name}=${property.value}`))

/** All rows of a world: reports, repeated reports and corrections. */
function rowsOf(drawn: Drawn, now: number): UsageEvent[] {
  return drawn.events.flatMap((one, n) => {
    const report = makeReport({
      ...withProperties(one.properties),
      namespaceId: one.isElsewhere ? OTHER_NAMESPACE : NAMESPACE,
      accountId: ACCOUNTS[one.account] ?? '',
      source: SOURCES[one.source] ?? '',
      occurredAt: now - one.age,
      acceptedAt: (now - 5) * 1_000_000 + n,
    })
    const made = [report, ...(one.isRepeated ? [report] : [])]
    let newest = report
    for (const correction of one.corrections) {
      newest = makeCorrection(
        newest,
        correction === 'void'
          ? { voided: true }
          : correction === 'quantity'
            ? { quantity: '7' }
            : withProperties(correction.properties),
      )
      made.push(newest)
      if (correction === 'void') break
    }
    return made
  })
}

const withProperties = (given: Properties) => ({
  properties: JSON.stringify(given),
  propertyPairs: propertyPairs(given),
})
