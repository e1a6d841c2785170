import { randomBytes } from 'node:crypto'
import type { DirtySlot, dirtySlotRepository } from '../../shared/clickhouse/rollups/dirty-slots.ts'
import type { rollupEpochRepository } from '../../shared/clickhouse/rollups/rollup-epochs.ts'
import { dayOf } from '../../shared/clickhouse/rollups/usage-cover.ts'
import type { LatestSums } from '../../shared/clickhouse/usage/latest-sums.ts'
import { DAY_S } from '../../shared/domain/time-range.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import { SMALL_STEPS, yielder } from '../../shared/lifecycle/yielder.ts'
import type { LogLineSubject } from '../../shared/usage-lines/log-line-subjects.ts'
import type { LoaderPoint } from './crash-points.ts'
import type { StoreBlocksDeps } from './store-blocks.ts'

export interface MarkLateDeps {
  epochs: Pick<ReturnType<typeof rollupEpochRepository>, 'readClock'>
  dirty: Pick<ReturnType<typeof dirtySlotRepository>, 'placePending' | 'turnReady' | 'placeReady'>
  /** Stores lines, all of them or none. When it throws, all of them may still be stored. */
  insertLines: (lines: Buffer) => Promise<void>
  reached: Reached<LoaderPoint>
  /** Runs each write of usage, if readers in this process use cached sums. */
  latestSums?: Pick<LatestSums, 'whileStoring'> | undefined
}

/**
 * These limits decide how finely the late usage of a batch is marked. A mark covers a slot of one account if that takes
 * few marks: at most MARKS_MAX, or one for every ROWS_A_MARK rows if that is more, but never more than
 * SLOTS_OF_ACCOUNTS_MAX. Otherwise a mark covers a slot of all accounts, if that takes at most MARKS_MAX marks.
 * Otherwise a mark covers a day. With many thousands of marks, readers would treat whole days as marked.
 */
const MARKS_MAX = 1_000
const ROWS_A_MARK = 50
const SLOTS_OF_ACCOUNTS_MAX = 5_000

/**
 * Stores lines. Usage whose slot has ended, or is about to end, is marked for the rollup service and for readers.
 *
 * A pending mark is placed before the lines are stored. After that, the mark turns ready, and only then the rollup
 * service computes the slot again. So a reader that sees the lines also sees the mark, or rollups that contain the
 * lines. Slots that are closed during the insert are an exception: they are marked right after the insert. If an insert
 * fails, its mark stays and its slot is computed again later. That harms nothing, and is needed if the lines were
 * stored after all.
 *
 * Once the lines are stored, the time up to which slots are being closed is read again. A rollup service moves that
 * time before it reads a slot's events. So either this function sees the new time and marks the slot, or that service
 * reads these lines.
 *
 * @param marginS a slot is marked from this many seconds before its end, so that an insert has time to end
 */
export function markLate(
  { epochs, dirty, insertLines, reached, latestSums }: MarkLateDeps,
  marginS: number,
): StoreBlocksDeps['storeLines'] {
  const store: StoreBlocksDeps['storeLines'] = async (lines, subjects) => {
    const { now, slotS, closing } = await epochs.readClock()
    // A slot is late once it has ended by the clock. It is also late once its closing has begun, because the clock may
    // have been set back since.
    const isLateAt = (at: number, begun: number) => {
      const end = Math.max(at - slotS + 1, begun)
      return ({ occurredAt }: LogLineSubject) => occurredAt - (occurredAt % slotS) < end
    }
    const wasLate = isLateAt(now + marginS, closing)
    const [late, inTime] = await partition(subjects, wasLate)
    const slotMarksMax = Math.max(MARKS_MAX, Math.min(subjects.length / ROWS_A_MARK, SLOTS_OF_ACCOUNTS_MAX))
    const [insertId, slots] = [randomId(), await slotMarks(late, slotS, now, slotMarksMax)]
    if (slots.length > 0) {
      await dirty.placePending(slots, insertId, now)
      reached('loader-marked')
    }
    await insertLines(lines)
    reached('loader-stored')
    const { now: then, closing: begun } = await epochs.readClock()
    const [lateByNow] = await partition(inTime, isLateAt(then, begun))
    const ended = await slotMarks(lateByNow, slotS, then, slotMarksMax)
    if (ended.length > 0) await dirty.placeReady(ended, randomId(), then)
    if (slots.length > 0) await dirty.turnReady(slots, insertId, now)
    reached('loader-readied')
  }
  if (latestSums === undefined) return store
  // The write includes the marks. If a slot was closed while its lines were stored, sums lack these lines until the
  // slot is marked.
  return (lines, subjects) => latestSums.whileStoring(lines, subjects, () => store(lines, subjects))
}

/** The marks of late usage: the finest kind that does not take too many marks. */
async function slotMarks(
  late: readonly LogLineSubject[],
  slotS: number,
  now: number,
  most: number,
): Promise<DirtySlot[]> {
  const ofAccount = ({ namespaceId, accountId, occurredAt }: LogLineSubject): DirtySlot => ({
    namespaceId,
    accountId,
    slot: occurredAt - (occurredAt % slotS),
    kind: 'slot',
  })
  const ofAll = (one: LogLineSubject): DirtySlot => ({ ...ofAccount(one), accountId: '' })
  // A day that has not ended is marked slot by slot, because the day has no rollup yet.
  const ofDay = (one: LogLineSubject): DirtySlot => {
    const day = dayOf(one.occurredAt)
    return day + DAY_S > now ? ofAll(one) : { ...ofAll(one), slot: day, kind: 'day' }
  }
  return (
    (await distinctUpTo(most, late, ofAccount)) ??
    (await distinctUpTo(MARKS_MAX, late, ofAll)) ??
    (await distinctUpTo(Infinity, late, ofDay)) ??
    []
  )
}

/** @returns undefined when there are more than `most` marks */
async function distinctUpTo(
  most: number,
  late: readonly LogLineSubject[],
  markOf: (one: LogLineSubject) => DirtySlot,
): Promise<DirtySlot[] | undefined> {
  const yielding = yielder(SMALL_STEPS)
  const marks = new Map<string, DirtySlot>()
  for (const one of late) {
    if (yielding.isDue()) await yielding.yieldToOthers()
    const mark = markOf(one)
    marks.set(`${mark.namespaceId} ${mark.accountId} ${mark.slot} ${mark.kind}`, mark)
    if (marks.size > most) return undefined
  }
  return [...marks.values()]
}

/** The subjects for which a condition is true, and the others. */
async function partition(
  all: readonly LogLineSubject[],
  holds: (one: LogLineSubject) => boolean,
): Promise<[LogLineSubject[], LogLineSubject[]]> {
  const yielding = yielder(SMALL_STEPS)
  const [yes, no]: [LogLineSubject[], LogLineSubject[]] = [[], []]
  for (const one of all) {
    if (yielding.isDue()) await yielding.yieldToOthers()
    if (holds(one)) yes.push(one)
    else no.push(one)
  }
  return [yes, no]
}

const randomId = (): string => randomBytes(8).readBigUInt64LE().toString()
