import fc from 'fast-check'
import { markLate } from '../../../services/loader/mark-late.ts'
import { LOADER_POINTS, type LoaderPoint } from '../../../services/loader/crash-points.ts'
import { ROLLUP_POINTS, type RollupPoint } from '../../../services/rollup/crash-points.ts'
import { dirtySlotRepository, type DirtySlot } from '../../../shared/clickhouse/rollups/dirty-slots.ts'
import { rollupEpochRepository } from '../../../shared/clickhouse/rollups/rollup-epochs.ts'
import { usageEventRepository } from '../../../shared/clickhouse/usage-events.ts'
import { usageThroughRollups } from '../../../shared/clickhouse/rollups/usage-through-rollups.ts'
import type { UsageReader } from '../../../shared/clickhouse/usage-reader.ts'
import { ALL_TIME } from '../../../shared/domain/time-slot.ts'
import { monthAfter, monthOf } from '../../../shared/domain/month.ts'
import { DAY_S, dayOf } from '../../../shared/domain/usage-cover.ts'
import { isHistoryDay } from '../../../shared/domain/usage-history.ts'
import { usageEventToLine } from '../../../shared/domain/usage-event-line.ts'
import { contentOf, reportVersion, type UsageEvent } from '../../../shared/domain/usage-event.ts'
import { compareReader, type ReaderAsk } from '../../support/compare-reader.ts'
import { pausing } from '../../support/pausing.ts'
import {
  countMarks,
  expectRollupsExact,
  setSlotLength,
  startRollupStage,
  type RollupStage,
} from '../../support/rollup-stage.ts'
import { ROLLUP_TABLES } from '../../support/rollup-tables.ts'
import { crashingAt, ORPHAN_S, takeRollupStep, untilCrash } from '../../support/rollup-steps.ts'
import { makeCorrection, makeReport } from '../../support/usage-event.ts'
import { UsageRows } from '../../support/usage-rows.ts'

/** So many; else for a while. */
const HISTORIES = process.env['FAULT_LONG'] === '1' ? 300 : undefined
const SHORT_MS = 25_000

const HOUR_S = 3_600
const MARGIN_S = 15
const NAMESPACES = ['1', '2'].map((digit) => `${digit.repeat(8)}-0000-7000-8000-000000000001`)
const ACCOUNTS = ['a', 'b', 'c'].map((digit) => `account_${digit.repeat(32)}`)
const SOURCES = ['usd', 'eur', `metric_${'c'.repeat(32)}`]
const EVENTS = 14

/** Where a time lies: seconds from a mark in time that is known when the history begins. */
const time = fc.record({
  from: fc.oneof(
    fc.record({ slotsBack: fc.integer({ min: 1, max: 12 }) }),
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
  /** As it occurred; else when the history begins, as what is imported is. */
  isAcceptedAtOnce: fc.boolean(),
  corrections: fc.array(fc.oneof(quantity, fc.constant('void')), { maxLength: 2 }),
})
/** Some rows, by their places. */
const rows = fc.array(fc.nat({ max: 4 * EVENTS }), { minLength: 1, maxLength: 6 })
const marks = fc.constantFrom<'accounts' | 'slots' | 'days'>('accounts', 'accounts', 'slots', 'days')

/** Closing reaches up to so many seconds ago. */
const upTo = fc.constantFrom(30 * HOUR_S, 25 * HOUR_S, 3 * HOUR_S, 900, 300)
const store = fc.record({ kind: fc.constant('store' as const), rows, marks })
const close = fc.record({ kind: fc.constant('close' as const), upTo })
const late = fc.record({ kind: fc.constant('late' as const) })
const simple = fc.oneof({ weight: 3, arbitrary: store }, close, { weight: 3, arbitrary: late })
type Simple = typeof simple extends fc.Arbitrary<infer T> ? T : never

/** Something that another service does while a step is between its nth and its next statement. */
const meanwhile = fc.option(fc.record({ after: fc.integer({ min: 1, max: 12 }), step: simple }), {
  nil: undefined,
})
const crash = (points: readonly string[]) => fc.option(fc.constantFrom(...points), { nil: undefined })
const LOADER_CRASHES: readonly LoaderPoint[] = LOADER_POINTS.filter((point) =>
  ['loader-marked', 'loader-history', 'loader-stored', 'loader-readied'].includes(point),
)
const BUILD_CRASHES: readonly RollupPoint[] = ['rollup-building', 'rollup-built']
const SERVICE_CRASHES = ROLLUP_POINTS.filter((point) => !BUILD_CRASHES.includes(point))
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ step: store, meanwhile, crash: crash(LOADER_CRASHES) }) },
  { weight: 3, arbitrary: fc.record({ step: close, meanwhile, crash: crash(SERVICE_CRASHES) }) },
  { weight: 4, arbitrary: fc.record({ step: late, meanwhile, crash: crash(SERVICE_CRASHES) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      step: fc.record({ kind: fc.constant('rebuild' as const), upTo }),
      meanwhile,
      crash: crash(BUILD_CRASHES),
    }),
  },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const ask = fc.record({
  namespace: fc.constantFrom(0, 0, 0, 1),
  start: fc.option(time, { nil: undefined }),
  end: fc.option(time, { nil: undefined }),
  account: fc.option(fc.nat({ max: ACCOUNTS.length - 1 }), { nil: undefined }),
  source: fc.option(fc.nat({ max: SOURCES.length - 1 }), { nil: undefined }),
})
const history = fc.record({
  slotS: fc.constantFrom(10, 60, 300),
  /** Whether there is usage of more than a few days ago; then nothing is rebuilt, which would take long. */
  isOld: fc.boolean(),
  builtUpTo: upTo,
  events: fc.array(event, { minLength: EVENTS, maxLength: EVENTS }),
  steps: fc.array(step, { minLength: 4, maxLength: 12 }),
  asks: fc.array(ask, { minLength: 4, maxLength: 8 }),
})
type History = typeof history extends fc.Arbitrary<infer T> ? T : never

