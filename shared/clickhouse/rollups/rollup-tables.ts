import { randomUUID } from 'node:crypto'
import { keyBucketOf, type TimeRange } from '../../domain/time-range.ts'
import { queryRows, type ClickHouse } from '../clickhouse.ts'
import { MARKED, markParams, type ReadMark } from './dirty-slots.ts'

/** What marks of several days are of. */
export interface MarkKinds {
  /** The days of accounts they tell of, a day of two accounts counted twice; 0 when they are of all accounts. */
  accountDays: number
  /** Whether some are of slots of all accounts. */
  ofSlots: boolean
  /** … of whole days. */
  ofDays: boolean
}

/** More days of accounts than this are looked for among all events of their days: each is 288 places of the sorting key. */
const ACCOUNT_DAYS_MAX = 1_000

/** The epoch rollups are written for, and the length of its slots in seconds. */
export interface RollupTarget {
  epoch: number
  slotS: number
}

/** What a computation cost. */
type RowsRead = number

const COLUMNS = 'count, sum, min, max, latest, latest_accepted_at, latest_id, version'

// Void events count in the version alone: whoever makes one void makes the version grow.
const OF_EVENTS = `
  countIf(voided = 0), sumIf(toDecimal256(quantity, 18), voided = 0), minIf(quantity, voided = 0), maxIf(quantity, voided = 0),
  argMaxIf((quantity, accepted_at, id), (occurred_at, accepted_at, id), voided = 0) AS l, sum(toUInt128(version)) AS v`
const OF_ROLLUPS = `
  sum(r.count), sum(r.sum), minIf(r.min, r.count > 0), maxIf(r.max, r.count > 0),
  argMaxIf((r.latest, r.latest_accepted_at, r.latest_id),
    (substring(r.latest_id, 1, 4), r.latest_accepted_at, r.latest_id), r.count > 0) AS l, sum(r.version) AS v`
const SPREAD = 'EXCEPT (l, v), l.1, l.2, l.3, v'

const slotStart = (slotS: number) =>
  slotS === 300
    ? 'toStartOfFiveMinutes(occurred_at)'
    : `toDateTime(intDiv(toUnixTimestamp(occurred_at), ${Math.trunc(slotS)}) * ${Math.trunc(slotS)}, 'UTC')`

const IN_RANGE = `
  toStartOfFiveMinutes(occurred_at) BETWEEN toDateTime({firstBucket:UInt32}, 'UTC') AND toDateTime({lastBucket:UInt32}, 'UTC')
  AND occurred_at >= toDateTime({from:UInt32}, 'UTC') AND occurred_at < toDateTime({to:UInt32}, 'UTC')`

const IN_SLOTS = `
  r.epoch = {epoch:UInt32} AND r.slot >= toDateTime({from:UInt32}, 'UTC') AND r.slot < toDateTime({to:UInt32}, 'UTC')`

const IN_DAYS = `
  r.epoch = {epoch:UInt32} AND r.day >= toDate(toDateTime({from:UInt32}, 'UTC'))
  AND r.day < toDate(toDateTime({to:UInt32}, 'UTC'))`

// Why PREWHERE, which FINAL does not get by itself: what events are chosen by is in their sorting key, so all rows of an event pass
// or none does, and the rest is read and merged of those alone.
const intoSlots = (slotS: number, where: string) => `
  INSERT INTO usage_by_slot (epoch, namespace_id, account_id, source, slot, ${COLUMNS})
  SELECT * ${SPREAD} FROM (
    SELECT {epoch:UInt32}, namespace_id, account_id, source, ${slotStart(slotS)} AS slot, ${OF_EVENTS}
    FROM usage_events FINAL PREWHERE ${where} GROUP BY namespace_id, account_id, source, slot)`

const intoDaysFromSlots = (where: string) => `
  INSERT INTO usage_by_day (epoch, namespace_id, account_id, source, day, ${COLUMNS})
  SELECT * ${SPREAD} FROM (
    SELECT {epoch:UInt32}, namespace_id, account_id, source, toDate(slot) AS day, ${OF_ROLLUPS}
    FROM usage_by_slot AS r FINAL WHERE ${IN_SLOTS} AND ${where} GROUP BY namespace_id, account_id, source, day)`

