import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { type Random, randomInteger, seededRandom } from '../../../clients/reporter/simulate/seeded-random.ts'
import { markLate } from '../../../services/loader/mark-late.ts'
import type { RollupPoint } from '../../../services/rollup/crash-points.ts'
import { addAmounts, type Amount, formatAmount, ZERO } from '../../../shared/amount/amount.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { buildEpoch } from '../../../shared/clickhouse/rollups/build-epoch.ts'
import {
  type DirtySlot,
  dirtySlotRepository,
  type MarkedInsert,
} from '../../../shared/clickhouse/rollups/dirty-slots.ts'
import { inUse, rollupEpochRepository } from '../../../shared/clickhouse/rollups/rollup-epochs.ts'
import { rollupTables } from '../../../shared/clickhouse/rollups/rollup-tables.ts'
import { dayOf } from '../../../shared/clickhouse/rollups/usage-cover.ts'
import { makeLatestSums } from '../../../shared/clickhouse/usage/latest-sums.ts'
import type { UsageSelection } from '../../../shared/clickhouse/usage/usage-aggregates.ts'
import { usageThroughRollups } from '../../../shared/clickhouse/usage/usage-through-rollups.ts'
import type { Period } from '../../../shared/domain/period.ts'
import { ALL_TIME, DAY_S } from '../../../shared/domain/time-range.ts'
import { measureOf, type UsageAggregate } from '../../../shared/domain/usage-aggregate.ts'
import { contentOf, reportVersion, type UsageEvent } from '../../../shared/domain/usage-event.ts'
import { microsecondClock } from '../../../shared/time/microsecond-clock.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { subjectOf } from '../../../shared/usage-lines/log-line-subjects.ts'
import { beforeQueries, type Pause, pauseBy, pausing, slowToStore } from '../../support/pausing.ts'
import { openKeeper } from '../../support/rollup-keeper.ts'
import {
  countMarks,
  expectRollupsExact,
  type RollupStage,
  startRollupStage,
} from '../../support/rollup-stage.ts'
import { MARKS_AFTER, workOffLate } from '../../support/rollup-steps.ts'
import { until } from '../../support/until.ts'
import { makeReport, NAMESPACE } from '../../support/usage-event.ts'
import { LatePairs } from './late-pairs.ts'
import { UsageWatch, type Watched } from './usage-watch.ts'

const SEED = process.env['FAULT_SEED'] ?? randomBytes(4).toString('hex')
/** The number of reads; undefined reads for a limited time. */
const READS = process.env['FAULT_LONG'] === '1' ? 20_000 : undefined
const SHORT_MS = 15_000
/** The longest time in which a busy machine must reach all states. */
const SEEN_MAX_MS = 10 * SHORT_MS
const TELL_EVERY_MS = 60_000

const SLOT_S = 10
const GRACE_S = 3
const MARGIN_S = 3
/** Longer than an insert with its pauses. */
const ORPHAN_S = 8
const INSERT_PAUSE_MS = 1_200
/** A longer insert could be without a mark at the end of its slot. */
const INSERT_MAX_MS = (GRACE_S + MARGIN_S - 1) * 1_000
/** The marks of a longer insert could count as orphans before its rows are stored. */
const PAIR_INSERT_MAX_MS = (ORPHAN_S - 1) * 1_000

const WRITERS = 4
const PAIR_WRITERS = 3
const READERS = 3
/** The number of callers that request sums from one reader, so that they share queries. */
const SUM_ASKERS = 8
/** The number of callers of a reader that caches sums until a writer stores usage. */
const KEPT_ASKERS = 4
const SUM_PAUSE_MS = 300
const ACCOUNTS = ['a', 'b'].map((digit) => `account_${digit.repeat(32)}`)
/**
 * The account whose events arrive one at a time, with pauses. The pauses are longer than a read on a busy machine,
 * because otherwise its sums would never be cached.
 */
const SELDOM = `account_${'c'.repeat(32)}`
const SELDOM_MS = 4_000
const ALL_ACCOUNTS = [...ACCOUNTS, SELDOM]
const SOURCES = ['usd', 'eur']
const CRASHES = 0.02
/**
 * Lower than for other services: until the marks of a crashed writer are orphans, readers read the events, which hides
 * wrong rollups.
 */
