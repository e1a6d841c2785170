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
import { DAY_S, dayOf } from '../../../shared/clickhouse/rollups/usage-cover.ts'
import { makeLatestSums } from '../../../shared/clickhouse/usage/latest-sums.ts'
import type { UsageSelection } from '../../../shared/clickhouse/usage/usage-aggregates.ts'
import { usageThroughRollups } from '../../../shared/clickhouse/usage/usage-through-rollups.ts'
import type { Period } from '../../../shared/domain/period.ts'
import { ALL_TIME } from '../../../shared/domain/time-range.ts'
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
/** Until so many reads were made; else for a while. */
const READS = process.env['FAULT_LONG'] === '1' ? 20_000 : undefined
const SHORT_MS = 15_000
/** A busy machine may be given so long to come to all that is to be seen. */
const SEEN_MAX_MS = 10 * SHORT_MS
const TELL_EVERY_MS = 60_000

const SLOT_S = 10
const GRACE_S = 3
const MARGIN_S = 3
/** More than an insert takes, pauses included. */
const ORPHAN_S = 8
const INSERT_PAUSE_MS = 1_200
/** An insert that takes longer than this could meet the end of an open slot unmarked. */
const INSERT_MAX_MS = (GRACE_S + MARGIN_S - 1) * 1_000
/** One that takes longer than this could be taken for an orphan while its rows are on their way. */
const PAIR_INSERT_MAX_MS = (ORPHAN_S - 1) * 1_000

const WRITERS = 4
const PAIR_WRITERS = 3
const READERS = 3
/** Who ask one reader for sums, so that they share queries. */
const SUM_ASKERS = 8
/** … and who ask a reader that keeps sums for as long as no writer says that it stores usage. */
const KEPT_ASKERS = 4
const SUM_PAUSE_MS = 300
const ACCOUNTS = ['a', 'b'].map((digit) => `account_${digit.repeat(32)}`)
/**
 * Whose usage comes in one event after the other, with time between them: what is kept of it lives that long. More than
 * a read takes on a busy machine, or nothing is ever kept.
 */
const SELDOM = `account_${'c'.repeat(32)}`
const SELDOM_MS = 4_000
const ALL_ACCOUNTS = [...ACCOUNTS, SELDOM]
const SOURCES = ['usd', 'eur']
const CRASHES = 0.02
/** Rarer: what one has marked is read from the events until its mark is an orphan, which hides what became of it. */
const WRITER_CRASHES = 0.002

/**
 * Usage is late for a while, then not: a slot with marks is read from the events, and only without them shows what it
 * became.
 */
const LATE_PHASE_MS = 1_500
/** Of long ago, too, whose days are computed from the events; few days, so that others are at work on them. */
const HISTORY_S = 42 * DAY_S
const ALL_PHASES_MS = 4_500
/**
 * A day of which nothing else is reported, so that only a rebuild mends what is lost of it; asked for without its
 * morning, it is read by slots.
 */
const QUIET_AGE_S = 10 * DAY_S
const NOON_S = DAY_S / 2
/**
 * Long, so that marks are worked off meanwhile; twice that, and an insert, must be less than what makes a mark an
 * orphan's.
 */
const QUIET_PAUSE_MS = 2_500

const DAY_CLOSED: RollupPoint = 'rollup-totals'

const SLOTS = 'usage_by_slot'

/** How a service goes about its work. */
interface Ways {
  /** How often it pauses. */
  share?: number
  /** Which marks it works off. */
  isMeant?: (insertId: string) => boolean
  /** What it does between what it read and what it stores. */
  pauseToStore?: (table: string, epoch: unknown) => Pause | undefined
}

