import { SLOTS_KEPT_FOR_DAYS, slotTotalsKeptFrom } from '../../shared/clickhouse/rollups/build-epoch.ts'
import type { MarkedInsert, MarksAfter } from '../../shared/clickhouse/rollups/dirty-slots.ts'
import { inUse, type RollupEpoch } from '../../shared/clickhouse/rollups/rollup-epochs.ts'
import { REPLACED_FOR_S } from '../../shared/clickhouse/rollups/rollup-state.ts'
import type { MarkedDay, MarkKinds } from '../../shared/clickhouse/rollups/rollup-tables.ts'
import { dayOf, SLOTS_READ_FOR_DAYS } from '../../shared/clickhouse/rollups/usage-cover.ts'
import { groupBy } from '../../shared/collections/group-by.ts'
import { monthAfter, monthOf } from '../../shared/domain/month.ts'
import { DAY_S, type TimeRange } from '../../shared/domain/time-range.ts'
import type { RollupDeps } from './rollup-deps.ts'

export interface Recomputed {
  marks: number
  rowsRead: number
}

/**
 * The maximum number of inserts whose marks one statement reads or cancels. A server takes at most 128 KiB per
 * parameter.
 */
export const MARKS_AT_ONCE = 500

/**
 * Recomputes slots with late usage. First it recomputes the marked slots and their totals, then the days and their
 * totals, then the months, in each live epoch. Only then it cancels exactly the marks that it has read. Repeating a
 * step gives the same result.
 *
 * Slots that no service has begun to close are left out, because the service that closes such a slot reads all its
 * events.
 *
 * @param atOnce the maximum number of inserts whose marks are read; the oldest come first
 */
export async function recomputeLate(
  deps: RollupDeps,
  after: MarksAfter,
  atOnce = MARKS_AT_ONCE,
): Promise<Recomputed> {
  const { dirty, epochs, tables, reached } = deps
  const marks = await dirty.listReady(after, atOnce)
  if (marks.length === 0) return { marks: 0, rowsRead: 0 }
  reached('rollup-marks')
  const days = await tables.listDays(marks)
  const now = await epochs.now()
  const today = dayOf(now)
  const live = liveOf(await epochs.list(), now)
  let rowsRead = 0
  const kept = days.filter(({ day }) => ageOf(day, today) <= SLOTS_KEPT_FOR_DAYS)
  rowsRead += await computeInEach(live, kept, (epoch, range, kinds) =>
    tables.computeMarkedSlots(epoch, range, marks, kinds),
  )
  reached('rollup-late-slots')
  const recent = kept.filter(({ day }) => day >= slotTotalsKeptFrom(now))
  rowsRead += await computeInEach(live, recent, (epoch, range, kinds) =>
    tables.computeMarkedSlotTotals(epoch, range, marks, kinds),
  )
  reached('rollup-late-slot-totals')
  // The epochs are read again, because a day may be closed at the same time. That day may have been merged from its
  // slots before the slots above were stored.
  for (const epoch of await stillLive(deps, live, now))
    rowsRead += await recomputeDays(deps, epoch, days, today, marks)
  reached('rollup-late-days')
  // The epochs are read once more: a month may have been merged from its days before these were stored.
  for (const epoch of await stillLive(deps, live, now))
    rowsRead += await recomputeMonths(deps, epoch, days, marks)
  reached('rollup-late-months')
  await dirty.cancel(marks)
  reached('rollup-cancelled')
  return { marks: marks.length, rowsRead }
}

/**
 * Cancels marks of slots that no service has begun to close. The service that closes such a slot reads all its events.
 * The mark would only cause the slot to be computed twice.
 *
 * The marks are listed before the epochs are read. In the other order usage could be missed: another service begins to
 * close a slot and reads its events. Then rows are stored and marked. Then this function cancels that mark.
 */
export async function passOverMarks(
  { dirty, epochs }: { dirty: RollupDeps['dirty']; epochs: Pick<RollupDeps['epochs'], 'list' | 'now'> },
  closedThrough: number,
): Promise<void> {
  const marks = await dirty.listReadyFrom(closedThrough)
  if (marks.length === 0) return
  const live = liveOf(await epochs.list(), await epochs.now())
  const begun = Math.max(...live.map(({ closingThrough }) => closingThrough))
  for (let start = 0; start < marks.length; start += MARKS_AT_ONCE)
    await dirty.cancel(marks.slice(start, start + MARKS_AT_ONCE), begun)
}