const WRITER_CRASHES = 0.002

/** Phases with and without late usage alternate, because readers read a slot from its rollups only without marks. */
const LATE_PHASE_MS = 1_500
/**
 * Some late usage is of long ago, whose days are computed from the events. The days are few, so that several services
 * process the same ones.
 */
const HISTORY_S = 42 * DAY_S
const ALL_PHASES_MS = 4_500
/**
 * A day without other usage, so that only a rebuild repairs a loss. A request without its morning reads it by slots.
 */
const QUIET_AGE_S = 10 * DAY_S
const NOON_S = DAY_S / 2
/**
 * Long, so that marks are processed in the pause. Twice the pause and an insert must take less time than a mark needs
 * to become an orphan.
 */
const QUIET_PAUSE_MS = 2_500

const DAY_CLOSED: RollupPoint = 'rollup-totals'

const SLOTS = 'usage_by_slot'

/** Options of a service's work. */
interface Ways {
  /** The share of statements with a pause. */
  share?: number
  /** The marks that it processes. */
  isMeant?: (insertId: string) => boolean
  /** The pause between its read and its store. */
  pauseToStore?: (table: string, epoch: unknown) => Pause | undefined
}

/** The methods that writers call. */
type Noted = Pick<UsageWatch, 'noteSent' | 'noteStored'>

class Crash extends Error {}

type Reader = ReturnType<typeof usageThroughRollups>