const TABLES = ['usage_events', 'usage_history', ...ROLLUP_TABLES, 'usage_dirty_slots', 'late_usage_counts']

describe('random histories, read through rollups', function () {
  this.timeout(HISTORIES === undefined ? 300_000 : 7_200_000)
  let stage: RollupStage

  before(async () => {
    stage = await startRollupStage('rollup_histories', 300)
  })
  after(() => stage.close())

  it('equal the events and a plain model, whatever state slots are in and wherever services crash', async () => {
    const startedAt = performance.now()
    let played = 0
    await fc.assert(
      fc.asyncProperty(history, async (drawn) => {
        if (HISTORIES === undefined && performance.now() - startedAt > SHORT_MS) return
        await play(drawn)
        played++
      }),
      { numRuns: HISTORIES ?? 100, endOnFailure: true },
    )
    process.stdout.write(`    (${played} histories)\n`)
  })

  async function play(drawn: History): Promise<void> {
    await forget()
    await setSlotLength(stage.client, drawn.slotS)
    const now = await stage.epochs.now()
    const world = {
      drawn,
      now,
      rows: rowsOf(drawn, now),
      stored: new UsageRows(),
      rolled: usageThroughRollups(stage.client), // what it remembers is of one history
      asked: 0,
      passed: [] as string[],
    }
    await run(world, {
      step: { kind: 'rebuild', upTo: drawn.builtUpTo },
      meanwhile: undefined,
      crash: undefined,
    })
    for (const one of drawn.steps) {
      if (one.step.kind === 'rebuild' && drawn.isOld) continue
      await run(world, one)
      await compare(world, one.crash === undefined ? 'rolled' : 'both')
    }
    // What was never acknowledged comes again; then everything is worked off.
    world.passed.push('at the end')
    await run(world, whole({ kind: 'store', rows: world.rows.map((_, n) => n), marks: 'accounts' }))
    await compare(world, 'both')
    await run(world, whole({ kind: 'close', upTo: 300 }))
    while ((await countMarks(stage.client)) > 0) await run(world, whole({ kind: 'late' }))
    for (let n = 0; n < drawn.asks.length; n++) await compare(world, 'both')
    for (const namespaceId of NAMESPACES) await expectRollupsExact(stage.client, namespaceId)
  }

  type World = {
    drawn: History
    now: number
    rows: UsageEvent[]
    /** What ClickHouse has. */
    stored: UsageRows
    rolled: UsageReader
    asked: number
    passed: string[]
  }

  const whole = (one: Simple): Step => ({ step: one, meanwhile: undefined, crash: undefined }) as Step

  async function forget(): Promise<void> {
    for (const table of TABLES) await stage.client.command({ query: `TRUNCATE TABLE ${table}` })
  }

  /** A step, ended where it crashes, with another one in between. */
  async function run(world: World, { step: one, meanwhile: other, crash: point }: Step): Promise<void> {
    let left = other?.after ?? 0
    const pause = async () => {
      if (other === undefined || --left !== 0) return
      world.passed.push(`during ${one.kind}: ${JSON.stringify(other.step)}`)
      await run(world, whole(other.step))
      await compare(world, 'rolled')
    }
    if (one.kind === 'store')
      await untilCrash(() => storeRows(world, one, point !== undefined, pause, crashingAt(point)))
    else await takeRollupStep(stage.computing, one, point as RollupPoint | undefined, pause)
    const summary = { ...one, crash: point }
    world.passed.push(JSON.stringify(summary))
  }

  /** As the loader stores lines. */
  async function storeRows(
    { rows: all, stored }: World,
    { rows: places, marks: kind }: Extract<Simple, { kind: 'store' }>,
    crashes: boolean,
    pause: () => Promise<void>,
    reached: (point: string) => void,
  ): Promise<void> {
    const some = places.flatMap((place) => all[place % all.length] ?? [])
    const dirty = dirtySlotRepository(stage.writing)
    // Marks of a loader that crashes are old at once, so that they can be worked off without waiting.
    const age = crashes ? ORPHAN_S + HOUR_S : 0
    const coarse = (slots: readonly DirtySlot[], at: number) => coarsened(slots, kind, at)
    const insertLines = markLate(
      {
        clock: pausing(rollupEpochRepository(stage.writing), crashes ? () => Promise.resolve() : pause),
        dirty: {
          placePending: (slots, mark, at) => dirty.placePending(coarse(slots, at), mark, at - age),
          turnReady: (slots, mark, at) => dirty.turnReady(coarse(slots, at), mark, at - age),
          placeReady: (slots, mark, at) => dirty.placeReady(coarse(slots, at), mark, at),
        },
        async insertLines(lines) {
          await usageEventRepository(stage.writing).insertLines(lines)
          stored.store(some)
          if (!crashes) await pause()
        },
        async insertHistory(lines) {
          await usageEventRepository(stage.writing).insertHistory(lines)
          if (!crashes) await pause()
        },
        reached,
      },
      MARGIN_S,
    )
    await insertLines(Buffer.from(some.map(usageEventToLine).join('\n')), some)
  }

  async function compare(world: World, readers: 'rolled' | 'both'): Promise<void> {
    const { drawn, now, stored, passed } = world
    const asked = drawn.asks[world.asked++ % drawn.asks.length]
    if (asked === undefined) return
    const { start, end, account, source, namespace } = asked
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
    const model = stored.model(namespaceId)
    const when = `now ${now}, after ${passed.join('; ')}`
    await compareReader(world.rolled, model, namespaceId, ACCOUNTS, wanted, `through rollups, ${when}`)
    if (readers === 'both')
      await compareReader(stage.raw, model, namespaceId, ACCOUNTS, wanted, `from the events, ${when}`)
  }
})

