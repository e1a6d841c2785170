import { SLOTS_KEPT_FOR_DAYS, slotTotalsKeptFrom } from '../../shared/clickhouse/rollups/build-epoch.ts'
import { inUse, type RollupEpoch } from '../../shared/clickhouse/rollups/rollup-epochs.ts'
import { dayOf, SLOTS_READ_FOR_DAYS } from '../../shared/clickhouse/rollups/usage-cover.ts'
import { monthOf } from '../../shared/domain/month.ts'
import { DAY_S } from '../../shared/domain/time-range.ts'
import { passOverMarks } from './recompute-late.ts'
import type { RollupDeps } from './rollup-deps.ts'

/** The result of a round. */
export interface Closed {
  /** The epoch that readers use. */
  epoch: number
  slots: number
  rowsRead: number
  /** Unix seconds; slots before this are in the rollups. */
  through: number
  now: number
}

/** The longest range of slots that is closed at once. After a long outage, many slots have to be closed. */
const SLOTS_AT_ONCE_S = 3_600

/**
 * Computes the slots that ended, in order. When a day or a month ends with them, it computes the rollups of that day or
 * month, too. Readers may use these rollups only after all of them are stored. Several services may close the same
 * slots at the same time, because each of them computes the same rollups, or rollups of more events.
 *
 * Why closing_through is written before anything is read: another service may recompute a late slot at the same time.
 * From closing_through, that service knows that the day may have been merged without the late slot, and merges the day
 * again.
 *
 * @returns undefined when no rollups were built yet
 */
export async function closeSlots(deps: RollupDeps, graceS: number): Promise<Closed | undefined> {
  const { epochs, signal } = deps
  const [listed, now] = [await epochs.list(), await epochs.now()]
  const current = inUse(listed)
  if (current === undefined) return undefined
  const { slotS } = current
  const end = now - graceS - ((now - graceS) % slotS)
  const closed: Closed = { epoch: current.epoch, slots: 0, rowsRead: 0, through: current.closedThrough, now }
  if (closed.through < end) await passOverMarks(deps, current.closedThrough)
  while (closed.through < end && !signal.aborted) {
    const from = closed.through
    const to = Math.min(end, from + SLOTS_AT_ONCE_S, dayOf(from) + DAY_S)
    closed.rowsRead += await closeRange(deps, current, { startAt: from, endAt: to }, now)
    closed.slots += (to - from) / slotS
    closed.through = to
  }
  return closed
}

async function closeRange(
  { epochs, tables, reached }: RollupDeps,
  target: RollupEpoch,
  range: { startAt: number; endAt: number },
  now: number,
): Promise<number> {
  const { startAt, endAt } = range
  const { epoch } = target
  await epochs.closing(epoch, endAt)
  reached('rollup-closing')
  const ageDays = (dayOf(now) - dayOf(startAt)) / DAY_S
  let rowsRead = 0
  if (ageDays <= SLOTS_KEPT_FOR_DAYS) rowsRead += await tables.computeSlots(target, range)
  reached('rollup-slots')
  if (startAt >= slotTotalsKeptFrom(now)) rowsRead += await tables.computeSlotTotals(target, range)
  reached('rollup-slot-totals')
  if (endAt % DAY_S === 0) {
    const day = { startAt: endAt - DAY_S, endAt }
    rowsRead +=
      ageDays <= SLOTS_READ_FOR_DAYS
        ? await tables.computeDaysFromSlots(target, day)
        : await tables.computeDaysFromEvents(target, day)
    reached('rollup-days')
    rowsRead += await tables.computeTotals(target, day)
    reached('rollup-totals')
    if (monthOf(endAt) === endAt)
      rowsRead += await tables.computeMonths(target, { startAt: monthOf(day.startAt), endAt })
    reached('rollup-months')
  }
  await epochs.closed(epoch, endAt)
  reached('rollup-closed')
  return rowsRead
}
