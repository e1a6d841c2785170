import { expect } from 'chai'
import fc from 'fast-check'
import { LOADER_POINTS, type LoaderPoint } from '../../../services/loader/crash-points.ts'
import { markLate } from '../../../services/loader/mark-late.ts'
import { ROLLUP_POINTS, type RollupPoint } from '../../../services/rollup/crash-points.ts'
import type { ClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { type DirtySlot, dirtySlotRepository } from '../../../shared/clickhouse/rollups/dirty-slots.ts'
import { rollupEpochRepository } from '../../../shared/clickhouse/rollups/rollup-epochs.ts'
import { ROLLUP_TABLES } from '../../../shared/clickhouse/rollups/rollup-table-names.ts'
import { dayOf } from '../../../shared/clickhouse/rollups/usage-cover.ts'
import { groupedUsageReader } from '../../../shared/clickhouse/usage/grouped-usage.ts'
import { rawReadSemaphore } from '../../../shared/clickhouse/usage/raw-read-semaphore.ts'
import type { UsageReader } from '../../../shared/clickhouse/usage/usage-aggregates.ts'
import { usageThroughRollups } from '../../../shared/clickhouse/usage/usage-through-rollups.ts'
import { ALL_TIME, DAY_S } from '../../../shared/domain/time-range.ts'
import { contentOf, reportVersion, type UsageEvent } from '../../../shared/domain/usage-event.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { subjectOf } from '../../../shared/usage-lines/log-line-subjects.ts'
import { coarseMarks } from '../../support/coarse-marks.ts'
import { countingClickHouse, QueryCounts } from '../../support/count-queries.ts'
import { compareGroups } from '../../support/naive-groups.ts'
import { pausing } from '../../support/pausing.ts'
import {
  countMarks,
  expectRollupsExact,
  type RollupStage,
  setSlotLength,
  startRollupStage,
} from '../../support/rollup-stage.ts'
import { crashingAt, ORPHAN_S, POINTS_OF, takeRollupStep, untilCrash } from '../../support/rollup-steps.ts'
import { makeCorrection, makeReport } from '../../support/usage-event.ts'
import { UsageRows } from '../../support/usage-rows.ts'
import { AGGREGATIONS, compareReader, type ModelledUsage, type ReaderAsk } from './compare-reader.ts'

/** The number of histories; undefined runs histories for a limited time. */
const HISTORIES = process.env['FAULT_LONG'] === '1' ? 300 : undefined
const SHORT_MS = 15_000
/** Half of the histories have usage of years, without which no months are read. */
const MONTHS_READ_WITHIN = 20

const HOUR_S = 3_600
const MARGIN_S = 15
const NAMESPACES = ['1', '2'].map((digit) => `${digit.repeat(8)}-0000-7000-8000-000000000001`)
const ACCOUNTS = ['a', 'b'].map((digit) => `account_${digit.repeat(32)}`)
const SOURCES = ['usd', `metric_${'c'.repeat(32)}`]
const EVENTS = 14

/** A time, in seconds from a fixed time of the history. */
const time = fc.record({
  from: fc.oneof(
    // Relative to now, or to closed slots.
    fc.record({ slotsBack: fc.integer({ min: 1, max: 12 }), before: fc.constantFrom(0, 900) }),
    fc.record({ daysBack: fc.constantFrom(0, 1, 2) }),
    fc.record({ hoursBack: fc.integer({ min: 1, max: 52 }) }),
    fc.record({ old: fc.constantFrom(10, 32, 33, 34, 35, 40, 400, 1_100) }),
  ),
  shift: fc.constantFrom(-1, 0, 0, 1, 9, 299),
})
type Time = typeof time extends fc.Arbitrary<infer T> ? T : never

const quantity = fc.constantFrom(
  ...['1', '-1', '2.5', '7', '0.000000000000000001', '99999999999999999999.999999999999999999'],
)
const event = fc.record({
  namespace: fc.constantFrom(0, 0, 0, 1),
  account: fc.nat({ max: ACCOUNTS.length - 1 }),
  source: fc.nat({ max: SOURCES.length - 1 }),
  quantity,
  at: time,
  /** Whether an event is accepted when it occurs. Otherwise it is accepted when the history begins, like an import. */
  isAcceptedAtOnce: fc.boolean(),
  corrections: fc.array(fc.oneof(quantity, fc.constant('void')), { maxLength: 2 }),
})
/** The indexes of some rows. */
const rows = fc.array(fc.nat({ max: 4 * EVENTS }), { minLength: 1, maxLength: 6 })
const marks = fc.constantFrom<'accounts' | 'slots' | 'days'>('accounts', 'accounts', 'slots', 'days')

/** Closing ends this many seconds before now. */
const upTo = fc.constantFrom(30 * HOUR_S, 25 * HOUR_S, 3 * HOUR_S, 900, 300)
/**
 * Whether the slots that are not closed yet are still current by the loader's clock: always, or until its rows are
 * stored.
 */
const goesOn = fc.constantFrom<'not' | 'until stored' | 'on'>('not', 'not', 'until stored', 'on')
const store = fc.record({ kind: fc.constant('store' as const), rows, marks, goesOn })
const close = fc.record({ kind: fc.constant('close' as const), upTo })
const late = fc.record({ kind: fc.constant('late' as const) })
const simple = fc.oneof({ weight: 3, arbitrary: store }, close, { weight: 3, arbitrary: late })
type Simple = typeof simple extends fc.Arbitrary<infer T> ? T : never

/** A step of another service, between the nth and the next statement of a step. */
const meanwhile = fc.option(fc.record({ after: fc.integer({ min: 1, max: 12 }), step: simple }), {
  nil: undefined,
})
const crash = (points: readonly string[]) =>
  fc.option(fc.constantFrom(...points), { freq: 2, nil: undefined })
const LOADER_CRASHES: readonly LoaderPoint[] = LOADER_POINTS.filter((point) =>
  ['loader-marked', 'loader-stored', 'loader-readied'].includes(point),
)
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ step: store, meanwhile, crash: crash(LOADER_CRASHES) }) },
  { weight: 3, arbitrary: fc.record({ step: close, meanwhile, crash: crash(POINTS_OF.close) }) },
  { weight: 4, arbitrary: fc.record({ step: late, meanwhile, crash: crash(POINTS_OF.late) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      step: fc.record({ kind: fc.constant('rebuild' as const), upTo }),
      meanwhile,
      crash: crash(POINTS_OF.rebuild),
    }),
  },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const ask = fc.record({
  namespace: fc.constantFrom(0, 0, 0, 1),
  start: fc.option(time, { freq: 3, nil: undefined }),
  end: fc.option(time, { freq: 3, nil: undefined }),
  account: fc.option(fc.nat({ max: ACCOUNTS.length - 1 }), { freq: 2, nil: undefined }),
  source: fc.option(fc.nat({ max: SOURCES.length - 1 }), { freq: 2, nil: undefined }),
})
type Ask = typeof ask extends fc.Arbitrary<infer T> ? T : never
/** A request for all usage of all accounts. */
const everything = (namespace: 0 | 1): Ask => ({
  namespace,
  start: undefined,
  end: undefined,
  account: undefined,
  source: undefined,
})
const history = fc.record({
  slotS: fc.constantFrom(10, 60, 300),
  /**
   * Whether there is usage of more than a few days ago. Then rollups are rebuilt at most once, because this takes long.
   */
  isOld: fc.boolean(),
  builtUpTo: upTo,
  events: fc.array(event, { minLength: EVENTS, maxLength: EVENTS }),
  steps: fc.array(step, { minLength: 4, maxLength: 12 }),
  asks: fc.array(ask, { minLength: 4, maxLength: 8 }),
})
type History = typeof history extends fc.Arbitrary<infer T> ? T : never

