import { SLOTS_KEPT_FOR_DAYS, slotTotalsKeptFrom } from '../../shared/clickhouse/rollups/build-epoch.ts'
import type { MarkedInsert, MarksAfter } from '../../shared/clickhouse/rollups/dirty-slots.ts'
import { inUse, type RollupEpoch } from '../../shared/clickhouse/rollups/rollup-epochs.ts'
import { REPLACED_FOR_S } from '../../shared/clickhouse/rollups/rollup-state.ts'
import type { MarkedDay, MarkKinds } from '../../shared/clickhouse/rollups/rollup-tables.ts'
import { DAY_S, dayOf, SLOTS_READ_FOR_DAYS } from '../../shared/clickhouse/rollups/usage-cover.ts'
import { groupBy } from '../../shared/collections/group-by.ts'
import { monthAfter, monthOf } from '../../shared/domain/month.ts'
import type { TimeRange } from '../../shared/domain/time-range.ts'
import type { RollupDeps } from './rollup-deps.ts'

export interface Recomputed {
  marks: number
  rowsRead: number
}

/**
 * Batches of late usage whose marks are worked off, or taken back, in one statement; a server takes 128 KiB a
 * parameter.
 */
export const MARKS_AT_ONCE = 500

/**
 * Works off marks of late usage: recomputes the slots they tell of and their totals, then the days and theirs, then the
 * months, in the epoch in use and in one that is being built; and only then cancels exactly the marks it had read.
 * Repeating any of it changes nothing.
 *
 * Slots that nobody has begun to close are passed over: whoever closes one reads all its events then.
 *
 * @param atOnce how many marks at most, the oldest first
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
  // The epochs are read again: a day that is being closed may have been merged from its slots before these were stored.
  for (const epoch of await stillLive(deps, live, now))
    rowsRead += await recomputeDays(deps, epoch, days, today, marks)
  reached('rollup-late-days')
  // … and again: a month may have been merged from its days before these were.
  for (const epoch of await stillLive(deps, live, now))
    rowsRead += await recomputeMonths(deps, epoch, days, marks)
  reached('rollup-late-months')
  await dirty.cancel(marks)
  reached('rollup-cancelled')
  return { marks: marks.length, rowsRead }
}

/**
 * Cancels marks of slots that nobody has begun to close: whoever closes one reads all its events then, and the mark
 * would only have it computed twice.
 *
 * The marks are listed before the epochs are read. The other way round, a slot might begin to be closed in between, its
 * events be read, and then the mark of rows that were stored after that be cancelled.
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

/** What late usage must reach: what readers use, what they will, and what some may still use. */
const liveOf = (listed: readonly RollupEpoch[], now: number): RollupEpoch[] => {
  const current = inUse(listed)
  const isReplaced = current !== undefined && now - current.changedAt > REPLACED_FOR_S
  return listed.filter(
    (one) => one === current || one.state === 'being built' || (one.state === 'in use' && !isReplaced),
  )
}

/** Those of them that are live still, with how far somebody has begun to close their slots by now. */
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
 * Computes something of slots in each of these epochs: from the first of these days to the last, as far as somebody has
 * begun to close their slots.
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

/** One month after the other: marks of an import tell of years, whose days would take a statement minutes. */
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

/** Days of one month that are computed alike, in one statement: a partition each. */
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
