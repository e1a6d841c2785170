import { clampRange, type TimeRange } from '../../domain/time-range.ts'
import { steadyClock } from '../../time/steady-clock.ts'
import { type ClickHouse, queryRows } from '../clickhouse.ts'
import { IS_MARK, MARK_KIND, STANDS } from './dirty-slots.ts'
import { IN_USE } from './rollup-epochs.ts'
import { dayOf, type RollupState } from './usage-cover.ts'

/** If there are more dirty slots than this, their whole days count as dirty. */
const DIRTY_SLOTS_MAX = 1_000
/** If there are more marked slots and days than this, a second query asks only for the days. */
const MARKED_MAX = 10_000

/**
 * How long a process uses the epoch it has read. Slots that are closed in that time are still read from the events. An
 * epoch that was replaced is kept up to date for much longer (REPLACED_FOR_S).
 */
const EPOCH_CACHED_MS = 1_000

/** For this many seconds after an epoch was replaced, late usage is still recomputed in it. */
export const REPLACED_FOR_S = 60

/** The epoch that readers use: one row, or none. */
export const EPOCH_IN_USE = `
  SELECT epoch, toUnixTimestamp(max(closed_through)) AS closed_through, toUInt32(max(slot_s)) AS slot_s,
    toUnixTimestamp(now()) AS now
  FROM rollup_epochs GROUP BY epoch HAVING max(state) = ${IN_USE} ORDER BY epoch DESC LIMIT 1`

/** The epoch in use, and the first month in any epoch, or 0. ClickHouse finds that month without reading rows. */
const EPOCH_AND_MONTHS = `
  SELECT *, (SELECT toUnixTimestamp(toDateTime(min(month), 'UTC')) FROM usage_by_month) AS months_from FROM (${EPOCH_IN_USE})`

// Marks are read from the start of the range's first day, because the time of a mark of a whole day is the day's start.
const MARKS = (ofAccounts: string) => `
  FROM usage_dirty_slots
  WHERE ${IS_MARK} AND namespace_id = {namespaceId:String} ${ofAccounts}
    AND slot >= toDateTime({markFrom:UInt32}, 'UTC') AND slot < toDateTime({markTo:UInt32}, 'UTC') ${STANDS}`
const OF_ACCOUNTS = 'AND account_id IN {accountIds:Array(String)}'
const DIRTY = (ofAccounts: string) => `
  SELECT groupUniqArray(${MARKED_MAX + 1})((kind, toUnixTimestamp(slot))) AS places
  FROM (SELECT kind, slot ${MARKS(ofAccounts)})`
const DIRTY_DAYS = (ofAccounts: string) => `
  SELECT groupUniqArray(toUnixTimestamp(toStartOfDay(slot))) AS places FROM (SELECT slot ${MARKS(ofAccounts)})`

/** @see MARK_KIND */
type MarkedPlace = [kind: number, at: number]

interface EpochRow {
  epoch: number
  closed_through: number
  slot_s: number
  now: number
  months_from: number
}

/** The epoch a process uses. */
export type CachedEpoch = Omit<RollupState, 'dirtySlots' | 'dirtyDays'>

export interface RollupStateReader {
  /**
   * Reads which rollups are complete in a range. Callers must do this before they read the usage itself.
   *
   * @param accountIds the accounts whose usage is read; undefined for all accounts
   * @returns undefined when there are no rollups yet
   */
  read(
    namespaceId: string,
    range: TimeRange,
    accountIds: readonly string[] | undefined,
  ): Promise<RollupState | undefined>
  /** The epoch in use and how far it reaches, as this process has cached it. */
  epoch(): Promise<CachedEpoch | undefined>
}

/** Reads how far rollups are complete, for one process. It caches the epoch for a moment. */
export function rollupStateReader(client: ClickHouse): RollupStateReader {
  // This clock also runs while the machine is suspended. When it resumes, another epoch may be in use.
  const clockMs = steadyClock()
  /** `epoch` is undefined when there were no rollups, which is cached as well. */
  let cached: { epoch: CachedEpoch | undefined; readAt: number } | undefined
  const readEpoch = async (): Promise<CachedEpoch | undefined> => {
    const readAt = clockMs()
    const [row] = await queryRows<EpochRow>(client, EPOCH_AND_MONTHS, {})
    const epoch = row && {
      epoch: row.epoch,
      now: row.now,
      slotS: row.slot_s,
      closedThrough: row.closed_through,
      monthsFrom: row.months_from === 0 ? Infinity : row.months_from,
    }
    // A slow answer to an older query must not replace a newer answer.
    if (cached === undefined || cached.readAt <= readAt) cached = { epoch, readAt }
    return epoch
  }
  const epochNow = async (): Promise<CachedEpoch | undefined> => {
    const cachedForMs = cached === undefined ? Infinity : clockMs() - cached.readAt
    return cachedForMs >= EPOCH_CACHED_MS ? readEpoch() : cached?.epoch
  }
  const read: RollupStateReader['read'] = async (namespaceId, range, accountIds) => {
    const { startAt, endAt } = clampRange(range)
    const ofAccounts = accountIds === undefined ? '' : OF_ACCOUNTS
    const params = {
      namespaceId,
      markFrom: dayOf(startAt),
      markTo: endAt,
      ...(accountIds === undefined ? {} : { accountIds: ['', ...accountIds] }),
    }
    const [[found]] = await Promise.all([
      queryRows<{ places: MarkedPlace[] }>(client, DIRTY(ofAccounts), params),
      epochNow(),
    ])
    const places = found?.places ?? []
    // The epoch is asked for again after the marks, because this process may have been suspended in between.
    const state = await epochNow()
    if (state === undefined) return undefined
    if (places.length > MARKED_MAX) {
      const [days] = await queryRows<{ places: number[] }>(client, DIRTY_DAYS(ofAccounts), params)
      const latest = await epochNow()
      return latest && { ...latest, dirtyDays: days?.places ?? [], dirtySlots: [] }
    }
    const startsOf = (wanted: number) =>
      new Set(places.filter(([kind]) => kind === wanted).map(([, at]) => at))
    const [slots, days] = [startsOf(MARK_KIND.slot), startsOf(MARK_KIND.day)]
    return slots.size > DIRTY_SLOTS_MAX
      ? { ...state, dirtyDays: [...new Set([...days, ...[...slots].map(dayOf)])], dirtySlots: [] }
      : { ...state, dirtyDays: [...days], dirtySlots: [...slots] }
  }
  return { read, epoch: epochNow }
}
