import { randomUUID } from 'node:crypto'
import { keyBucketOf, type TimeRange } from '../../domain/time-range.ts'
import { type ClickHouse, queryRows } from '../clickhouse.ts'
import { type MarkedInsert, markParams } from './dirty-slots.ts'
import { rollupPartitions } from './rollup-partitions.ts'
import {
  DAYS_OF_ACCOUNTS,
  DAYS_OF_ALL,
  EVENTS_IN_RANGE,
  intoDaysFromEvents,
  intoDaysFromSlots,
  intoMonths,
  intoSlots,
  intoSlotTotals,
  intoTotals,
  MARKED_DAYS,
  MONTHS_OF_ACCOUNTS,
  MONTHS_OF_ALL,
  SLOT_TOTALS_OF_DAYS,
  SLOT_TOTALS_OF_SLOTS,
  SLOTS_OF_ACCOUNTS,
  SLOTS_OF_ALL,
  SLOTS_OF_DAYS,
  TOTALS_OF_MARKS,
} from './rollup-statements.ts'

/** The kinds of marks that a number of days have. */
export interface MarkKinds {
  /**
   * The number of account-days with marks: a day with marks of two accounts counts twice. 0 if all marks are of all
   * accounts.
   */
  accountDays: number
  /** Whether some marks are of slots of all accounts. */
  ofSlots: boolean
  /** Whether some marks are of whole days. */
  ofDays: boolean
}

/**
 * With more account-days than this, all events of the days are searched. Otherwise each account-day would have to be
 * looked up in 288 key buckets.
 */
const ACCOUNT_DAYS_MAX = 1_000

/** The epoch that rollups are written for, and the length of its slots in seconds. */
export interface RollupTarget {
  epoch: number
  slotS: number
}

/** The cost of a computation: the number of rows that ClickHouse read. */
type RowsRead = number

/** A day with marks, and their kinds. */
export interface MarkedDay {
  /** Unix seconds. */
  day: number
  /** The number of accounts with marks. */
  accounts: number
  ofSlots: boolean
  ofDays: boolean
}

const KILL = "KILL QUERY WHERE Settings['log_comment'] = {comment:String} ASYNC"

/** The rows read since the engine started: used when the answer to a statement does not say how many rows it read. */
const SELECTED = "SELECT toString(value) AS rows FROM system.events WHERE event = 'SelectedRows'"

/**
 * Computes rollups from the events, and overwrites the stored ones. Each computation returns how many rows ClickHouse
 * read.
 *
 * @param queryTimeoutS the longest time that one statement may run
 */