describe('totals beside writers and rollup services that pause and crash', function () {
  this.timeout(READS === undefined ? 300_000 : 7_200_000)
  const clock = microsecondClock()
  const nowS = () => Math.floor(clock() / 1_000_000)
  const random = (name: string) => seededRandom(`${SEED} ${name}`)
  let stage: RollupStage
  const latestSums = makeLatestSums(0)
  let ended = false
  /** The longest inserts of all batches, and of batches of pairs. */
  const longestInsertMs = { any: 0, pair: 0 }

  before(async () => {
    process.stdout.write(`    (seed ${SEED}, FAULT_SEED=${SEED} runs it again)\n`)
    stage = await startRollupStage('monotone', SLOT_S)
  })
  after(() => stage.close())

  it('never fall, never run ahead of what was sent, lack nothing that was stored, and end exact', async () => {
    const readers = Array.from({ length: READERS }, (_, n) => readerOf(random(`asking ${n}`)))
    let asked = 0
    // Any reader, because no reader may lack usage that another one has seen.
    const reader = () => readers[asked++ % readers.length] ?? stage.rolled
    const watch = new UsageWatch(watchedOf(stage, reader, await stage.epochs.now()))
    const sums = new UsageWatch(watchedSums(readers[0] ?? stage.rolled))
    const keeping = usageThroughRollups(stage.client, latestSums)
    const kept = new UsageWatch(watchedSums(keeping, readers[1] ?? stage.rolled))
    const quiet = new UsageWatch(watchedQuiet(reader, await stage.epochs.now()))
    const noted: Noted = {
      noteSent(events) {
        for (const one of [watch, sums, kept, quiet]) one.noteSent(events)
      },
      noteStored(events) {
        for (const one of [watch, sums, kept, quiet]) one.noteStored(events)
      },
    }
    const startedAt = performance.now()
    await build(GRACE_S)
    let failure: Error | undefined
    let toldAt = 0
    const loop = async (work: () => Promise<void>) => {
      try {
        while (!ended) await work()
      } catch (err) {
        failure ??= err instanceof Error ? err : new Error(String(err))
        ended = true
      }
    }
    const loops = [
      ...Array.from({ length: WRITERS }, (_, n) => loop(writer(noted, random(`writer ${n}`)))),
      loop(seldomWriter(noted, random('seldom'))),
      ...Array.from({ length: PAIR_WRITERS }, (_, n) => loop(pairWriter(noted, quiet, random(`pairs ${n}`)))),
      ...Array.from({ length: READERS }, (_, n) => loop(asker(watch, random(`reader ${n}`)))),
      ...Array.from({ length: SUM_ASKERS }, (_, n) => loop(sumAsker(sums, random(`sums ${n}`)))),
      ...Array.from({ length: KEPT_ASKERS }, (_, n) => loop(sumAsker(kept, random(`kept ${n}`)))),
      ...readers.map((one, n) => loop(aheadReader(one, random(`ahead ${n}`)))),
      ...[0, 1].map((n) => loop(service(random(`service ${n}`)))),
      loop(lateWorker(random('late'), 0.01)),
      ...[0, 1].map((n) => loop(lateWorker(random(`late and slow ${n}`), 0.5))),
      loop(pairWorker(random('of pairs'), false)),
      loop(pairWorker(random('of pairs, holding'), true)),
      loop(rebuilder(random('rebuilds'))),
      loop(async () => {
        await sleep(50)
        const ms = performance.now() - startedAt
        if (READS !== undefined && ms > toldAt + TELL_EVERY_MS) {
          toldAt = ms
          process.stdout.write(`    (${watch.reads} reads after ${Math.round(ms / 1_000)} s)\n`)
        }
        const hasSeenAll = (reachedPoints.has(DAY_CLOSED) && pairs.met > 0) || ms > SEEN_MAX_MS
        if (READS === undefined ? ms > SHORT_MS && hasSeenAll : watch.reads >= READS) ended = true
      }),
    ]
    await Promise.all(loops)
    const seconds = Math.round((performance.now() - startedAt) / 1_000)
    const inserts = `the longest insert ${Math.round(longestInsertMs.any)} ms, ${Math.round(longestInsertMs.pair)} of a pair`
    const told = `${watch.reads} reads, ${sums.reads} of sums, ${kept.reads} of sums that are kept, and ${watch.events} events in ${seconds} s, ${inserts}, ${pairs.met} pairs met`
    process.stdout.write(`    (${told})\n`)
    if (failure !== undefined) {
      if (longestInsertMs.any > INSERT_MAX_MS || longestInsertMs.pair > PAIR_INSERT_MAX_MS)
        throw new Error(`this machine is too slow for these settings: ${told}`, { cause: failure })
      throw failure
    }
    await settle()
    await watch.readAll()
    await sums.readAll()
    await kept.readAll()
    const compared = await expectRollupsExact(stage.client, NAMESPACE)
    process.stdout.write(`    (${JSON.stringify(compared)} rows agree with the events)\n`)
    // A short run on a busy machine may reach neither.
    if (READS !== undefined) {
      expect(reachedPoints, 'a day that was closed meanwhile').to.include(DAY_CLOSED)
      expect(pairs.met, 'pairs that met').to.be.greaterThan(0)
    }
    expect(compared.slots).to.be.greaterThan(20)
    expect(compared.byTime).to.be.greaterThan(5)
    expect(compared.slotTotals).to.be.greaterThan(5)
    expect(compared.days).to.be.greaterThan(1)
    expect(compared.totals).to.be.greaterThan(1)
  })

  const reachedPoints = new Set<string>()
  const pairs = new LatePairs(() => ended)
  const isOfOthers = (insertId: string) => !pairs.isWaiting(insertId)
  const reachedBy = (own: Random, share: number) => (point: string) => {
    if (!ended) reachedPoints.add(point)
    if (!ended && own() < share) throw new Crash('crashed')
  }

  /** Ends running work soon after the end, because updates of several epochs take many statements. */
  const untilEnded =
    (pause: Pause): Pause =>
    () =>
      ended ? Promise.resolve() : pause()

  /** Makes a reader like that of a separate API process: with its own state and caches, and pauses before queries. */
  function readerOf(own: Random): Reader {
    return usageThroughRollups(beforeQueries(stage.client, untilEnded(pauseBy(own, 0.03, 500))))
  }

  const sumAsker =
    (sums: UsageWatch, own: Random): (() => Promise<void>) =>
    async () => {
      await sleep(randomInteger(own, SUM_PAUSE_MS))
      await sums.read(own)
    }

  const aheadReader = (reader: Reader, own: Random) => async () => {
    await sleep(500 + randomInteger(own, 3_000))
    await reader.readAhead(NAMESPACE, ALL_ACCOUNTS)
  }

  /**
   * Stores batches like a loader, with pauses. After a crash, batches that may not be stored are stored again.
   *
   * @param told.marked called for each mark
   * @param told.inserted called with the duration of a batch's insert, in ms
   */
  function storing(
    watch: Noted,
    own: Random,
    longestPauseMs: number,
    told: { marked?: (insertId: string) => void; inserted?: (ms: number) => void },
  ): (events: UsageEvent[]) => Promise<void> {
    const pause = untilEnded(pauseBy(own, 0.3, 300))
    const longPause = untilEnded(pauseBy(own, 0.4, longestPauseMs))
    const usage = usageEventRepository(stage.writing)
    const marking = dirtySlotRepository(stage.writing)
    let startedAt = 0
    const store = markLate(
      {
        epochs: pausing(rollupEpochRepository(stage.writing), pause),
        dirty: pausing(
          {
            ...marking,
            placePending: (slots: readonly DirtySlot[], insertId: string, now: number) => {
              told.marked?.(insertId)
              return marking.placePending(slots, insertId, now)
            },
          },
          pause,
        ),
        async insertLines(lines) {
          await longPause()
          await usage.insertLines(lines)
          told.inserted?.(performance.now() - startedAt)
          await longPause()
        },
        reached: reachedBy(own, WRITER_CRASHES),
        latestSums,
      },
      MARGIN_S,
    )
    return async (events) => {
      watch.noteSent(events)
      const lines = Buffer.from(events.map(usageEventToLine).join('\n'))
      do {
        startedAt = performance.now()
      } while (!(await isDone(store(lines, events.map(subjectOf)))))
      watch.noteStored(events)
    }
  }

  function writer(watch: Noted, own: Random): () => Promise<void> {
    const store = storing(watch, own, INSERT_PAUSE_MS, {
      inserted: (ms) => (longestInsertMs.any = Math.max(longestInsertMs.any, ms)),
    })
    const recent: UsageEvent[] = []
    return async () => {
      const events = own() < 0.004 ? burst(own) : batch(own, recent)
      recent.push(...events)
      recent.splice(0, Math.max(0, recent.length - 500))
      await store(events)
      await sleep(randomInteger(own, 100))
    }
  }

  function seldomWriter(watch: Noted, own: Random): () => Promise<void> {
    const store = storing(watch, own, 100, {})
    return async () => {
      await store([made(own, -randomInteger(own, 3), { ...whose(own), accountId: SELDOM })])
      await sleep(randomInteger(own, SELDOM_MS))
    }
  }

  /**
   * Writes two events of one rollup of the quiet day, one after the other. When both are stored they are read, before a
   * rebuild could repair a loss.
   */
  function pairWriter(watch: Noted, quiet: UsageWatch, own: Random): () => Promise<void> {
    const marks = { first: [] as string[], second: [] as string[] }
    let which: keyof typeof marks = 'first'
    const store = storing(watch, own, QUIET_PAUSE_MS, {
      marked: (insertId) => {
        marks[which].push(insertId)
        pairs.noteMarked(insertId, which === 'first')
      },
      inserted: (ms) => (longestInsertMs.pair = Math.max(longestInsertMs.pair, ms)),
    })
    return async () => {
      const { startAt, endAt } = quietOf(nowS())
      const slot = startAt + SLOT_S * randomInteger(own, (endAt - startAt) / SLOT_S)
      const of = whose(own)
      const event = () => made(own, nowS() - slot - randomInteger(own, SLOT_S), of)
      which = 'first'
      await store([event()])
      await pairs.untilHeld(marks.first)
      which = 'second'
      await store([event()])
      await pairs.letGo(marks.first.splice(0), marks.second.splice(0))
      await pairs.untilStored()
      await quiet.readAll()
      await sleep(randomInteger(own, 300))
    }
  }

  function batch(own: Random, recent: readonly UsageEvent[]): UsageEvent[] {
    const events: UsageEvent[] = []
    const lateShare = performance.now() % ALL_PHASES_MS < LATE_PHASE_MS ? 0.4 : 0
    for (let left = 1 + randomInteger(own, 30); left > 0; left--) {
      const earlier = recent[randomInteger(own, recent.length)]
      if (earlier !== undefined && own() < lateShare)
        events.push(own() < 0.5 ? earlier : reportedAgain(earlier))
      else events.push(made(own, own() < lateShare ? lateBy(own) : -randomInteger(own, 3)))
    }
    return events
  }

  /** Makes so much late usage that whole days are marked. */
  function burst(own: Random): UsageEvent[] {
    const ageS = own() < 0.5 ? DAY_S : HISTORY_S
    return Array.from({ length: 1_500 }, () => made(own, ageS + randomInteger(own, 2 * DAY_S)))
  }

  /** Draws the lateness in seconds: most often a few slots, on which other services work. */
  function lateBy(own: Random): number {
    const choice = own()
    if (choice < 0.6) return randomInteger(own, 4 * SLOT_S)
    if (choice < 0.75) return HISTORY_S + randomInteger(own, 2 * DAY_S)
    if (choice < 0.9) return randomInteger(own, 3 * DAY_S)
    return DAY_S + SLOT_S * randomInteger(own, 3)
  }

  function made(own: Random, ageS: number, of = whose(own)): UsageEvent {
    const madeAt = clock()
    // Some very old usage was accepted in time, and is loaded only now.
    const isInTime = ageS >= HISTORY_S && own() < 0.1
    const acceptedAt = isInTime ? madeAt - ageS * 1_000_000 : madeAt
    return makeReport({
      ...of,
      quantity: `${1 + randomInteger(own, 1_000)}.${1 + randomInteger(own, 9)}`,
      occurredAt: Math.floor(madeAt / 1_000_000) - ageS,
      acceptedAt,
    })
  }

  function reportedAgain(event: UsageEvent): UsageEvent {
    const acceptedAt = clock()
    return { ...event, acceptedAt, version: reportVersion(acceptedAt, contentOf(event)) }
  }

  const asker =
    (watch: UsageWatch, own: Random): (() => Promise<void>) =>
    () =>
      watch.read(own)

  /**
   * The dependencies of a rollup service, with pauses between its statements and within those that store. Only special
   * workers process pairs, because any other service would repair them.
   */
  const partsOf = (own: Random, { share = 0.2, isMeant = isOfOthers, pauseToStore }: Ways = {}) => {
    const pauseAtRandom = () => (own() < 2.5 * share ? pauseBy(own, 1, 4_000) : undefined)
    const toStore = pauseToStore ?? pauseAtRandom
    const pause = untilEnded(pauseBy(own, share, 300))
    const working = dirtySlotRepository(stage.computing)
    return {
      epochs: pausing(rollupEpochRepository(stage.computing), pause),
      tables: pausing(
        rollupTables(
          slowToStore(stage.computing, (...of) => (ended ? undefined : toStore(...of))),
          30,
        ),
        pause,
      ),
      dirty: pausing(
        {
          ...working,
          listReady: async (...asked: Parameters<typeof working.listReady>) => {
            const marks = await working.listReady(...asked)
            return marks.filter(({ insertId }) => ended || isMeant(insertId))
          },
          cancel: async (marks: readonly MarkedInsert[], slotFrom?: number) => {
            await working.cancel(marks, slotFrom)
            if (slotFrom === undefined) pairs.noteWorkedOff(marks.map(({ insertId }) => insertId))
          },
        },
        pause,
      ),
      reached: reachedBy(own, CRASHES),
    }
  }

  const CONFIG = {
    pauseMs: 60,
    graceS: GRACE_S,
    orphanS: ORPHAN_S,
    lateAfterS: 0,
    rowsPerS: 100_000_000,
    queryTimeoutS: 30,
    dropAfterS: 86_400,
  }

  const openService = (own: Random, ways?: Ways) => openKeeper(stage.computing, CONFIG, partsOf(own, ways))

  /** Runs a rollup service for some time; then the next one replaces it. */
  const service = (own: Random) => async () => {
    const keeper = openService(own)
    for (let left = 5 + randomInteger(own, 60); left > 0 && !ended; left--) await sleep(50)
    await keeper.close()
    await sleep(randomInteger(own, 2_000))
  }

  /** Further services that only process late usage. The result of a slow one is outdated when it is stored. */
  const lateWorker = (own: Random, share: number) => workingOff(own, partsOf(own, { share }))

  const workingOff = (own: Random, parts: ReturnType<typeof partsOf>) => async () => {
    const { signal } = new AbortController()
    await isDone(workOffLate({ ...parts, signal }, { ...MARKS_AFTER, orphanS: ORPHAN_S }))
    await sleep(randomInteger(own, 50))
  }

  /**
   * A service that processes only pairs, so that its rounds are short.
   *
   * @param isHolding whether it stores its result only when others have processed the second event
   */
  function pairWorker(own: Random, isHolding: boolean): () => Promise<void> {
    let listed: string[] = []
    let readersUse = 0
    const isMeant = (insertId: string) =>
      pairs.isWaiting(insertId) && (isHolding || !pairs.isToBeHeld(insertId))
    const hold = (table: string, epoch: unknown) =>
      isHolding && table === SLOTS && epoch === readersUse ? () => pairs.hold(listed) : undefined
    const parts = partsOf(own, { share: 0.01, isMeant, pauseToStore: hold })
    const { dirty } = parts
    const listReady: typeof dirty.listReady = async (...asked) => {
      const marks = await dirty.listReady(...asked)
      listed = marks.map(({ insertId }) => insertId)
      readersUse = inUse(await stage.epochs.list())?.epoch ?? 0
      return marks
    }
    const work = workingOff(own, { ...parts, dirty: { ...dirty, listReady } })
    return async () => {
      await work()
      if (isHolding) pairs.noteStored()
    }
  }

  /**
   * The seconds since an hour before the last midnight, so that a day is closed soon after a rebuild up to that time.
   */
  const toLastMidnight = async () => {
    const now = await stage.epochs.now()
    return now - dayOf(now) + 3_600
  }

  /**
   * Rebuilds all rollups from time to time. The second rebuild and some others end at the last midnight, or two days
   * ago when there is time, so that days are closed again. In a short run the rollups reach the present slots again
   * after each of these.
   */
  function rebuilder(own: Random): () => Promise<void> {
    let builds = 0
    return async () => {
      const isDue = () => READS === undefined && builds === 1 && reachedPoints.has(DAY_CLOSED)
      for (
        let left = builds === 0 ? 60 : 100 + randomInteger(own, 160);
        left > 0 && !ended && !isDue();
        left--
      )
        await sleep(50)
      const choice = builds === 0 ? 0 : isDue() ? 1 : own()
      builds++
      if (!ended) await isDone(build(await upTo(choice), own))
    }
  }

  const upTo = async (choice: number) => {
    if (choice < 0.3) return toLastMidnight()
    return READS !== undefined && choice < 0.5 ? 2 * DAY_S : GRACE_S
  }

  const build = (graceS: number, own: Random = () => 1) =>
    buildEpoch({ client: stage.computing, ...partsOf(own, { share: 0.05 }) }, graceS)

  /** Waits until the rollups contain all stored usage. */
  async function settle(): Promise<void> {
    const now = await stage.epochs.now()
    const keepers = [0, 1].map((n) => openService(random(`at the end ${n}`), { share: 0 }))
    await until(async () => {
      const current = inUse(await stage.epochs.list())
      return (current?.closedThrough ?? 0) > now + SLOT_S && (await countMarks(stage.client)) === 0
    }, 90_000)
    for (const keeper of keepers) await keeper.close()
  }
})