const intoDaysFromEvents = (where: string) => `
  INSERT INTO usage_by_day (epoch, namespace_id, account_id, source, day, ${COLUMNS})
  SELECT * ${SPREAD} FROM (
    SELECT {epoch:UInt32}, namespace_id, account_id, source, toDate(occurred_at) AS day, ${OF_EVENTS}
    FROM usage_events FINAL PREWHERE ${IN_RANGE} AND ${where} GROUP BY namespace_id, account_id, source, day)`

const intoMonths = (where: string) => `
  INSERT INTO usage_by_month (epoch, namespace_id, account_id, source, month, ${COLUMNS})
  SELECT * ${SPREAD} FROM (
    SELECT {epoch:UInt32}, namespace_id, account_id, source, toStartOfMonth(day) AS month, ${OF_ROLLUPS}
    FROM usage_by_day AS r FINAL WHERE ${IN_DAYS} AND ${where} GROUP BY namespace_id, account_id, source, month)`

const intoTotals = (where: string) => `
  INSERT INTO usage_by_day_total (epoch, namespace_id, source, day, ${COLUMNS})
  SELECT * ${SPREAD} FROM (
    SELECT {epoch:UInt32}, namespace_id, source, day, ${OF_ROLLUPS}
    FROM usage_by_day AS r FINAL WHERE ${IN_DAYS} AND ${where}
    GROUP BY namespace_id, source, day)`

const intoSlotTotals = (where: string) => `
  INSERT INTO usage_by_slot_total (epoch, namespace_id, source, slot, ${COLUMNS})
  SELECT * ${SPREAD} FROM (
    SELECT {epoch:UInt32}, namespace_id, source, slot, ${OF_ROLLUPS}
    FROM usage_by_slot_by_time AS r FINAL WHERE ${IN_SLOTS} AND ${where} GROUP BY namespace_id, source, slot)`

// Which slots, days and accounts marks tell of. A mark of a whole day stands for all of its slots.
const MARKED_IN_RANGE = `${MARKED}
  WHERE slot >= toDateTime({from:UInt32}, 'UTC') AND slot < toDateTime({to:UInt32}, 'UTC')`
const FIVES_OF_DAY = 'ARRAY JOIN range(0, 86400, 300) AS within'
const SLOTS_OF_ACCOUNTS = (slotS: number) => `
  (namespace_id, toStartOfFiveMinutes(occurred_at), account_id) IN (
    SELECT DISTINCT namespace_id, toStartOfFiveMinutes(slot), account_id FROM ${MARKED_IN_RANGE} AND account_id != '')
  AND (namespace_id, ${slotStart(slotS)}, account_id) IN (
    SELECT DISTINCT namespace_id, slot, account_id FROM ${MARKED_IN_RANGE} AND account_id != '')`
const SLOTS_OF_ALL = (slotS: number) => `
  (namespace_id, toStartOfFiveMinutes(occurred_at)) IN (
    SELECT DISTINCT namespace_id, toStartOfFiveMinutes(slot) FROM ${MARKED_IN_RANGE} AND account_id = '' AND whole_day = 0)
  AND (namespace_id, ${slotStart(slotS)}) IN (
    SELECT DISTINCT namespace_id, slot FROM ${MARKED_IN_RANGE} AND account_id = '' AND whole_day = 0)`
const SLOTS_OF_DAYS = `
  (namespace_id, toStartOfFiveMinutes(occurred_at)) IN (
    SELECT DISTINCT namespace_id, slot + within FROM (SELECT namespace_id, slot FROM ${MARKED_IN_RANGE} AND whole_day = 1)
    ${FIVES_OF_DAY})`
/** Every place of the sorting key in the days that marks tell of. @param which of them */
const IN_DAYS_OF = (which: string) => `
  (namespace_id, toStartOfFiveMinutes(occurred_at)) IN (
    SELECT namespace_id, day + within
    FROM (SELECT DISTINCT namespace_id, toStartOfDay(slot) AS day FROM ${MARKED_IN_RANGE} AND ${which}) ${FIVES_OF_DAY})`
const IS_DAY_OF_ACCOUNT = (time: string) => `
  (namespace_id, account_id, toDate(${time})) IN (
    SELECT DISTINCT namespace_id, account_id, toDate(slot) FROM ${MARKED_IN_RANGE} AND account_id != '')`