function timeOf({ from, shift }: Time, { slotS, isOld }: History, now: number): number {
  const today = dayOf(now)
  const latest = now - 2 * slotS
  if ('slotsBack' in from) return now - (now % slotS) - from.slotsBack * slotS + (shift % slotS)
  if ('hoursBack' in from) return now - from.hoursBack * HOUR_S + shift
  if ('daysBack' in from) return Math.min(latest, today - from.daysBack * DAY_S + shift)
  return isOld ? today - from.old * DAY_S + shift : today - DAY_S * (from.old % 3) - DAY_S / 2 + shift
}

/** Every row that is ever stored: reports, reports of the same again, and corrections. */
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

function coarser(slot: DirtySlot, to: 'slots' | 'days', now: number): Pick<DirtySlot, 'slot' | 'kind'> {
  if (
    slot.kind === 'dayOfHistory' &&
    to === 'days' &&
    isHistoryDay(monthAfter(monthOf(slot.slot)) - DAY_S, now)
  )
    return { slot: monthOf(slot.slot), kind: 'monthOfHistory' }
  if (slot.kind === 'slot' && to === 'days' && dayOf(slot.slot) + DAY_S <= now)
    return { slot: dayOf(slot.slot), kind: 'day' }
  return slot
}

/** Marks as they are where there are too many: of slots, and of days that have ended. */
function coarsened(
  slots: readonly DirtySlot[],
  kind: 'accounts' | 'slots' | 'days',
  now: number,
): DirtySlot[] {
  if (kind === 'accounts') return [...slots]
  const made = new Map<string, DirtySlot>()
  for (const slot of slots) {
    const mark = { ...slot, ...coarser(slot, kind, now), accountId: '' }
    made.set(`${mark.namespaceId} ${mark.slot} ${mark.kind}`, mark)
  }
  return [...made.values()]
}