const TABLES = ['usage_events', ...ROLLUP_TABLES, 'usage_dirty_slots']

describe('random histories, read through rollups', function () {
  this.timeout(HISTORIES === undefined ? 300_000 : 7_200_000)
  let stage: RollupStage

  /** The queries of readers. */
  const asked = new QueryCounts()
  const crashes = new Map<string, number>()
  let reading: ClickHouse

  before(async () => {
    stage = await startRollupStage('rollup_histories', 300)
    reading = countingClickHouse(stage.client, asked)
  })
  after(() => stage.close())

  it('equal the events and a plain model, whatever state slots are in and wherever services crash', async () => {
    const startedAt = performance.now()
    let played = 0
    await fc.assert(
      fc.asyncProperty(history, async (drawn) => {
        if (HISTORIES === undefined && played >= 3 && performance.now() - startedAt > SHORT_MS) return
        await play(drawn)
        played++
      }),
      { numRuns: HISTORIES ?? 100, endOnFailure: true },
    )
    const points = [...crashes].map(([point, count]) => `${point} ${count}`).sort()
    process.stdout.write(`    (${played} histories; crashes: ${points.join(', ')})\n`)
    expect(played).to.be.at.least(3)
    // A reader that reads only events would also be right, so the test checks that rollups are read.
    const isRead = (table: string) =>
      table !== 'usage_by_slot_by_time' && (table !== 'usage_by_month' || played >= MONTHS_READ_WITHIN)
    for (const table of ROLLUP_TABLES.filter(isRead))
      expect(readFrom.has(table), `whether ${table} was read`).to.equal(true)
    if (HISTORIES === undefined) return
    const ofRollups = ROLLUP_POINTS.filter((point) => point.startsWith('rollup-'))
    expect([...crashes.keys()]).to.include.members([...LOADER_CRASHES, ...ofRollups])
  })

  const readFrom = new Set<string>()
  function noteReads(): void {
    for (const { query } of asked.clickhouse)
      for (const [, table = ''] of query.matchAll(/FROM (usage_\w+) FINAL/g)) readFrom.add(table)
    asked.clear()
  }

  async function play(drawn: History): Promise<void> {
    await forget()
    await setSlotLength(stage.client, drawn.slotS)
    const now = await stage.epochs.now()
    const world = {
      drawn,
      now,
      rows: rowsOf(drawn, now),
      stored: new UsageRows(),
      rolled: usageThroughRollups(reading), // its cache must not outlast a history
      asked: 0,
      rebuilds: 0,
      passed: [] as string[],
    }
    await run(world, {
      step: { kind: 'rebuild', upTo: drawn.builtUpTo },
      meanwhile: undefined,
      crash: undefined,
    })
    for (const one of drawn.steps) {
      if (one.step.kind === 'rebuild' && drawn.isOld && world.rebuilds++ > 0) continue
      await run(world, one)
      await compare(world, one.crash === undefined ? 'rolled' : 'both')
    }
    // All marks are processed.
    world.passed.push('worked off')
    await run(world, whole({ kind: 'close', upTo: 300 }))
    for (let left = 4, marked = 1; left > 0 && marked > 0; left--) {
      await run(world, whole({ kind: 'late' }))
      marked = await countMarks(stage.client)
      if (marked === 0)
        for (const namespaceId of NAMESPACES) await expectRollupsExact(stage.client, namespaceId)
    }
    for (let n = 0; n < drawn.asks.length; n++) await compare(world, 'both')
    for (const namespace of [0, 1] as const) await compare(world, 'both', everything(namespace))
    // Rows that were never acknowledged are stored again, and then all marks are processed.
    world.passed.push('at the end')
    const all = world.rows.map((_, n) => n)
    await run(world, whole({ kind: 'store', rows: all, marks: 'accounts', goesOn: 'not' }))
    await compare(world, 'both')
    await run(world, whole({ kind: 'close', upTo: 300 }))
    while ((await countMarks(stage.client)) > 0) await run(world, whole({ kind: 'late' }))
    for (let n = 0; n < drawn.asks.length; n++) await compare(world, 'both')
    for (const namespaceId of NAMESPACES) await expectRollupsExact(stage.client, namespaceId)
    noteReads()
  }

  type World = {
    drawn: History
    now: number
    rows: UsageEvent[]
    /** The rows in ClickHouse. */
    stored: UsageRows
    rolled: UsageReader
    asked: number
    rebuilds: number
    passed: string[]
  }

  const whole = (one: Simple): Step => ({ step: one, meanwhile: undefined, crash: undefined }) as Step

  async function forget(): Promise<void> {
    for (const table of TABLES) await stage.client.command({ query: `TRUNCATE TABLE ${table}` })
  }

  /** Runs a step up to its crash point, with another step in between. */
  async function run(world: World, { step: one, meanwhile: other, crash: point }: Step): Promise<void> {
    let left = other?.after ?? 0
    const pause = async () => {
      if (other === undefined || --left !== 0) return
      world.passed.push(`during ${one.kind}: ${JSON.stringify(other.step)}`)
      await run(world, whole(other.step))
      await compare(world, 'rolled')
    }
    const isCrashed =
      one.kind === 'store'
        ? await untilCrash(() => storeRows(world, one, point !== undefined, other, pause, crashingAt(point)))
        : await takeRollupStep(stage.computing, one, point as RollupPoint | undefined, pause)
    if (isCrashed && point !== undefined) crashes.set(point, (crashes.get(point) ?? 0) + 1)
    const summary = { ...one, crash: point }
    world.passed.push(JSON.stringify(summary))
  }

  /** Stores rows like the loader. */
  async function storeRows(
    { rows: all, stored }: World,
    { rows: places, marks: kind, goesOn: goes }: Extract<Simple, { kind: 'store' }>,
    crashes: boolean,
    other: Step['meanwhile'],
    pause: () => Promise<void>,
    reached: (point: string) => void,
  ): Promise<void> {
    const some = places.flatMap((place) => all[place % all.length] ?? [])
    const dirty = dirtySlotRepository(stage.writing)
    const real = await stage.epochs.now()
    // A slot is closed only some time after its end, so never while a loader still sees the slot as current.
    const isBehind = goes !== 'not' && other?.step.kind !== 'close'
    let isStored = false
    const clock = {
      async readClock() {
        const told = await rollupEpochRepository(stage.writing).readClock()
        return {
          ...told,
          now: isBehind && (goes === 'on' || !isStored) ? Math.min(real, told.closing) : real,
        }
      },
    }
    const uncrashed = crashes ? () => Promise.resolve() : pause
    // Marks of a crashed loader are old at once, so that they can be processed without a wait.
    const placedAt = real - (crashes ? ORPHAN_S + HOUR_S : 0)
    const coarse = (slots: readonly DirtySlot[], at: number) => coarseMarks(slots, kind, at)
    const insertLines = markLate(
      {
        epochs: pausing(clock, uncrashed),
        dirty: pausing(
          {
            placePending: (slots: readonly DirtySlot[], insertId: string, at: number) =>
              dirty.placePending(coarse(slots, at), insertId, placedAt),
            turnReady: (slots: readonly DirtySlot[], insertId: string, at: number) =>
              dirty.turnReady(coarse(slots, at), insertId, placedAt),
            placeReady: (slots: readonly DirtySlot[], insertId: string, at: number) =>
              dirty.placeReady(coarse(slots, at), insertId, real),
          },
          uncrashed,
        ),
        async insertLines(lines) {
          await usageEventRepository(stage.writing).insertLines(lines)
          stored.store(some)
          isStored = true
          await uncrashed()
        },
        reached,
      },
      MARGIN_S,
    )
    await insertLines(Buffer.from(some.map(usageEventToLine).join('\n')), some.map(subjectOf))
  }

  async function compare(world: World, readers: 'rolled' | 'both', given?: Ask): Promise<void> {
    const { drawn, now, stored, passed } = world
    const wish = given ?? drawn.asks[world.asked++ % drawn.asks.length]
    if (wish === undefined) return
    const { start, end, account, source, namespace } = wish
    const [one, two] = [start, end].map((at) => (at === undefined ? undefined : timeOf(at, drawn, now)))
    const range =
      one === undefined || two === undefined
        ? { startAt: one ?? ALL_TIME.startAt, endAt: two ?? ALL_TIME.endAt }
        : { startAt: Math.min(one, two), endAt: Math.max(one, two) + 1 }
    const wanted: ReaderAsk = {
      range,
      accountId: account === undefined ? undefined : ACCOUNTS[account],
      source: source === undefined ? undefined : SOURCES[source],
    }
    const namespaceId = NAMESPACES[namespace] ?? ''
    const modelledOf = (id: string) => ({ namespaceId: id, model: stored.model(id) })
    const own = modelledOf(namespaceId)
    const others = NAMESPACES.filter((id) => id !== namespaceId).map(modelledOf)
    const when = `now ${now}, after ${passed.join('; ')}`
    const isWarm = readers === 'both' || world.asked % 2 === 0
    const isNew = readers === 'both' || world.asked % 2 === 1
    if (isWarm) await compareReader(world.rolled, own, ACCOUNTS, wanted, `through rollups, ${when}`, others)
    // A new reader has no cached state of rollups and no cached sums.
    const fresh = usageThroughRollups(reading)
    if (isNew)
      await compareReader(fresh, own, ACCOUNTS, wanted, `through rollups, just started, ${when}`, others)
    await compareAccounts(own, wanted, world.asked, when)
    if (readers === 'both') await compareReader(stage.raw, own, ACCOUNTS, wanted, `from the events, ${when}`)
  }

  /** Compares usage by account. The choice is the same in each run of a history. */
  const compareAccounts = (
    { namespaceId, model }: ModelledUsage,
    { range, accountId, source }: ReaderAsk,
    nth: number,
    when: string,
  ) =>
    compareGroups(
      groupedUsageReader(reading, rawReadSemaphore()),
      namespaceId,
      model,
      {
        ...{ range, accountId, property: undefined, source: source ?? SOURCES[nth % 2] ?? '' },
        aggregation: AGGREGATIONS[(range.startAt + range.endAt) % AGGREGATIONS.length] ?? 'sum',
        period: ([undefined, 'day', 'month'] as const)[nth % 3],
        limit: 1 + (nth % 2),
      },
      `${when}, by account`,
    )
})

