import { randomBytes } from 'node:crypto'
import type { DirtySlot, dirtySlotRepository } from '../../shared/clickhouse/rollups/dirty-slots.ts'
import type { rollupEpochRepository } from '../../shared/clickhouse/rollups/rollup-epochs.ts'
import type { LineSubject } from '../../shared/domain/line-subjects.ts'
import { DAY_S, dayOf } from '../../shared/domain/usage-cover.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import type { LoaderPoint } from './crash-points.ts'
import type { StoreBlocksDeps } from './store-blocks.ts'

export interface MarkLateDeps {
  clock: Pick<ReturnType<typeof rollupEpochRepository>, 'clock'>
  dirty: Pick<ReturnType<typeof dirtySlotRepository>, 'placePending' | 'turnReady' | 'placeReady'>
  /** Stores lines, all of them or none. */
  insertLines: (lines: Buffer) => Promise<void>
  reached: Reached<LoaderPoint>
}

/** More marks than this are placed for slots of all accounts, and more than this of those for whole days. */
const MARKS_MAX = 1_000

/**
 * Stores lines, with marks for the rollup service and for readers: of usage whose time slot has ended, or is about to.
 *
 * Such a mark is placed before the lines are stored, and can be worked off only after that: so whoever sees the lines sees the
 * mark, or rollups that hold them. An insert that fails leaves its mark behind, which is worked off later and harms nothing:
 * the lines may have been stored all the same.
 *
 * @param marginS before its end from which on a slot is marked, so that an insert has time to end
 */
export function markLate(
  { clock, dirty, insertLines, reached }: MarkLateDeps,
  marginS: number,
): StoreBlocksDeps['insertLines'] {
  return async (lines, touched) => {
    const { now, slotS } = await clock.clock()
    const isLateAt = (at: number) => {
      const end = at - slotS + 1 // what occurred before this lies in a slot that has ended
      return ({ occurredAt }: LineSubject) => occurredAt - (occurredAt % slotS) < end
    }
    const wasLate = isLateAt(now + marginS)
    const late = marksOf(touched.filter(wasLate), slotS, now)
    const mark = randomMark()
    if (late.length > 0) {
      await dirty.placePending(late, mark, now)
      reached('loader-marked')
    }
    await insertLines(lines)
    reached('loader-stored')
    const { now: then } = await clock.clock()
    const isLate = isLateAt(then)
    const ended = marksOf(
      touched.filter((one) => isLate(one) && !wasLate(one)),
      slotS,
      then,
    )
    if (ended.length > 0) await dirty.placeReady(ended, randomMark(), then)
    if (late.length > 0) await dirty.turnReady(late, mark, now)
    reached('loader-readied')
  }
}

/** The marks of late usage: as fine as they can be without becoming too many. */
function marksOf(late: readonly LineSubject[], slotS: number, now: number): DirtySlot[] {
  const ofAccount = ({ namespaceId, accountId, occurredAt }: LineSubject): DirtySlot => ({
    namespaceId,
    accountId,
    slot: occurredAt - (occurredAt % slotS),
    wholeDay: false,
  })
  const ofAll = (one: LineSubject): DirtySlot => ({ ...ofAccount(one), accountId: '' })
  // A day that goes on is marked slot by slot: its rollup is yet to come.
  const ofDay = (one: LineSubject): DirtySlot => {
    const day = dayOf(one.occurredAt)
    return day + DAY_S > now ? ofAll(one) : { ...ofAll(one), slot: day, wholeDay: true }
  }
  return (
    distinctUpTo(MARKS_MAX, late, ofAccount) ??
    distinctUpTo(MARKS_MAX, late, ofAll) ??
    distinctUpTo(Infinity, late, ofDay) ??
    []
  )
}

/** @returns undefined as soon as there are more: a batch of history has tens of thousands, and others wait meanwhile */
function distinctUpTo(
  most: number,
  late: readonly LineSubject[],
  markOf: (one: LineSubject) => DirtySlot,
): DirtySlot[] | undefined {
  const marks = new Map<string, DirtySlot>()
  for (const one of late) {
    const mark = markOf(one)
    marks.set(`${mark.namespaceId} ${mark.accountId} ${mark.slot} ${mark.wholeDay}`, mark)
    if (marks.size > most) return undefined
  }
  return [...marks.values()]
}

const randomMark = (): string => randomBytes(8).readBigUInt64LE().toString()
