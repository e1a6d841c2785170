import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { markLate } from '../../../services/loader/mark-late.ts'
import { closeSlots } from '../../../services/rollup/close-slots.ts'
import { passOverMarks, recomputeLate } from '../../../services/rollup/recompute-late.ts'
import { formatAmount } from '../../../shared/amount/amount.ts'
import { queryRows, type ClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { buildEpoch } from '../../../shared/clickhouse/rollups/build-epoch.ts'
import { dirtySlotRepository } from '../../../shared/clickhouse/rollups/dirty-slots.ts'
import { rollupEpochRepository } from '../../../shared/clickhouse/rollups/rollup-epochs.ts'
import { rollupTables } from '../../../shared/clickhouse/rollups/rollup-tables.ts'
import { usageThroughRollups } from '../../../shared/clickhouse/rollups/usage-through-rollups.ts'
import { usageEventRepository } from '../../../shared/clickhouse/usage-events.ts'
import { ALL_TIME } from '../../../shared/domain/time-slot.ts'
import { usageEventToLine } from '../../../shared/domain/usage-event-line.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { countingClickHouse, QueryCounts } from '../../support/count-queries.ts'
import { slowToStore } from '../../support/pausing.ts'
import {
  countMarks,
  EPOCH_KNOWN_MS,
  expectRollupsExact,
  startRollupStage,
  type RollupStage,
} from '../../support/rollup-stage.ts'
import { ORPHAN_S } from '../../support/rollup-steps.ts'
import { until } from '../../support/until.ts'
import { ACCOUNT, makeReport, NAMESPACE } from '../../support/usage-event.ts'

const HOUR_S = 3_600
const MARGIN_S = 15

describe('what meets in the middle of something', function () {
  this.timeout(120_000)
  let stage: RollupStage
  let expected = 0

  before(async () => {
    stage = await startRollupStage('rollup_races', 300)
  })
  after(() => stage.close())

  /** Plays it with slots closed up to five hours ago. Whatever was done: all that is stored is found, and worked off exactly. */
  const plays = (title: string, play: () => Promise<void>) =>
    it(title, async () => {
      await buildEpoch({ client: stage.computing, ...partsOf(stage.computing) }, 5 * HOUR_S)
      await play()
      expect(await readCount(), 'while marks may stand').to.deep.equal(everywhere(expected))
      await close(10)
      await workOffAll()
      expect(await readCount(), 'worked off').to.deep.equal(everywhere(expected))
      await expectRollupsExact(stage.client, NAMESPACE)
    })

  const partsOf = (client: ClickHouse, between?: () => Promise<void>) => {
    let pause = between
    return {
      epochs: rollupEpochRepository(client),
      tables: rollupTables(
        slowToStore(client, () => {
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

  /** @param between what goes on after the first statement has read the events, and before it stores what it made of them */
  const close = (graceS: number, between?: () => Promise<void>) =>
    closeSlots(partsOf(stage.computing, between), graceS)
  /** For who must not see the epochs of the plays before, which are kept up to date for a while and reach further. */
  const ofThisPlay = (parts: ReturnType<typeof partsOf>) => ({
    ...parts,
    epochs: { ...parts.epochs, list: async () => (await parts.epochs.list()).slice(-1) },
  })
  const workOff = (between?: () => Promise<void>) =>
    recomputeLate(partsOf(stage.computing, between), ORPHAN_S)

  const workOffAll = () =>
    until(async () => {
      await workOff()
      return (await countMarks(stage.client)) === 0
    }, 20_000)

  const lineOf = (events: readonly UsageEvent[]) => Buffer.from(events.map(usageEventToLine).join('\n'))

  const markedInsert = (beforeRows: () => Promise<void>, afterRows: () => Promise<void>) =>
    markLate(
      {
        clock: rollupEpochRepository(stage.writing),
        dirty: dirtySlotRepository(stage.writing),
        async insertLines(lines) {
          await beforeRows()
          await usageEventRepository(stage.writing).insertLines(lines)
          await afterRows()
        },
        reached: () => undefined,
      },
      MARGIN_S,
    )

  /** Stores one more event as the loader does. */
  async function store(
    occurredAt: number,
    { beforeRows = nothing, afterRows = nothing } = {},
  ): Promise<void> {
    const event = makeReport({ occurredAt })
    const insertLines = markedInsert(beforeRows, () => {
      expected++
      return afterRows()
    })
    await insertLines(lineOf([event]), [event])
  }

  /** How many events there are, in every way to ask. */
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

  plays('a rollup that was computed from less does not replace one computed from more', async () => {
    const at = await ago(6 * HOUR_S)
    await store(at)
    await workOff(async () => {
      await store(at)
      await workOff()
      expect(await readCount()).to.deep.equal(everywhere(expected))
    })
  })

  plays('usage that becomes late while its slot is being closed is not forgotten', async () => {
    const at = await ago(3 * HOUR_S)
    await store(at)
    await workOffAll()
    await close(2 * HOUR_S)
    const later = await ago(HOUR_S + 1_800)
    await close(HOUR_S, async () => {
      await store(later)
      await workOff()
    })
  })

  plays(
    'usage that is late for a slot nobody has told of yet is not forgotten by who remembers the rest',
    async () => {
      const reader = usageThroughRollups(stage.client)
      await close(2 * HOUR_S)
      await workOffAll()
      await sleep(EPOCH_KNOWN_MS)
      const later = await ago(HOUR_S + 1_800)
      await close(HOUR_S, async () => {
        await store(later)
        expect(await readCount(reader), 'while it is being closed').to.deep.equal(everywhere(expected))
      })
      for (const when of ['known for a moment', 'with a mark', 'worked off']) {
        expect(await readCount(reader), when).to.deep.equal(everywhere(expected))
        if (when === 'with a mark') await workOffAll()
        await sleep(EPOCH_KNOWN_MS)
      }
    },
  )

  plays('usage that was stored before its slot is closed needs no second look at it', async () => {
    await store(await ago(4 * HOUR_S))
    await store(await ago(6 * HOUR_S))
    await sleep(EPOCH_KNOWN_MS) // nobody goes by an epoch of the plays before
    expect(await countMarks(stage.client)).to.equal(2)
    await closeSlots(ofThisPlay(partsOf(stage.computing)), 3 * HOUR_S)
    expect(await countMarks(stage.client), 'of the slot that was closed before').to.equal(1)
  })

  plays('usage that is stored while its slot is being closed is not passed over', async () => {
    const at = await ago(4 * HOUR_S)
    const { dirty, epochs } = ofThisPlay(partsOf(stage.computing))
    let closing: Promise<unknown> | undefined
    /** Between the two looks that are taken, whichever comes first, others close the slot without this usage. */
    const meanwhile = async () => {
      if (closing !== undefined) return
      await new Promise<void>((resolve, reject) => {
        closing = close(10, async () => {
          await store(at)
          resolve()
          await sleep(500) // the marks are gone through, and only then the slot is stored without it
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
    await sleep(EPOCH_KNOWN_MS)
    expect(await countMarks(stage.client)).to.equal(1_200)
    await closeSlots(ofThisPlay(partsOf(stage.computing)), 3 * HOUR_S)
    expect(await countMarks(stage.client)).to.equal(0)
  })

  plays('what two services cancel at once is forgotten after a while, and hides nothing', async () => {
    const dirty = dirtySlotRepository(stage.computing)
    const rows = async () =>
      queryRows<{ sum: number }>(
        stage.client,
        `SELECT toInt32(sum(sign)) AS sum FROM usage_dirty_slots GROUP BY namespace_id, account_id, slot, mark, stage HAVING sum != 0`,
        {},
      )
    await store(await ago(6 * HOUR_S))
    const marks = await dirty.listReady(ORPHAN_S, 10)
    expect(marks).to.have.length(1)
    await workOff()
    // As by somebody who had seen it stand, too.
    await stage.computing.command({
      query: `INSERT INTO usage_dirty_slots SELECT namespace_id, account_id, whole_day, slot, mark, stage, placed_at, -1
        FROM usage_dirty_slots WHERE toString(mark) = {mark:String} AND stage = 1 LIMIT 1`,
      query_params: { mark: marks[0]?.mark },
    })
    expect(await rows()).to.deep.equal([{ sum: -1 }])
    await store(await ago(6 * HOUR_S))
    expect(await countMarks(stage.client)).to.equal(1)
    await dirty.settle(60)
    expect((await rows()).length, 'too young').to.equal(2)
    await sleep(1_100)
    await dirty.settle(0)
    expect(await rows()).to.deep.equal([{ sum: 1 }])
  })

  plays('an event that is stored again counts once', async () => {
    const event = makeReport({ occurredAt: await ago(6 * HOUR_S) })
    expected++
    for (let times = 0; times < 3; times++) {
      await markedInsert(nothing, nothing)(lineOf([event]), [event])
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

  plays('what is remembered of an account does not hide usage that others see', async () => {
    const at = await ago(6 * HOUR_S)
    // Between two things that a reader asks for at once, a mark is placed, and its row is stored after it was answered.
    let isPlaced = false
    const place = async () => {
      if (isPlaced) return
      isPlaced = true
      await dirtySlotRepository(stage.writing).placePending(
        [{ namespaceId: NAMESPACE, accountId: ACCOUNT, slot: at - (at % 300), wholeDay: false }],
        '123',
        await stage.epochs.now(),
      )
    }
    for (const isFirst of [/FROM usage_dirty_slots/, /FROM late_usage_counts/]) {
      isPlaced = false
      const reader = usageThroughRollups(beforeOthers(stage.client, isFirst, place))
      await reader.sumByAccount(NAMESPACE, [ACCOUNT])
      const event = makeReport({ occurredAt: at })
      await usageEventRepository(stage.writing).insertLines(lineOf([event]))
      expected++
      expect(await readCount(reader)).to.deep.equal(everywhere(expected))
      await dirtySlotRepository(stage.writing).turnReady(
        [{ namespaceId: NAMESPACE, accountId: ACCOUNT, slot: at - (at % 300), wholeDay: false }],
        '123',
        await stage.epochs.now(),
      )
      await workOffAll()
    }
  })

  plays('what is remembered of accounts goes on with the slots that are closed since', async () => {
    const other = `account_${'d'.repeat(32)}`
    const counts = new QueryCounts()
    const reader = usageThroughRollups(countingClickHouse(stage.client, counts))
    /** Of the account and of the other one, with what was asked for them. */
    const readBoth = async () => {
      counts.clear()
      const sums = await reader.sumByAccount(NAMESPACE, [ACCOUNT, other])
      const [mine, theirs] = [sums.get(ACCOUNT)?.get('usd'), sums.get(other)?.get('eur')]
      return {
        sums: [mine, theirs].map((sum) => Number(sum === undefined ? 0 : formatAmount(sum))),
        readsAll: counts.clickhouse.some(({ query }) => query.includes('FROM usage_by_day ')),
      }
    }
    let theirs = 0
    /** In time for its slot, which is not closed yet. */
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
    await sleep(EPOCH_KNOWN_MS)
    await reader.sumByAccount(NAMESPACE, [other])
    await storeBoth(await ago(2.5 * HOUR_S))
    await close(2 * HOUR_S)
    await sleep(EPOCH_KNOWN_MS)
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

/** A client of which some queries are answered before others are begun, and something happens in between. */
function beforeOthers(client: ClickHouse, isFirst: RegExp, happens: () => Promise<void>): ClickHouse {
  let first: Promise<unknown> | undefined
  let tellFirst: () => void = () => undefined
  const isAsked = new Promise<void>((resolve) => {
    tellFirst = resolve
  })
  return new Proxy(client, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver)
      if (typeof member !== 'function') return member
      if (name !== 'query') return member.bind(target) as unknown
      return async (given: Parameters<ClickHouse['query']>[0]) => {
        if (isFirst.test(given.query)) {
          const answer = target.query(given)
          first ??= answer.then(happens)
          tellFirst()
          return answer
        }
        if (/FROM usage_dirty_slots|FROM late_usage_counts/.test(given.query)) {
          // A reader that asks for one after the other never begins with this one's turn.
          await Promise.race([isAsked, new Promise((resolve) => setTimeout(resolve, 300))])
          await first
        }
        return target.query(given)
      }
    },
  })
}