export const rollupTables = (client: ClickHouse, queryTimeoutS: number) => {
  /** Identifies the statements of this process. */
  const comment = `rollups:${randomUUID()}`
  const settings = { max_execution_time: queryTimeoutS, log_comment: comment }
  /** Whether the answers of this ClickHouse say how many rows a statement read. A server's answers say it. */
  let reportsReadRows = false
  const selected = async (): Promise<number> => {
    const [row] = await queryRows<{ rows: string }>(client, SELECTED, {})
    return Number(row?.rows ?? 0)
  }
  const run = async (query: string, params: Record<string, unknown>): Promise<RowsRead> => {
    const before = reportsReadRows ? 0 : await selected()
    const { summary } = await client.command({
      query,
      query_params: params,
      clickhouse_settings: { ...settings, max_bytes_before_external_group_by: '1000000000' },
    })
    const reported = Number(summary?.read_rows ?? 0)
    reportsReadRows ||= reported > 0
    return reportsReadRows ? reported : (await selected()) - before
  }
  const rangeParams = ({ startAt, endAt }: TimeRange) => ({
    from: startAt,
    to: endAt,
    firstBucket: keyBucketOf(startAt),
    lastBucket: keyBucketOf(Math.max(startAt, endAt - 1)),
  })
  return {
    ...rollupPartitions(client, settings),

    /** Computes every slot of a range of whole slots. */
    computeSlots: ({ epoch, slotS }: RollupTarget, range: TimeRange) =>
      run(intoSlots(slotS, EVENTS_IN_RANGE), { epoch, ...rangeParams(range) }),

    /** Computes totals of all accounts for every slot of a range in the last days. The slots must be computed first. */
    computeSlotTotals: ({ epoch }: RollupTarget, range: TimeRange) =>
      run(intoSlotTotals('1'), { epoch, ...rangeParams(range) }),

    /** Computes every day of a range of whole days, merged from its slots. */
    computeDaysFromSlots: ({ epoch }: RollupTarget, range: TimeRange) =>
      run(intoDaysFromSlots('1'), { epoch, ...rangeParams(range) }),

    /** Computes every day of a range of whole days, from the events. */
    computeDaysFromEvents: ({ epoch }: RollupTarget, range: TimeRange) =>
      run(intoDaysFromEvents('1'), { epoch, ...rangeParams(range) }),

    /** Computes every month of a range of whole months, merged from its days. */
    computeMonths: ({ epoch }: RollupTarget, range: TimeRange) =>
      run(intoMonths('1'), { epoch, ...rangeParams(range) }),

    computeTotals: ({ epoch }: RollupTarget, range: TimeRange) =>
      run(intoTotals('1'), { epoch, ...rangeParams(range) }),

    /** Cancels the statements that are running. The rows they have already stored are right. */
    async cancel(): Promise<void> {
      await client.command({ query: KILL, query_params: { comment } })
    },

    async listDays(marks: readonly MarkedInsert[]): Promise<MarkedDay[]> {
      const rows = await queryRows<{ day: number; accounts: number; of_slots: number; of_days: number }>(
        client,
        MARKED_DAYS,
        markParams(marks),
      )
      return rows.map((row) => ({
        day: row.day,
        accounts: row.accounts,
        ofSlots: row.of_slots === 1,
        ofDays: row.of_days === 1,
      }))
    },

    /** Computes the marked slots of a range. */
    async computeMarkedSlots(
      { epoch, slotS }: RollupTarget,
      range: TimeRange,
      marks: readonly MarkedInsert[],
      { accountDays, ofSlots, ofDays }: MarkKinds,
    ): Promise<RowsRead> {
      const params = { epoch, ...rangeParams(range), ...markParams(marks) }
      let rows = 0
      if (accountDays > 0)
        rows += await run(intoSlots(slotS, `${EVENTS_IN_RANGE} AND ${SLOTS_OF_ACCOUNTS(slotS)}`), params)
      if (ofSlots)
        rows += await run(intoSlots(slotS, `${EVENTS_IN_RANGE} AND ${SLOTS_OF_ALL(slotS)}`), params)
      if (ofDays) rows += await run(intoSlots(slotS, `${EVENTS_IN_RANGE} AND ${SLOTS_OF_DAYS}`), params)
      return rows
    },

    /**
     * Computes totals of the marked slots of a range. The range begins at the start of a day, and its days have slot
     * totals.
     */
    async computeMarkedSlotTotals(
      { epoch }: RollupTarget,
      range: TimeRange,
      marks: readonly MarkedInsert[],
      { accountDays, ofSlots, ofDays }: MarkKinds,
    ): Promise<RowsRead> {
      const params = { epoch, ...rangeParams(range), ...markParams(marks) }
      let rows = 0
      if (accountDays > 0 || ofSlots) rows += await run(intoSlotTotals(SLOT_TOTALS_OF_SLOTS), params)
      if (ofDays) rows += await run(intoSlotTotals(SLOT_TOTALS_OF_DAYS), params)
      return rows
    },

    /** Computes the marked days of a range, and then their totals. */
    async computeMarkedDays(
      { epoch }: RollupTarget,
      range: TimeRange,
      marks: readonly MarkedInsert[],
      { accountDays, ofSlots, ofDays }: MarkKinds,
      from: 'slots' | 'events',
    ): Promise<RowsRead> {
      const params = { epoch, ...rangeParams(range), ...markParams(marks) }
      const into = from === 'slots' ? intoDaysFromSlots : intoDaysFromEvents
      let rows = 0
      const way = from === 'events' && accountDays > ACCOUNT_DAYS_MAX ? 'manyOfEvents' : from
      if (accountDays > 0) rows += await run(into(DAYS_OF_ACCOUNTS[way]), params)
      if (ofSlots || ofDays) rows += await run(into(DAYS_OF_ALL[from]), params)
      return rows + (await run(intoTotals(TOTALS_OF_MARKS), params))
    },

    /** Computes the marked parts of a month. Its days must be computed first. */
    async computeMarkedMonths(
      { epoch }: RollupTarget,
      range: TimeRange,
      marks: readonly MarkedInsert[],
      { accountDays, ofSlots, ofDays }: MarkKinds,
    ): Promise<RowsRead> {
      const params = { epoch, ...rangeParams(range), ...markParams(marks) }
      let rows = 0
      if (accountDays > 0) rows += await run(intoMonths(MONTHS_OF_ACCOUNTS), params)
      if (ofSlots || ofDays) rows += await run(intoMonths(MONTHS_OF_ALL), params)
      return rows
    },
  }
}
