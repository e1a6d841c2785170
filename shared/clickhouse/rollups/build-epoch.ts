import { monthAfter, monthOf } from '../../domain/month.ts'
import { DAY_S } from '../../domain/time-range.ts'
import { DomainError } from '../../errors/domain-error.ts'
import { type ClickHouse, queryRows } from '../clickhouse.ts'
import type { rollupEpochRepository } from './rollup-epochs.ts'
import type { rollupTables } from './rollup-tables.ts'
import { dayOf, oldestSlotTotalsDay, SLOTS_READ_FOR_DAYS } from './usage-cover.ts'

export interface BuildEpochDeps {
  client: ClickHouse
  epochs: ReturnType<typeof rollupEpochRepository>
  tables: ReturnType<typeof rollupTables>
  /** Called with the number of days that are computed, and with the number of all days. */
  onProgress?: (done: number, of: number) => void
  /** Called at the crash points of a build. */
  reached?: (point: 'rollup-building' | 'rollup-built') => void
  signal?: AbortSignal
  /**
   * Called with the error when the data parts of days and months could not be merged. Reads are still right but slower,
   * until ClickHouse merges the parts by itself.
   */
  onUnmerged?: (err: unknown) => void
}

/** Slots are computed for days younger than this. Readers read the slots of one day less. */
export const SLOTS_KEPT_FOR_DAYS = SLOTS_READ_FOR_DAYS + 1

/** The first day for which totals of slots are computed. Readers begin one day later. @param now Unix seconds */
export const slotTotalsKeptFrom = (now: number): number => oldestSlotTotalsDay(now) - DAY_S

/**
 * A statement reads at most this many events and this many days. A day with more events is read hour by hour, if its
 * slots are computed.
 */
const EVENTS_AT_ONCE = 5_000_000
const DAYS_AT_ONCE = 7
const SLOTS_AT_ONCE_S = 3_600

const FILLED_DAYS = `
  SELECT toUnixTimestamp(toStartOfDay(occurred_at)) AS day, toString(count()) AS count FROM usage_events
  WHERE occurred_at < toDateTime({through:UInt32}, 'UTC') GROUP BY day ORDER BY day`

interface DayCount {
  /** Unix seconds. */
  day: number
  /** The number of events. */
  count: number
}

/**
 * Computes rollups of all events in a new epoch while readers use the current one, and then makes readers use the new
 * one. From the start of the build, late slots are recomputed in both epochs, so no late usage is missed. The caller
 * must hold a lock, because only one build may run at a time.
 *
 * @param graceS a slot is closed this many seconds after its end
 * @returns the epoch
 * @throws DomainError conflict when another build has given this epoch up. That happens when the connection that held
 *   the lock is lost and another build takes the lock
 */
export async function buildEpoch(deps: BuildEpochDeps, graceS: number): Promise<number> {
  const { client, epochs, tables, onProgress = () => undefined, reached = () => undefined, signal } = deps
  const { onUnmerged = () => undefined } = deps
  await epochs.giveUpUnfinished()
  const listed = await epochs.list()
  const now = await epochs.now()
  const slotS = listed[0]?.slotS ?? 0
  if (slotS <= 0) throw new Error('the length of a slot is not known: ClickHouse is not migrated')
  // Late usage is first looked up by key bucket, which is five minutes, so each slot must lie in one bucket.
  if (300 % slotS !== 0) throw new Error(`five minutes are no multiple of a slot of ${slotS} s`)
  const epoch = Math.max(...listed.map((one) => one.epoch)) + 1
  const closing = now - graceS
  const through = closing - (closing % slotS)
  await epochs.begin(epoch, slotS, through, now)
  reached('rollup-building')

  const target = { epoch, slotS }
  const slotsFrom = dayOf(now) - SLOTS_KEPT_FOR_DAYS * DAY_S
  const filled = (await queryRows<{ day: number; count: string }>(client, FILLED_DAYS, { through })).map(
    ({ day, count }) => ({ day, count: Number(count) }),
  )
  let done = 0
  for (const days of togetherOf(filled, slotsFrom)) {
    signal?.throwIfAborted()
    const range = { startAt: days[0]?.day ?? 0, endAt: Math.min((days.at(-1)?.day ?? 0) + DAY_S, through) }
    if (range.startAt < slotsFrom) {
      await tables.computeDaysFromEvents(target, range)
    } else {
      const isLarge = (days[0]?.count ?? 0) > EVENTS_AT_ONCE
      const chunkS = isLarge ? SLOTS_AT_ONCE_S : DAYS_AT_ONCE * DAY_S
      for (let from = range.startAt; from < range.endAt; from += chunkS) {
        signal?.throwIfAborted()
        const chunk = { startAt: from, endAt: Math.min(from + chunkS, range.endAt) }
        await tables.computeSlots(target, chunk)
        const recent = { ...chunk, startAt: Math.max(from, slotTotalsKeptFrom(now)) }
        if (recent.startAt < recent.endAt) await tables.computeSlotTotals(target, recent)
      }
    }
    const whole = { ...range, endAt: dayOf(range.endAt) }
    if (range.startAt >= slotsFrom) await tables.computeDaysFromSlots(target, whole)
    await tables.computeTotals(target, whole)
    onProgress((done += days.length), filled.length)
  }
  for (const month of new Set(filled.map(({ day }) => monthOf(day)))) {
    signal?.throwIfAborted()
    const range = { startAt: month, endAt: monthAfter(month) }
    if (range.endAt <= through) await tables.computeMonths(target, range)
  }
  reached('rollup-built')
  await epochs.use(epoch, through, await epochs.now())
  const state = (await epochs.list()).find((one) => one.epoch === epoch)?.state
  if (state !== 'in use')
    throw new DomainError(
      'conflict',
      'these rollups were given up during the build: is another rebuild under way?',
    )
  await tables.mergeDataParts(target, signal).catch(onUnmerged)
  return epoch
}

/** Groups adjacent days that are computed in the same way, as many as one statement may read. */
function togetherOf(days: readonly DayCount[], slotsFrom: number): DayCount[][] {
  const together: DayCount[][] = []
  let events = 0
  for (const day of days) {
    const run = together.at(-1)
    const last = run?.at(-1)
    const fits =
      run !== undefined &&
      last?.day === day.day - DAY_S &&
      day.day !== slotsFrom &&
      run.length < DAYS_AT_ONCE &&
      events + day.count <= EVENTS_AT_ONCE
    if (fits) run.push(day)
    else together.push([day])
    events = (fits ? events : 0) + day.count
  }
  return together
}