/** The epochs that late usage must reach: those that readers use, will use, or may still be using. */
const liveOf = (listed: readonly RollupEpoch[], now: number): RollupEpoch[] => {
  const current = inUse(listed)
  const isReplaced = current !== undefined && now - current.changedAt > REPLACED_FOR_S
  return listed.filter(
    (one) => one === current || one.state === 'being built' || (one.state === 'in use' && !isReplaced),
  )
}

/** Reads the epochs again. Returns those of `live` that are still live, with their new closingThrough. */
const stillLive = async (
  { epochs }: RollupDeps,
  live: readonly RollupEpoch[],
  now: number,
): Promise<RollupEpoch[]> =>
  liveOf(await epochs.list(), now).filter(({ epoch }) => live.some((one) => one.epoch === epoch))

const ageOf = (day: number, today: number): number => (today - day) / DAY_S

const kindsOf = (days: readonly MarkedDay[]): MarkKinds => ({
  accountDays: days.reduce((sum, { accounts }) => sum + accounts, 0),
  ofSlots: days.some(({ ofSlots }) => ofSlots),
  ofDays: days.some(({ ofDays }) => ofDays),
})

/**
 * Calls `compute` for each epoch, with the range of the days as far as the closing of slots has begun.
 * @returns how many rows were read
 */
async function computeInEach(
  live: readonly RollupEpoch[],
  days: readonly MarkedDay[],
  compute: (epoch: RollupEpoch, range: TimeRange, kinds: MarkKinds) => Promise<number>,
): Promise<number> {
  const [first, last] = [days[0], days.at(-1)]
  if (first === undefined || last === undefined) return 0
  let rowsRead = 0
  for (const epoch of live) {
    const range = { startAt: first.day, endAt: Math.min(last.day + DAY_S, epoch.closingThrough) }
    if (range.startAt < range.endAt) rowsRead += await compute(epoch, range, kindsOf(days))
  }
  return rowsRead
}

async function recomputeDays(
  { tables, signal }: RollupDeps,
  epoch: RollupEpoch,
  days: readonly MarkedDay[],
  today: number,
  marks: readonly MarkedInsert[],
): Promise<number> {
  let rowsRead = 0
  for (const run of runsOf(
    days.filter(({ day }) => day + DAY_S <= epoch.closingThrough),
    today,
  )) {
    signal.throwIfAborted()
    const range = { startAt: run.days[0]?.day ?? 0, endAt: (run.days.at(-1)?.day ?? 0) + DAY_S }
    rowsRead += await tables.computeMarkedDays(epoch, range, marks, kindsOf(run.days), run.from)
  }
  return rowsRead
}

/**
 * Recomputes the months one by one, because an import may mark years of usage. One statement for all would take
 * minutes.
 */
async function recomputeMonths(
  { tables, signal }: RollupDeps,
  epoch: RollupEpoch,
  days: readonly MarkedDay[],
  marks: readonly MarkedInsert[],
): Promise<number> {
  let rowsRead = 0
  for (const [month, ofMonth] of groupBy(days, ({ day }) => monthOf(day))) {
    const range = { startAt: month, endAt: monthAfter(month) }
    if (range.endAt > epoch.closingThrough) continue
    signal.throwIfAborted()
    rowsRead += await tables.computeMarkedMonths(epoch, range, marks, kindsOf(ofMonth))
  }
  return rowsRead
}

interface Run {
  from: 'slots' | 'events'
  days: MarkedDay[]
}

/** Groups the days that one statement can compute: days of one month, because each month is a partition. */
function runsOf(days: readonly MarkedDay[], today: number): Run[] {
  const runs = new Map<string, Run>()
  for (const one of days) {
    const from = ageOf(one.day, today) <= SLOTS_READ_FOR_DAYS ? 'slots' : 'events'
    const name = `${from} ${new Date(one.day * 1_000).toISOString().slice(0, 7)}`
    const run = runs.get(name)
    if (run === undefined) runs.set(name, { from, days: [one] })
    else run.days.push(one)
  }
  return [...runs.values()]
}
