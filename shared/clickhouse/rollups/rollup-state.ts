import { clampRange, type TimeRange } from '../../domain/time-slot.ts'
import { dayOf, oldestSlotTotalsDay, type RollupState } from '../../domain/usage-cover.ts'
import { queryRows, type ClickHouse } from '../clickhouse.ts'

/** More dirty slots than this are read as whole days. */
const DIRTY_SLOTS_MAX = 1_000

/**
 * For so long a process goes by the epoch it knows. What is closed meanwhile it reads from the events, as before; and an epoch
 * that was replaced is kept up to date for much longer (REPLACED_FOR_S).
 */
const EPOCH_KNOWN_MS = 1_000

/** Late usage is recomputed in an epoch for so many seconds after another took its place. */
export const REPLACED_FOR_S = 60

/** The epoch that readers go by: one row, or none. */
export const EPOCH_IN_USE = `
  SELECT epoch, toUnixTimestamp(max(closed_through)) AS closed_through, toUInt32(max(slot_s)) AS slot_s,
    toUnixTimestamp(max(slot_totals_through)) AS slot_totals_through, toUnixTimestamp(now()) AS now
  FROM rollup_epochs GROUP BY epoch HAVING max(state) = 1 ORDER BY epoch DESC LIMIT 1`

// Each mark is counted by itself: two services may both cancel one, and what is one too few must not hide another mark. Marks
// are wanted from the day that the range begins in: one of that whole day reaches into it.
const MARKS = (ofAccounts: string) => `
  FROM usage_dirty_slots
  WHERE namespace_id = {namespaceId:String} ${ofAccounts}
    AND slot >= toDateTime({markFrom:UInt32}, 'UTC') AND slot < toDateTime({markTo:UInt32}, 'UTC')
  GROUP BY namespace_id, account_id, whole_day, slot, mark, stage HAVING sum(sign) > 0`
const OF_ACCOUNTS = 'AND account_id IN {accountIds:Array(String)}'
const DIRTY = (ofAccounts: string) => `
  SELECT account_id, whole_day, toUnixTimestamp(slot) AS at ${MARKS(ofAccounts)} LIMIT ${DIRTY_SLOTS_MAX + 1}`
const DIRTY_DAYS = (ofAccounts: string) => `
  SELECT DISTINCT toUnixTimestamp(toStartOfDay(slot)) AS at FROM (SELECT slot ${MARKS(ofAccounts)})`

interface EpochRow {
  epoch: number
  closed_through: number
  slot_totals_through: number
  slot_s: number
  now: number
}

/** The epoch a process goes by. */
export interface KnownEpoch extends Omit<RollupState, 'dirtySlots' | 'dirtyDays'> {
  /** Closed slots of days from this one on have totals of all accounts; Infinity while some lack them. Unix seconds. */
  slotTotalsFrom: number
}

interface MarkRow {
  account_id: string
  whole_day: number
  at: number
}

/** … and the marks that stand. */
interface MarkedState extends RollupState, KnownEpoch {
  /** Whether a mark stands that tells of this account, which was asked about. */
  isMarked: (accountId: string) => boolean
}

export interface RollupStateReader {
  /**
   * What of the rollups a reader of a range can rely on; to be read before the usage itself is.
   *
   * @param accountIds whose usage is read; undefined for that of all
   * @returns undefined when there are no rollups yet
   */
  read(
    namespaceId: string,
    range: TimeRange,
    accountIds: readonly string[] | undefined,
  ): Promise<MarkedState | undefined>
  /** The epoch in use and how far it reaches, as this process knows it. */
  epoch(): Promise<KnownEpoch | undefined>
}

/** Reads it for one process, which remembers the epoch for a moment. */
export function rollupStateReader(client: ClickHouse): RollupStateReader {
  /** That there is none is known for as long: everything is read from the events then. */
  let known: { epoch: KnownEpoch | undefined; readAt: number } | undefined
  const readEpoch = async (): Promise<KnownEpoch | undefined> => {
    const readAt = performance.now()
    const [row] = await queryRows<EpochRow>(client, EPOCH_IN_USE, {})
    const epoch = row && {
      epoch: row.epoch,
      now: row.now,
      slotS: row.slot_s,
      closedThrough: row.closed_through,
      slotTotalsFrom: row.slot_totals_through < row.closed_through ? Infinity : oldestSlotTotalsDay(row.now),
    }
    known = { epoch, readAt }
    return epoch
  }
  const isKnown = () => known !== undefined && performance.now() - known.readAt < EPOCH_KNOWN_MS
  const epochNow = () => (isKnown() ? Promise.resolve(known?.epoch) : readEpoch())
  const read: RollupStateReader['read'] = async (namespaceId, range, accountIds) => {
    const { startAt, endAt } = clampRange(range)
    const ofAccounts = accountIds === undefined ? '' : OF_ACCOUNTS
    const params = {
      namespaceId,
      markFrom: dayOf(startAt),
      markTo: endAt,
      ...(accountIds === undefined ? {} : { accountIds: ['', ...accountIds] }),
    }
    const [marks] = await Promise.all([queryRows<MarkRow>(client, DIRTY(ofAccounts), params), epochNow()])
    // Asked again after the marks: this process may have stood still in between.
    const state = await epochNow()
    if (state === undefined) return undefined
    if (marks.length > DIRTY_SLOTS_MAX) {
      const days = await queryRows<{ at: number }>(client, DIRTY_DAYS(ofAccounts), params)
      return { ...state, dirtySlots: [], dirtyDays: days.map(({ at }) => at), isMarked: () => true }
    }
    const startsOf = (wholeDay: number) => [
      ...new Set(marks.filter((mark) => mark.whole_day === wholeDay).map(({ at }) => at)),
    ]
    const marked = new Set(marks.map((mark) => mark.account_id))
    const isMarked = (accountId: string) => marked.has('') || marked.has(accountId)
    return { ...state, dirtySlots: startsOf(0), dirtyDays: startsOf(1), isMarked }
  }
  return { read, epoch: epochNow }
}
