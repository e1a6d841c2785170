import { DAY_S, dayOf, SLOTS_READ_FOR_DAYS } from '../../domain/usage-cover.ts'
import { queryRows, type ClickHouse } from '../clickhouse.ts'
import type { rollupEpochRepository } from './rollup-epochs.ts'
import type { rollupTables } from './rollup-tables.ts'

export interface BuildEpochDeps {
  client: ClickHouse
  epochs: ReturnType<typeof rollupEpochRepository>
  tables: ReturnType<typeof rollupTables>
  /** Told of the days that are done, of all there are. */
  onProgress?: (done: number, of: number) => void
  /** Told of named points. */
  reached?: (point: 'rollup-building' | 'rollup-built') => void
  signal?: AbortSignal
}

/** Slots of days younger than this are computed: a day more than readers ask for. */
export const SLOTS_KEPT_FOR_DAYS = SLOTS_READ_FOR_DAYS + 1

/** Of the events read in one statement. */
const DAYS_AT_ONCE = 7
const SLOTS_AT_ONCE_S = 3_600

const OLDEST =
  'SELECT toString(count()) AS count, toUnixTimestamp(min(occurred_at)) AS oldest FROM usage_events'

/**
 * Computes rollups of all events in a new epoch, beside the one in use, and has readers use it. Whoever recomputes late
 * slots does so in both from the first moment on, so nothing that happens meanwhile is missed. One at a time: the caller
 * holds a lock.
 *
 * @param graceS seconds after its end at which a slot is closed
 * @returns the epoch
 */
export async function buildEpoch(deps: BuildEpochDeps, graceS: number): Promise<number> {
  const { client, epochs, tables, onProgress = () => undefined, reached = () => undefined, signal } = deps
  const known = await epochs.list()
  const now = await epochs.now()
  for (const { epoch, state } of known) if (state === 'being built') await epochs.giveUp(epoch, now)
  const slotS = known[0]?.slotS ?? 0
  if (slotS <= 0) throw new Error('the length of a slot is not known: ClickHouse is not migrated')
  const epoch = Math.max(...known.map((one) => one.epoch)) + 1
  const closing = now - graceS
  const through = closing - (closing % slotS)
  await epochs.begin(epoch, slotS, through, now)
  reached('rollup-building')

  const [stored] = await queryRows<{ count: string; oldest: number }>(client, OLDEST, {})
  const target = { epoch, slotS }
  const endDay = dayOf(through)
  const slotsFrom = dayOf(now) - SLOTS_KEPT_FOR_DAYS * DAY_S
  const isEmpty = stored === undefined || Number(stored.count) === 0
  const oldestDay = isEmpty ? through : Math.min(dayOf(stored.oldest), endDay)
  const days = Math.max(0, (endDay - oldestDay) / DAY_S)
  for (let from = oldestDay; from < Math.min(slotsFrom, endDay); from += DAYS_AT_ONCE * DAY_S) {
    signal?.throwIfAborted()
    const range = { startAt: from, endAt: Math.min(from + DAYS_AT_ONCE * DAY_S, slotsFrom, endDay) }
    await tables.computeDaysFromEvents(target, range)
    await tables.computeTotals(target, range)
    onProgress((range.endAt - oldestDay) / DAY_S, days)
  }
  for (let day = Math.max(oldestDay, slotsFrom); day < through; day += DAY_S) {
    const dayEnd = Math.min(day + DAY_S, through)
    for (let from = day; from < dayEnd; from += SLOTS_AT_ONCE_S) {
      signal?.throwIfAborted()
      await tables.computeSlots(target, { startAt: from, endAt: Math.min(from + SLOTS_AT_ONCE_S, dayEnd) })
    }
    if (day + DAY_S > through) break
    const range = { startAt: day, endAt: day + DAY_S }
    await tables.computeDaysFromSlots(target, range)
    await tables.computeTotals(target, range)
    onProgress((day + DAY_S - oldestDay) / DAY_S, days)
  }
  reached('rollup-built')
  await epochs.use(epoch, through, await epochs.now())
  return epoch
}
