import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { markLate } from '../../../services/loader/mark-late.ts'
import { closeSlots } from '../../../services/rollup/close-slots.ts'
import { passOverMarks } from '../../../services/rollup/recompute-late.ts'
import { formatAmount } from '../../../shared/amount/amount.ts'
import { type ClickHouse, queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { buildEpoch } from '../../../shared/clickhouse/rollups/build-epoch.ts'
import { dirtySlotRepository, IS_MARK } from '../../../shared/clickhouse/rollups/dirty-slots.ts'
import { rollupEpochRepository } from '../../../shared/clickhouse/rollups/rollup-epochs.ts'
import { rollupTables } from '../../../shared/clickhouse/rollups/rollup-tables.ts'
import { type LatestSums, makeLatestSums } from '../../../shared/clickhouse/usage/latest-sums.ts'
import { usageThroughRollups } from '../../../shared/clickhouse/usage/usage-through-rollups.ts'
import { ALL_TIME, DAY_S } from '../../../shared/domain/time-range.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { subjectOf } from '../../../shared/usage-lines/log-line-subjects.ts'
import { countingClickHouse, QueryCounts, usageQueriesOf } from '../../support/count-queries.ts'
import { asking, slowToStore } from '../../support/pausing.ts'
import {
  countMarks,
  EPOCH_CACHED_MS,
  expectRollupsExact,
  type RollupStage,
  startRollupStage,
} from '../../support/rollup-stage.ts'
import { MARKS_AFTER, workOffLate } from '../../support/rollup-steps.ts'
import { until } from '../../support/until.ts'
import { ACCOUNT, makeReport, NAMESPACE } from '../../support/usage-event.ts'

const HOUR_S = 3_600
const MARGIN_S = 15

/** Whether a query reads all closed usage. */
const readsWhole = (query: string): boolean => /FROM usage_by_(day|month) /.test(query)

interface MarkedInsert {
  behindS?: number
  begunMax?: number
  latestSums?: LatestSums
}

describe('what meets in the middle of something', function () {
  this.timeout(120_000)
  let stage: RollupStage
  let expected = 0

  before(async () => {
    stage = await startRollupStage('rollup_races', 300)
  })
  after(() => stage.close())

  /**
   * Plays a race with slots closed up to five hours ago. Afterwards readers must find all stored usage, and rollups
   * must be exact.
   */
  const plays = (title: string, play: () => Promise<void>) =>
    it(title, async () => {
      await giveUpEpochs()
      await buildEpoch({ client: stage.computing, ...partsOf(stage.computing) }, 5 * HOUR_S)
      await sleep(EPOCH_CACHED_MS) // no reader uses an abandoned epoch, which is no longer kept up to date
      await play()
      expect(await readCount(), 'while marks may stand').to.deep.equal(everywhere(expected))
      await close(10)
      await workOffAll()
      expect(await readCount(), 'worked off').to.deep.equal(everywhere(expected))
      await expectRollupsExact(stage.client, NAMESPACE)
    })

  /** Abandons the epochs of earlier plays, which would otherwise be kept up to date for some time. */
  const giveUpEpochs = async () => {
    for (const { epoch } of await stage.epochs.list())
      await stage.epochs.giveUp(epoch, await stage.epochs.now())
  }

  /** @param table the table whose rollups are stored some time after the events were read; default: any */
  const partsOf = (client: ClickHouse, between?: () => Promise<void>, table?: string) => {
    let pause = between
    return {
      epochs: rollupEpochRepository(client),
      tables: rollupTables(
        slowToStore(client, (into) => {
          if (table !== undefined && table !== into) return undefined
          const once = pause
          pause = undefined
          return once
        }),
        30,
      ),
      dirty: dirtySlotRepository(client),
      reached: () => undefined,
      signal: new AbortController().signal,
    }
  }

  /** @param work gets a function to call in between, and must call it */
  const comesTo = async (
    between: (() => Promise<void>) | undefined,
    work: (between: (() => Promise<void>) | undefined) => Promise<unknown>,
  ) => {
    let isCome = between === undefined
    await work(
      between &&
        (() => {
          isCome = true
          return between()
        }),
    )
    expect(isCome, 'whether anything was computed').to.equal(true)
  }

  /**
   * @param between what goes on after the first statement has read the events, and before it stores what it made of
   *   them
   */
  const close = (graceS: number, between?: () => Promise<void>) =>
    comesTo(between, (once) => closeSlots(partsOf(stage.computing, once), graceS))
  /** Hides the epochs of earlier plays, which are kept up to date for some time and reach further. */
  const ofThisPlay = (parts: ReturnType<typeof partsOf>) => ({
    ...parts,
    epochs: { ...parts.epochs, list: async () => (await parts.epochs.list()).slice(-1) },
  })
  const workOff = (between?: () => Promise<void>) =>
    comesTo(between, (once) => workOffLate(partsOf(stage.computing, once)))

  const workOffAll = () =>
    until(async () => {
      await workOff()
      return (await countMarks(stage.client)) === 0
    }, 20_000)

  const lineOf = (events: readonly UsageEvent[]) => Buffer.from(events.map(usageEventToLine).join('\n'))

  /**
   * @param behindS the seconds by which ClickHouse's clock is behind
   * @param begunMax the latest slot whose closing has begun when the insert begins
   */
  const markedInsert = (
    beforeRows: () => Promise<void>,
    afterRows: () => Promise<void>,
    { behindS = 0, begunMax = Infinity, latestSums }: MarkedInsert = {},
  ) => {
    let isStored = false
    return markLate(
      {
        epochs: {
          async readClock() {
            if (isStored) await afterRows()
            const told = await rollupEpochRepository(stage.writing).readClock()
            const closing = isStored ? told.closing : Math.min(told.closing, begunMax)
            return { ...told, now: told.now - behindS, closing }
          },
        },
        dirty: dirtySlotRepository(stage.writing),
        async insertLines(lines) {
          await beforeRows()
          await usageEventRepository(stage.writing).insertLines(lines)
          isStored = true
        },
        reached: () => undefined,
        latestSums,
      },
      MARGIN_S,
    )
  }

  const reportedNow = async (occurredAt: number): Promise<UsageEvent> =>
    makeReport({ occurredAt, acceptedAt: (await stage.epochs.now()) * 1_000_000 })

  /** Stores another event like the loader. */
  async function store(
    occurredAt: number,
    { beforeRows = nothing, afterRows = nothing } = {},
  ): Promise<void> {
    const event = await reportedNow(occurredAt)
    const insertLines = markedInsert(beforeRows, () => {
      expected++
      return afterRows()
    })
    await insertLines(lineOf([event]), [subjectOf(event)])
  }

  /** Counts the events by all kinds of requests. */
  async function readCount(reader = stage.rolled): Promise<number[]> {
    const [all, mine, sums] = [
      await reader.aggregate(NAMESPACE, { range: ALL_TIME }),
      await reader.aggregate(NAMESPACE, { range: ALL_TIME, accountId: ACCOUNT }),
      await reader.sumByAccount(NAMESPACE, [ACCOUNT]),
    ]
    const sum = sums.get(ACCOUNT)?.get('usd')
    return [
      Number(all.get('usd')?.count ?? 0n),
      Number(mine.get('usd')?.count ?? 0n),
      sum === undefined ? 0 : Number(formatAmount(sum)), // of 1 each
    ]
  }

  const everywhere = (count: number): number[] => [count, count, count]
  const ago = async (seconds: number) => (await stage.epochs.now()) - seconds
  /**
   * A second of the first slot that is not closed. The next closing reads this slot's events first. Hours may be closed
   * in two parts, separated by midnight.
   */
  const nextToClose = async () => {
    const { closedThrough } = (await stage.epochs.list()).findLast(({ state }) => state === 'in use') ?? {}
    if (closedThrough === undefined) throw new Error('there are no rollups')
    return closedThrough
  }

  // This play is the first, because it needs slots of the last five hours whose closing has not begun.
  plays('slots that were closed before the clock was set back lose no usage', async () => {
    const storeBehind = async (occurredAt: number, beforeRows = nothing) => {
      const event = await reportedNow(occurredAt)
      await markedInsert(beforeRows, nothing, { behindS: 6 * HOUR_S })(lineOf([event]), [subjectOf(event)])
      expected++
      await sleep(EPOCH_CACHED_MS)
      expect(await readCount()).to.deep.equal(everywhere(expected))
    }
    const at = await ago(4.5 * HOUR_S)
    await storeBehind(at)
    expect(await countMarks(stage.client), 'of slots that nobody closes').to.equal(0)
    await storeBehind(at, () => close(4 * HOUR_S))
    await storeBehind(at - 900)
    expect(await countMarks(stage.client)).to.equal(2)
  })

  for (const [table, ageS] of [
    ['usage_by_slot', 6 * HOUR_S],
    ['usage_by_slot_total', 6 * HOUR_S],
    ['usage_by_day', 2 * DAY_S],
    ['usage_by_day_total', 2 * DAY_S],
    ['usage_by_month', 70 * DAY_S],
  ] as const)
    plays(`in ${table} what was computed from less does not replace what was from more`, async () => {
      const at = await ago(ageS)
      await sleep(EPOCH_CACHED_MS)
      await store(at)
      const meanwhile = async () => {
        await store(at)
        await workOff()
        expect(await readCount()).to.deep.equal(everywhere(expected))
      }
      await comesTo(meanwhile, (once) => workOffLate(ofThisPlay(partsOf(stage.computing, once, table))))
    })

  plays('days that ended while no service ran for five weeks are computed from the events', async () => {
    await buildEpoch({ client: stage.computing, ...partsOf(stage.computing) }, 35 * DAY_S)
    for (const days of [34.9, 34.2, 33.5, 33.1]) await store(await ago(days * DAY_S))
    const marks = await countMarks(stage.client)
    await sleep(EPOCH_CACHED_MS)
    await closeSlots(ofThisPlay(partsOf(stage.computing)), 33 * DAY_S)
    // So no late work repairs its result.
    expect([marks, await countMarks(stage.client)]).to.deep.equal([4, 0])
    expect(await readCount()).to.deep.equal(everywhere(expected))
    await expectRollupsExact(stage.client, NAMESPACE)
    await buildEpoch({ client: stage.computing, ...partsOf(stage.computing) }, 5 * HOUR_S)
  })

  plays('however many slots are marked, usage is read as it is', async () => {
    // Marks of 12,000 slots of ten accounts: days of one account, and of all accounts too many slots to be listed.
    const newest = await ago(6 * HOUR_S)
    const mark = (change: number) =>
      stage.writing.command({
        query: `INSERT INTO usage_dirty_slots
          SELECT {namespaceId:String}, if(number % 10 = 0, {accountId:String}, concat('account_', toString(number % 10))), 0,
            toStartOfFiveMinutes(toDateTime({newest:UInt32}, 'UTC')) - toIntervalMinute(5 * number), 7, 1, now(), ${change}
          FROM numbers(12000)`,
        query_params: { namespaceId: NAMESPACE, accountId: ACCOUNT, newest },
      })
    for (const days of [0.3, 1, 2, 3, 4, 6]) await store(await ago(days * DAY_S))
    await workOffAll()
    const counts = new QueryCounts()
    const reader = usageThroughRollups(countingClickHouse(stage.client, counts))
    const areDaysAsked = () => counts.clickhouse.some(({ query }) => query.includes('toStartOfDay(slot)'))
    await mark(1)
    for (const days of [0.4, 2, 3]) await store(await ago(days * DAY_S))
    expect(await readCount(reader)).to.deep.equal(everywhere(expected))
    expect(areDaysAsked()).to.equal(true)
    const now = await stage.epochs.now()
    for (const accountId of [undefined, ACCOUNT])
      for (const range of [ALL_TIME, { startAt: now - 3 * DAY_S, endAt: now - 7 * HOUR_S }]) {
        const selection = { range, ...(accountId === undefined ? {} : { accountId }) }
        expect(await reader.aggregate(NAMESPACE, selection)).to.deep.equal(
          await stage.raw.aggregate(NAMESPACE, selection),
        )
        for (const period of ['day', 'month'] as const)
          expect(await reader.aggregateByPeriod(NAMESPACE, period, selection)).to.deep.equal(
            await stage.raw.aggregateByPeriod(NAMESPACE, period, selection),
          )
      }
    await mark(-1)
  })

  plays('usage that becomes late while its slot is being closed is not forgotten', async () => {
    const at = await ago(3 * HOUR_S)
    await store(at)
    await workOffAll()
    await close(2 * HOUR_S)
    const later = await nextToClose()
    await close(HOUR_S, async () => {
      await store(later)
      await workOff()
    })
  })

  plays(
    'usage that is late for a slot nobody has told of yet is not forgotten by who has the rest cached',
    async () => {
      const reader = usageThroughRollups(stage.client)
      await close(2 * HOUR_S)
      await workOffAll()
      await sleep(EPOCH_CACHED_MS)
      const later = await nextToClose()
      await close(HOUR_S, async () => {
        await store(later)
        expect(await readCount(reader), 'while it is being closed').to.deep.equal(everywhere(expected))
      })
      for (const when of ['known for a moment', 'with a mark', 'worked off']) {
        expect(await readCount(reader), when).to.deep.equal(everywhere(expected))
        if (when === 'with a mark') await workOffAll()
        await sleep(EPOCH_CACHED_MS)
      }
    },
  )

  plays('usage that was stored before its slot is closed needs no second look at it', async () => {
    await store(await ago(4 * HOUR_S))
    await store(await ago(6 * HOUR_S))
    await sleep(EPOCH_CACHED_MS) // no reader uses an epoch of the earlier plays
    expect(await countMarks(stage.client)).to.equal(2)
    await closeSlots(ofThisPlay(partsOf(stage.computing)), 3 * HOUR_S)
    expect(await countMarks(stage.client), 'of the slot that was closed before').to.equal(1)
  })

  plays('usage that is stored while its slot is being closed is not passed over', async () => {
    const at = await ago(4 * HOUR_S)
    const { dirty, epochs } = ofThisPlay(partsOf(stage.computing))
    let closing: Promise<unknown> | undefined
    /** Between the two reads, in any order, others close the slot without this usage. */
    const meanwhile = async () => {
      if (closing !== undefined) return
      await new Promise<void>((resolve, reject) => {
        closing = close(10, async () => {
          await store(at)
          resolve()
          await sleep(500) // the marks are read first, and then the slot is stored without this usage
        }).catch(reject)
      })
    }
    const after = async <T>(look: Promise<T>): Promise<T> => {
      const seen = await look
      await meanwhile()
      return seen
    }
    await store(await ago(6 * HOUR_S))
    await passOverMarks(
      {
        dirty: { ...dirty, listReadyFrom: (slotFrom) => after(dirty.listReadyFrom(slotFrom)) },
        epochs: { now: () => epochs.now(), list: () => after(epochs.list()) },
      },
      0,
    )
    await closing
    expect(await countMarks(stage.client)).to.equal(2)
  })

  plays('however many marks there are of slots that are yet to be closed, none is left', async () => {
    const at = await ago(4 * HOUR_S)
    await stage.writing.command({
      query: `INSERT INTO usage_dirty_slots SELECT {namespaceId:String}, {accountId:String}, 0,
        toDateTime({slot:UInt32}, 'UTC'), number + 1, 1, now(), 1 FROM numbers(1200)`,
      query_params: { namespaceId: NAMESPACE, accountId: ACCOUNT, slot: at - (at % stage.slotS) },
    })
    await sleep(EPOCH_CACHED_MS)
    expect(await countMarks(stage.client)).to.equal(1_200)
    await closeSlots(ofThisPlay(partsOf(stage.computing)), 3 * HOUR_S)
    expect(await countMarks(stage.client)).to.equal(0)
  })

  plays('what two services cancel at once is forgotten after a while, and hides nothing', async () => {
    const dirty = dirtySlotRepository(stage.computing)
    const rows = async () =>
      queryRows<{ sum: number }>(
        stage.client,
        `SELECT toInt32(sum(change)) AS sum FROM usage_dirty_slots WHERE ${IS_MARK} GROUP BY namespace_id, account_id, slot, insert_id, stage HAVING sum != 0`,
        {},
      )
    await store(await ago(6 * HOUR_S))
    const marks = await dirty.listReady(MARKS_AFTER, 10)
    expect(marks).to.have.length(1)
    // Read before it is cancelled, because a merge may then remove it.
    const standing = await queryRows<Record<string, unknown>>(
      stage.client,
      'SELECT * REPLACE (toString(insert_id) AS insert_id) FROM usage_dirty_slots WHERE toString(insert_id) = {insertId:String} AND stage = 1',
      { insertId: marks[0]?.insertId },
    )
    await workOff()
    // Another service has seen the mark and cancels it, too.
    await stage.computing.insert({
      table: 'usage_dirty_slots',
      values: standing.map((row) => ({ ...row, change: -1 })),
      format: 'JSONEachRow',
    })
    expect(await rows()).to.deep.equal([{ sum: -1 }])
    await store(await ago(6 * HOUR_S))
    expect(await countMarks(stage.client)).to.equal(1)
    await dirty.repair(60)
    expect((await rows()).length, 'too young').to.equal(2)
    await sleep(1_100)
    await dirty.repair(0)
    expect(await rows()).to.deep.equal([{ sum: 1 }])
  })

  plays('an event that is stored again counts once', async () => {
    const event = makeReport({ occurredAt: await ago(6 * HOUR_S) })
    expected++
    for (let times = 0; times < 3; times++) {
      await markedInsert(nothing, nothing)(lineOf([event]), [subjectOf(event)])
      await workOffAll()
    }
  })

  plays('a mark that is placed while others are worked off stays', async () => {
    const at = await ago(6 * HOUR_S)
    await store(at)
    await workOff(() => store(at))
    expect(await countMarks(stage.client)).to.equal(1)
  })

  plays('a row that is stored while its slot is worked off for others is found at once', async () => {
    const at = await ago(6 * HOUR_S)
    await store(at)
    const early = at - 600
    await store(early, {
      beforeRows: async () => {
        await workOff()
      },
      afterRows: async () => {
        expect(await readCount()).to.deep.equal(everywhere(expected))
        await workOff()
        expect(await readCount()).to.deep.equal(everywhere(expected))
      },
    })
  })

  plays('what is cached of an account does not hide usage that others see', async () => {
    const at = await ago(6 * HOUR_S)
    // The mark is placed when the reader has read the late count, or also the sums. Its row is stored after that.
    const mark = { namespaceId: NAMESPACE, accountId: ACCOUNT, slot: at - (at % 300), kind: 'slot' as const }
    const place = async () =>
      dirtySlotRepository(stage.writing).placePending([mark], '123', await stage.epochs.now())
    for (const which of [/FROM usage_dirty_slots/, /FROM usage_by_/]) {
      const reader = usageThroughRollups(onceAnswered(stage.client, which, place))
      await reader.sumByAccount(NAMESPACE, [ACCOUNT])
      expect(await countMarks(stage.client)).to.equal(1)
      const event = makeReport({ occurredAt: at })
      await usageEventRepository(stage.writing).insertLines(lineOf([event]))
      expected++
      expect(await readCount(reader)).to.deep.equal(everywhere(expected))
      await dirtySlotRepository(stage.writing).turnReady([mark], '123', await stage.epochs.now())
      await workOffAll()
    }
  })

  plays(
    'sums of an account are not cached that lack usage whose slot was closed before it is marked',
    async () => {
      const latestSums = makeLatestSums(0)
      const reader = usageThroughRollups(stage.client, latestSums)
      await store(await ago(6 * HOUR_S)) // sums of an account without usage are never cached
      await workOffAll()
      const at = await nextToClose()
      const event = await reportedNow(at)
      const readOnceClosed = async () => {
        await sleep(EPOCH_CACHED_MS)
        await reader.sumByAccount(NAMESPACE, [ACCOUNT])
      }
      const storeLines = markedInsert(() => close(4 * HOUR_S), readOnceClosed, {
        behindS: 6 * HOUR_S,
        begunMax: at,
        latestSums,
      })
      await storeLines(lineOf([event]), [subjectOf(event)])
      expected++
      expect(await readCount(reader)).to.deep.equal(everywhere(expected))
    },
  )

  plays('who has late usage is read whole, and cached once that is worked off', async () => {
    const counts = new QueryCounts()
    const reader = usageThroughRollups(countingClickHouse(stage.client, counts))
    const read = async () => {
      counts.clear()
      const sum = (await reader.sumByAccount(NAMESPACE, [ACCOUNT])).get(ACCOUNT)?.get('usd')
      expect(sum && formatAmount(sum)).to.equal(String(expected))
      const asked = usageQueriesOf(counts)
      return [asked.some(({ query }) => readsWhole(query)) ? 'whole' : 'since', asked.length]
    }
    await store(await ago(4 * HOUR_S))
    expect(await read(), 'nothing known').to.deep.equal(['whole', 3])
    expect(await read(), 'late').to.deep.equal(['whole', 3])
    await store(await ago(3 * HOUR_S))
    expect(await read(), 'later still').to.deep.equal(['whole', 3])
    await workOffAll()
    expect(await read(), 'late no more').to.deep.equal(['whole', 2])
    expect(await read(), 'cached').to.deep.equal(['since', 1])
    await store(await ago(5 * HOUR_S))
    expect(await read(), 'late again').to.deep.equal(['whole', 4])
    expect(await read(), 'late still').to.deep.equal(['whole', 3])
    await workOffAll()
    expect(await read(), 'late no more').to.deep.equal(['whole', 2])
    await store(await ago(4 * HOUR_S))
    await workOffAll()
    expect(await read(), 'late in between').to.deep.equal(['whole', 3])
    expect(await read(), 'cached').to.deep.equal(['since', 1])
    await buildEpoch({ client: stage.computing, ...partsOf(stage.computing) }, 5 * HOUR_S)
    await sleep(EPOCH_CACHED_MS)
    await store(await ago(6 * HOUR_S))
    expect(await read(), 'late, and cached in an epoch that was replaced').to.deep.equal(['whole', 4])
    expect(await read(), 'late still').to.deep.equal(['whole', 3])
  })

  plays('what is cached of accounts goes on with the slots that are closed since', async () => {
    const other = `account_${'d'.repeat(32)}`
    const counts = new QueryCounts()
    const reader = usageThroughRollups(countingClickHouse(stage.client, counts))
    /** Reads both accounts, and returns their sums and the queries. */
    const readBoth = async () => {
      counts.clear()
      const sums = await reader.sumByAccount(NAMESPACE, [ACCOUNT, other])
      const [mine, theirs] = [sums.get(ACCOUNT)?.get('usd'), sums.get(other)?.get('eur')]
      return {
        sums: [mine, theirs].map((sum) => Number(sum === undefined ? 0 : formatAmount(sum))),
        readsAll: counts.clickhouse.some(({ query }) => readsWhole(query)),
      }
    }
    let theirs = 0
    /** Stores an event of both accounts in time, before its slot is closed. */
    const storeBoth = async (occurredAt: number) => {
      const events = [makeReport({ occurredAt }), makeReport({ occurredAt, accountId: other, source: 'eur' })]
      await usageEventRepository(stage.writing).insertLines(lineOf(events))
      expected++
      theirs++
    }
    await store(await ago(6 * HOUR_S))
    await workOffAll()
    await reader.sumByAccount(NAMESPACE, [ACCOUNT])
    await storeBoth(await ago(4 * HOUR_S))
    await close(3 * HOUR_S)
    await sleep(EPOCH_CACHED_MS)
    await reader.sumByAccount(NAMESPACE, [other])
    await storeBoth(await ago(2.5 * HOUR_S))
    await close(2 * HOUR_S)
    await sleep(EPOCH_CACHED_MS)
    for (let n = 0; n < 2; n++)
      expect(await readBoth()).to.deep.equal({ sums: [expected, theirs], readsAll: false })
    await store(await ago(4 * HOUR_S))
    expect(await readBoth()).to.deep.equal({ sums: [expected, theirs], readsAll: true })
    await workOffAll()
    for (const readsAll of [true, false])
      expect(await readBoth()).to.deep.equal({ sums: [expected, theirs], readsAll })
  })
})

const nothing = () => Promise.resolve()

/** Wraps a client, and calls a function once, when a query is answered and before its caller gets the answer. */
function onceAnswered(client: ClickHouse, which: RegExp, happens: () => Promise<void>): ClickHouse {
  let done: Promise<void> | undefined
  return asking(client, async (given, query) => {
    const answer = await query(given)
    if (which.test(given.query)) await (done ??= happens())
    return answer
  })
}