const DAYS_OF_ACCOUNTS = {
  slots: IS_DAY_OF_ACCOUNT('slot'),
  manyOfEvents: `${IN_DAYS_OF("account_id != ''")} AND ${IS_DAY_OF_ACCOUNT('occurred_at')}`,
  events: `
  (namespace_id, toStartOfFiveMinutes(occurred_at), account_id) IN (
    SELECT namespace_id, day + within, account_id
    FROM (SELECT DISTINCT namespace_id, toStartOfDay(slot) AS day, account_id FROM ${MARKED_IN_RANGE} AND account_id != '')
    ${FIVES_OF_DAY})`,
}
const DAYS_OF_ALL = {
  slots: `
  (namespace_id, toDate(slot)) IN (SELECT DISTINCT namespace_id, toDate(slot) FROM ${MARKED_IN_RANGE} AND account_id = '')`,
  events: IN_DAYS_OF("account_id = ''"),
}
const SLOT_TOTALS_OF_SLOTS = `
  (namespace_id, slot) IN (SELECT DISTINCT namespace_id, slot FROM ${MARKED_IN_RANGE} AND whole_day = 0)`
const SLOT_TOTALS_OF_DAYS = `
  (namespace_id, toDate(slot)) IN (SELECT DISTINCT namespace_id, toDate(slot) FROM ${MARKED_IN_RANGE} AND whole_day = 1)`
const TOTALS_OF_MARKS = `
  (namespace_id, day) IN (SELECT DISTINCT namespace_id, toDate(slot) FROM ${MARKED_IN_RANGE})`
const MONTHS_OF_ACCOUNTS = `
  (namespace_id, account_id, toStartOfMonth(day)) IN (
    SELECT DISTINCT namespace_id, account_id, toStartOfMonth(slot) FROM ${MARKED_IN_RANGE} AND account_id != '')`
const MONTHS_OF_ALL = `
  (namespace_id, toStartOfMonth(day)) IN (
    SELECT DISTINCT namespace_id, toStartOfMonth(slot) FROM ${MARKED_IN_RANGE} AND account_id = '')`

const MARKED_DAYS = `
  SELECT toUnixTimestamp(toStartOfDay(slot)) AS day, toUInt32(uniqExactIf((namespace_id, account_id), account_id != '')) AS accounts,
    max(account_id = '' AND whole_day = 0) AS of_slots, max(account_id = '' AND whole_day = 1) AS of_days
  FROM ${MARKED} GROUP BY day ORDER BY day`

// The value of a partition begins with its epoch: (1,202611).
const PARTITIONS_OF = `
  SELECT table, partition_id AS id, toUInt32(count()) AS parts FROM system.parts
  WHERE database = currentDatabase() AND active
    AND table IN ('usage_by_slot', 'usage_by_slot_by_time', 'usage_by_slot_total', 'usage_by_day', 'usage_by_month', 'usage_by_day_total')
    AND toUInt32OrZero(extract(partition, '^\\((\\d+),')) IN {epochs:Array(UInt32)}
  GROUP BY table, id ORDER BY table, id`

interface PartitionRow {
  table: string
  id: string
  parts: number
}

/** A day that marks tell of, and what kinds they are of. */
export interface MarkedDay {
  /** Unix seconds. */
  day: number
  /** How many accounts they name. */
  accounts: number
  ofSlots: boolean
  ofDays: boolean
}

const KILL = "KILL QUERY WHERE Settings['log_comment'] = {comment:String} ASYNC"

/** Rows read since the engine started, for one that does not tell what a statement read. */
const SELECTED = "SELECT toString(value) AS rows FROM system.events WHERE event = 'SelectedRows'"

/**
 * Computes rollups from the events, and overwrites what was there. Each gives how many rows ClickHouse read.
 *
 * @param queryTimeoutS the longest one statement may run
 */