const whose = (own: Random) => ({
  accountId: ACCOUNTS[randomInteger(own, ACCOUNTS.length)] ?? '',
  source: SOURCES[randomInteger(own, SOURCES.length)] ?? '',
})

/** The afternoon of the quiet day. */
const quietOf = (now: number) => {
  const day = dayOf(now - QUIET_AGE_S)
  return { startAt: day + NOON_S, endAt: day + DAY_S }
}

/** Whether the work ended without a crash. */
const isDone = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    (err: unknown) => {
      if (err instanceof Crash) return false
      throw err
    },
  )

/** The afternoon of the quiet day, which is read by slots. */
function watchedQuiet(reader: () => Reader, now: number): Watched[] {
  const range = quietOf(now)
  return ACCOUNTS.map((accountId) => ({
    name: `the quiet day of ${accountId}`,
    isMeant: (event) =>
      event.occurredAt >= range.startAt && event.occurredAt < range.endAt && event.accountId === accountId,
    weight: 1,
    asks: [async () => totalOf([...(await reader().aggregate(NAMESPACE, { range, accountId })).values()])],
  }))
}

/** All kinds of requests, for accounts and for all together, over all time and over random ranges. */
function watchedOf({ raw }: RollupStage, reader: () => Reader, now: number): Watched[] {
  const today = dayOf(now)
  const recent = { startAt: now - 8 * SLOT_S - 3, endAt: now + 3_600 }
  const quiet = quietOf(now)
  const cuts = [
    { startAt: today - DAY_S - 7, endAt: now + 12 },
    { startAt: today - 2 * DAY_S, endAt: today },
  ]
  const watch = (selection: UsageSelection, weight: number, ...more: Watched['asks']): Watched => {
    const { range, accountId, source } = selection
    const byPeriod = (period: Period) => async () => {
      const periods = await reader().aggregateByPeriod(NAMESPACE, period, selection)
      return totalOf([...periods.values()].flatMap((usage) => [...usage.values()]))
    }
    return {
      name: JSON.stringify(selection),
      isMeant: (event) =>
        event.occurredAt >= range.startAt &&
        event.occurredAt < range.endAt &&
        (accountId === undefined || event.accountId === accountId) &&
        (source === undefined || event.source === source),
      weight,
      asks: [
        async () => totalOf([...(await reader().aggregate(NAMESPACE, selection)).values()]),
        byPeriod('day'),
        byPeriod('month'),
        // A reader that has seen the events must find them here.
        async () => ({ ...totalOf([...(await raw.aggregate(NAMESPACE, selection)).values()]), isRaw: true }),
        ...more,
      ],
    }
  }
  const sumOfAccounts = (accounts: readonly string[]) => sumsThrough(reader, accounts)
  return [
    watch({ range: ALL_TIME }, 12, sumOfAccounts(ALL_ACCOUNTS), sumOfAccounts(ALL_ACCOUNTS)),
    watch({ range: recent }, 6),
    ...ACCOUNTS.map((accountId) => watch({ range: ALL_TIME, accountId }, 3, sumOfAccounts([accountId]))),
    watch({ range: ALL_TIME, source: 'usd' }, 1),
    watch({ range: quiet }, 4),
    ...ACCOUNTS.map((accountId) => watch({ range: quiet, accountId }, 8)),
    ...cuts.flatMap((range) => [
      watch({ range }, 1),
      ...ACCOUNTS.map((accountId) => watch({ range, accountId }, 1)),
    ]),
  ]
}

/** Requests for sums of accounts; concurrent requests share queries. */
function watchedSums(...readers: readonly Reader[]): Watched[] {
  const watch = (accounts: readonly string[], weight: number): Watched => ({
    name: `sums of ${accounts.join(', ')}`,
    isMeant: (event) => accounts.includes(event.accountId),
    weight,
    asks: readers.map((one) => sumsThrough(() => one, accounts)),
  })
  return [watch(ALL_ACCOUNTS, 1), ...ACCOUNTS.map((account) => watch([account], 2)), watch([SELDOM], 4)]
}

const sumsThrough = (reader: () => Reader, accounts: readonly string[]) => async () => {
  const sums = await reader().sumByAccount(NAMESPACE, accounts)
  return { sum: formatAmount(sumOf([...sums.values()].flatMap((usage) => [...usage.values()]))) }
}

const sumOf = (amounts: readonly Amount[]): Amount => amounts.reduce(addAmounts, ZERO)

const totalOf = (usage: readonly UsageAggregate[]) => ({
  sum: formatAmount(sumOf(usage.map((one) => measureOf(one, 'sum')))),
  count: usage.reduce((count, one) => count + measureOf(one, 'count'), 0n),
})
