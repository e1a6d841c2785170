import { clampRange, type TimeRange } from '../../domain/time-slot.ts'
import { monthAfter, monthOf } from '../../domain/month.ts'
import { DAY_S, dayOf, oldestSlotTotalsDay, type RollupState } from '../../domain/usage-cover.ts'
import { steadyClock } from '../../time/steady-clock.ts'
import { queryRows, type ClickHouse } from '../clickhouse.ts'
import { MARK_KIND, PENDING } from './dirty-slots.ts'
import { IN_USE } from './rollup-epochs.ts'

/** More dirty slots than this are read as whole days. */
const DIRTY_SLOTS_MAX = 1_000
/** More slots and days than this are asked for as days. */
const MARKED_MAX = 10_000

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
  FROM rollup_epochs GROUP BY epoch HAVING max(state) = ${IN_USE} ORDER BY epoch DESC LIMIT 1`

// Each mark is counted by itself: two services may both cancel one, and what is one too few must not hide another mark. Marks
// are wanted from the day or month that the range begins in: one of that whole day or month reaches into it.
const MARKS = (ofAccounts: string) => `
  FROM usage_dirty_slots
  WHERE namespace_id = {namespaceId:String} ${ofAccounts}
    AND (slot >= toDateTime({markFrom:UInt32}, 'UTC')
      OR (whole_day = ${MARK_KIND.monthOfHistory} AND slot >= toDateTime({monthFrom:UInt32}, 'UTC')))
    AND slot < toDateTime({markTo:UInt32}, 'UTC')
  GROUP BY namespace_id, account_id, whole_day, slot, mark, stage HAVING sum(sign) > 0`
const OF_ACCOUNTS = 'AND account_id IN {accountIds:Array(String)}'
// With the marks themselves where they are of history and their inserts are not through.
const OF_PENDING = `groupUniqArrayIf(toString(mark), whole_day >= ${MARK_KIND.dayOfHistory} AND stage = ${PENDING}) AS pending`
const DIRTY = (ofAccounts: string) => `
  SELECT account_id, whole_day AS kind, toUnixTimestamp(slot) AS at, ${OF_PENDING}
  FROM (SELECT account_id, whole_day, slot, mark, stage ${MARKS(ofAccounts)})
  GROUP BY account_id, whole_day, slot LIMIT ${MARKED_MAX + 1}`
const DIRTY_DAYS = (ofAccounts: string) => `
  SELECT toUnixTimestamp(toStartOfDay(slot)) AS at, whole_day AS kind, ${OF_PENDING}
  FROM (SELECT whole_day, slot, mark, stage ${MARKS(ofAccounts)})
  GROUP BY at, kind`

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

/** @see MARK_KIND */
interface MarkRow {
  account_id: string
  kind: number
  at: number
  pending: string[]
}

/** … and the marks that stand. */
export interface MarkedState extends RollupState, KnownEpoch {
  /** Whether a mark stands that tells of this account, which was asked about. */
  isMarked: (accountId: string) => boolean
  /** Those of the days that have marks of history alone. */
  historyDays: readonly number[]
  /** The marks of inserts of history that are not through. */
  pendingHistory: readonly string[]
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

/** The days of marks, those of slots too, and those that have marks of history alone. */
function daysOf(
  marks: readonly Pick<MarkRow, 'kind' | 'at'>[],
): Pick<MarkedState, 'dirtyDays' | 'historyDays'> {
  const leastKinds = new Map<number, number>()
  for (const { kind, at } of marks) {
    const end = kind === MARK_KIND.monthOfHistory ? monthAfter(at) : dayOf(at) + DAY_S
    for (let day = dayOf(at); day < end; day += DAY_S)
      leastKinds.set(day, Math.min(kind, leastKinds.get(day) ?? Infinity))
  }
  const dirtyDays = [...leastKinds.keys()]
  return {
    dirtyDays,
    historyDays: dirtyDays.filter((day) => (leastKinds.get(day) ?? 0) >= MARK_KIND.dayOfHistory),
  }
}

const pendingOf = (marks: readonly Pick<MarkRow, 'pending'>[]): string[] => [
  ...new Set(marks.flatMap(({ pending }) => pending)),
]

/** Reads it for one process, which remembers the epoch for a moment. */
export function rollupStateReader(client: ClickHouse): RollupStateReader {
  // It passes while the machine is suspended, too: what is in use may be another one afterwards.
  const clockMs = steadyClock()
  /** That there is none is known for as long: everything is read from the events then. */
  let known: { epoch: KnownEpoch | undefined; readAt: number } | undefined
  const readEpoch = async (): Promise<KnownEpoch | undefined> => {
    const readAt = clockMs()
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
  const isKnown = () => known !== undefined && clockMs() - known.readAt < EPOCH_KNOWN_MS
  const epochNow = () => (isKnown() ? Promise.resolve(known?.epoch) : readEpoch())
  const read: RollupStateReader['read'] = async (namespaceId, range, accountIds) => {
    const { startAt, endAt } = clampRange(range)
    const ofAccounts = accountIds === undefined ? '' : OF_ACCOUNTS
    const params = {
      namespaceId,
      markFrom: dayOf(startAt),
      monthFrom: monthOf(startAt),
      markTo: endAt,
      ...(accountIds === undefined ? {} : { accountIds: ['', ...accountIds] }),
    }
    const [marks] = await Promise.all([queryRows<MarkRow>(client, DIRTY(ofAccounts), params), epochNow()])
    // Asked again after the marks: this process may have stood still in between.
    const state = await epochNow()
    if (state === undefined) return undefined
    if (marks.length > MARKED_MAX) {
      const days = await queryRows<Omit<MarkRow, 'account_id'>>(client, DIRTY_DAYS(ofAccounts), params)
      const latest = await epochNow()
      const isMarked = () => true
      return (
        latest && { ...latest, ...daysOf(days), dirtySlots: [], pendingHistory: pendingOf(days), isMarked }
      )
    }
    const pendingHistory = pendingOf(marks)
    const marked = new Set(marks.map((mark) => mark.account_id))
    const isMarked = (accountId: string) => marked.has('') || marked.has(accountId)
    const slots = new Set(marks.filter(({ kind }) => kind === MARK_KIND.slot).map(({ at }) => at))
    if (slots.size > DIRTY_SLOTS_MAX)
      return { ...state, ...daysOf(marks), dirtySlots: [], pendingHistory, isMarked }
    const days = marks.filter(({ kind }) => kind !== MARK_KIND.slot)
    const ofSlots = new Set([...slots].map(dayOf))
    const { dirtyDays, historyDays } = daysOf(days)
    return {
      ...state,
      dirtySlots: [...slots],
      dirtyDays,
      historyDays: historyDays.filter((day) => !ofSlots.has(day)),
      pendingHistory,
      isMarked,
    }
  }
  return { read, epoch: epochNow }
}