function timeOf({ from, shift }: Time, { slotS, isOld }: History, now: number): number {
  const today = dayOf(now)
  const latest = now - 2 * slotS
  if ('slotsBack' in from)
    return now - from.before - ((now - from.before) % slotS) - from.slotsBack * slotS + (shift % slotS)
  if ('hoursBack' in from) return now - from.hoursBack * HOUR_S + shift
  if ('daysBack' in from) return Math.min(latest, today - from.daysBack * DAY_S + shift)
  return isOld ? today - from.old * DAY_S + shift : today - DAY_S * (from.old % 3) - DAY_S / 2 + shift
}

/** All rows of a history: reports, repeated reports, and corrections. */
function rowsOf(drawn: History, now: number): UsageEvent[] {
  return drawn.events.flatMap(({ namespace, account, source, quantity: amount, at, ...more }, n) => {
    const occurredAt = timeOf(at, drawn, now)
    const lateAt = now - 1_000
    const acceptedAt = (more.isAcceptedAtOnce ? Math.min(occurredAt, lateAt) : lateAt) * 1_000_000 + (n >> 1)
    const report = makeReport({
      namespaceId: NAMESPACES[namespace] ?? '',
      accountId: ACCOUNTS[account] ?? '',
      source: SOURCES[source] ?? '',
      quantity: amount,
      occurredAt,
      acceptedAt,
    })
    const again = { ...report, acceptedAt: lateAt * 1_000_000 + 100 + n }
    const made = [report, { ...again, version: reportVersion(again.acceptedAt, contentOf(again)) }]
    let newest = report
    for (const correction of more.corrections) {
      newest = makeCorrection(newest, correction === 'void' ? { voided: true } : { quantity: correction })
      made.push(newest)
      if (correction === 'void') break
    }
    return made
  })
}