export const rollupTables = (client: ClickHouse, queryTimeoutS: number) => {
  /** What the statements of this process are found by. */
  const comment = `rollups:${randomUUID()}`
  /** Whether this ClickHouse reports with its answer what a statement read: a server does. */
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
      clickhouse_settings: {
        max_execution_time: queryTimeoutS,
        log_comment: comment,
        max_bytes_before_external_group_by: '1000000000',
      },
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
    /** Every slot of a range, which begins and ends with one. */
    computeSlots: ({ epoch, slotS }: RollupTarget, range: TimeRange) =>
      run(intoSlots(slotS, IN_RANGE), { epoch, ...rangeParams(range) }),

    /** Totals of all accounts of every slot of a range, which lies in the last days: once the slots are computed. */
    computeSlotTotals: ({ epoch }: RollupTarget, range: TimeRange) =>
      run(intoSlotTotals('1'), { epoch, ...rangeParams(range) }),

    /** Every day of a range of whole days, merged from its slots. */
    computeDaysFromSlots: ({ epoch }: RollupTarget, range: TimeRange) =>
      run(intoDaysFromSlots('1'), { epoch, ...rangeParams(range) }),

    /** … from the events. */
    computeDaysFromEvents: ({ epoch }: RollupTarget, range: TimeRange) =>
      run(intoDaysFromEvents('1'), { epoch, ...rangeParams(range) }),

    /** Every month of a range of whole months, merged from its days. */
    computeMonths: ({ epoch }: RollupTarget, range: TimeRange) =>
      run(intoMonths('1'), { epoch, ...rangeParams(range) }),

    computeTotals: ({ epoch }: RollupTarget, range: TimeRange) =>
      run(intoTotals('1'), { epoch, ...rangeParams(range) }),

    /** Ends the statements under way; what they have stored by then is right, row by row. */
    async cancel(): Promise<void> {
      await client.command({ query: KILL, query_params: { comment } })
    },

    /** Makes one part of each partition of days and of months, as what an account used is read from each part there is. */
    async mergeParts({ epoch }: RollupTarget, signal?: AbortSignal): Promise<void> {
      const rows = await queryRows<PartitionRow>(client, PARTITIONS_OF, { epochs: [epoch] })
      for (const { table, id, parts } of rows) {
        signal?.throwIfAborted()
        if ((table === 'usage_by_day' || table === 'usage_by_month') && parts > 1)
          await client.command({
            query: `OPTIMIZE TABLE ${table} PARTITION ID '${id}' FINAL`,
            clickhouse_settings: { max_execution_time: queryTimeoutS, log_comment: comment },
          })
      }
    },

    /** Removes everything of these epochs. */
    async drop(epochs: readonly number[]): Promise<void> {
      const rows = await queryRows<PartitionRow>(client, PARTITIONS_OF, { epochs })
      for (const { table, id } of rows)
        await client.command({ query: `ALTER TABLE ${table} DROP PARTITION ID '${id}'` })
    },

    async listDays(marks: readonly ReadMark[]): Promise<MarkedDay[]> {
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

    /** The slots of a range that marks tell of. */
    async computeMarkedSlots(
      { epoch, slotS }: RollupTarget,
      range: TimeRange,
      marks: readonly ReadMark[],
      { accountDays, ofSlots, ofDays }: MarkKinds,
    ): Promise<RowsRead> {
      const params = { epoch, ...rangeParams(range), ...markParams(marks) }
      let rows = 0
      if (accountDays > 0)
        rows += await run(intoSlots(slotS, `${IN_RANGE} AND ${SLOTS_OF_ACCOUNTS(slotS)}`), params)
      if (ofSlots) rows += await run(intoSlots(slotS, `${IN_RANGE} AND ${SLOTS_OF_ALL(slotS)}`), params)
      if (ofDays) rows += await run(intoSlots(slotS, `${IN_RANGE} AND ${SLOTS_OF_DAYS}`), params)
      return rows
    },

    /** Totals of the slots of a range that marks tell of, which begins with a day and lies in the last days. */
    async computeMarkedSlotTotals(
      { epoch }: RollupTarget,
      range: TimeRange,
      marks: readonly ReadMark[],
      { accountDays, ofSlots, ofDays }: MarkKinds,
    ): Promise<RowsRead> {
      const params = { epoch, ...rangeParams(range), ...markParams(marks) }
      let rows = 0
      if (accountDays > 0 || ofSlots) rows += await run(intoSlotTotals(SLOT_TOTALS_OF_SLOTS), params)
      if (ofDays) rows += await run(intoSlotTotals(SLOT_TOTALS_OF_DAYS), params)
      return rows
    },

    /** The days of a range that marks tell of, and then their totals. */
    async computeMarkedDays(
      { epoch }: RollupTarget,
      range: TimeRange,
      marks: readonly ReadMark[],
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

    /** What marks tell of a month: once its days are computed. */
    async computeMarkedMonths(
      { epoch }: RollupTarget,
      range: TimeRange,
      marks: readonly ReadMark[],
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