/** What is told of usage that comes in. */
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
  /** Of batches of any usage, and of those of pairs. */
  const longestInsertMs = { any: 0, pair: 0 }

  before(async () => {
    process.stdout.write(`    (seed ${SEED}, FAULT_SEED=${SEED} runs it again)\n`)
    stage = await startRollupStage('monotone', SLOT_S)
  })
  after(() => stage.close())

  it('never fall, never run ahead of what was sent, lack nothing that was stored, and end exact', async () => {
    const readers = Array.from({ length: READERS }, (_, n) => readerOf(random(`asking ${n}`)))
    let asked = 0
    // Any of them: what one has seen, no other may lack.
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
    // A short run on a busy machine may come to neither.
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

  /**
   * Once it is ended, what is under way is to end soon: several epochs are kept up to date, each in many statements.
   */
  const untilEnded =
    (pause: Pause): Pause =>
    () =>
      ended ? Promise.resolve() : pause()

  /** As an API in a process of its own: with what it knows and caches, and pauses before it asks. */
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
   * Stores batches as a loader does, with pauses; what a crash leaves unsure is stored again.
   *
   * @param told.marked is told of each mark
   * @param told.inserted is told how long after its begin a batch was inserted, in ms
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
   * Two events of one rollup of the quiet day, one after the other, and then none. Once all is stored they are asked
   * for, before a rebuild mends what may be lost of them.
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

  /** So much late usage that whole days are marked. */
  function burst(own: Random): UsageEvent[] {
    const ageS = own() < 0.5 ? DAY_S : HISTORY_S
    return Array.from({ length: 1_500 }, () => made(own, ageS + randomInteger(own, 2 * DAY_S)))
  }

  /** Seconds: most often a few slots, where others are at work. */
  function lateBy(own: Random): number {
    const choice = own()
    if (choice < 0.6) return randomInteger(own, 4 * SLOT_S)
    if (choice < 0.75) return HISTORY_S + randomInteger(own, 2 * DAY_S)
    if (choice < 0.9) return randomInteger(own, 3 * DAY_S)
    return DAY_S + SLOT_S * randomInteger(own, 3)
  }

  function made(own: Random, ageS: number, of = whose(own)): UsageEvent {
    const madeAt = clock()
    // Some of what is very old was accepted in time, and is loaded only now.
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
   * What a rollup service works with, with pauses between its statements and within those that store. Pairs are for
   * those alone that are there for them: whoever else worked them off would mend them.
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

  /** A rollup service that lives for a while; then the next takes its place. */
  const service = (own: Random) => async () => {
    const keeper = openService(own)
    for (let left = 5 + randomInteger(own, 60); left > 0 && !ended; left--) await sleep(50)
    await keeper.close()
    await sleep(randomInteger(own, 2_000))
  }

  /**
   * More that work off late usage, whatever else the services are at: what a slow one has read is old when it is
   * stored.
   */
  const lateWorker = (own: Random, share: number) => workingOff(own, partsOf(own, { share }))

  const workingOff = (own: Random, parts: ReturnType<typeof partsOf>) => async () => {
    const { signal } = new AbortController()
    await isDone(workOffLate({ ...parts, signal }, { ...MARKS_AFTER, orphanS: ORPHAN_S }))
    await sleep(randomInteger(own, 50))
  }

  /**
   * One that has nothing else to do than these pairs, so that its rounds are short.
   *
   * @param isHolding whether it stores what it read only when others have worked off what came meanwhile
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

  /** Up to an hour before, so that a day is closed soon after. */
  const toLastMidnight = async () => {
    const now = await stage.epochs.now()
    return now - dayOf(now) + 3_600
  }

  /**
   * Now and then all rollups anew. The second and some of the others only up to the last midnight, or up to two days
   * ago when there is time: then days are closed again. In a short run the slots of now are back as soon as one was.
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

  /** Until everything that was stored is in the rollups. */
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

/** Whether it came to its end, and did not crash. */
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

/** Every way to ask, of accounts and of all together, over all time and cut anywhere. */
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
        // Whoever saw the events themselves must find them here.
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

/** Sums of accounts alone, of which those that are asked for at the same time share queries. */
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
