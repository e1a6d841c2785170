import { type Amount, amountFromDatabase } from '../../amount/amount.ts'
import type { Period } from '../../domain/period.ts'
import { clampRange, keyBucketOf, type TimeRange } from '../../domain/time-range.ts'
import { type Measure, MEASURES, type UsageAggregate } from '../../domain/usage-aggregate.ts'
import type { UsageSource } from '../../domain/usage-source.ts'
import { type ClickHouse, queryRows } from '../clickhouse.ts'
import { propertyToken } from './property-token.ts'
import { PERIOD_START } from './rollup-columns.ts'

/** Selects usage; a field that is left out does not filter. */
export interface UsageSelection {
  range: TimeRange
  accountId?: string | undefined
  source?: UsageSource | undefined
  /** Only events that have this top-level property with this text as its value: see propertyPairs. */
  property?: { name: string; value: string } | undefined
  /** The measures that are computed; all by default. */
  measures?: readonly Measure[]
}

// Why toDecimal256: a sum of Decimal128 overflows without an error. Why text: JavaScript reads bare decimals in JSON as
// doubles.
const SUM = 'toString(sum(toDecimal256(quantity, 18))) AS sum'
const COLUMNS: Record<Measure, string> = {
  count: 'toString(count()) AS count',
  sum: SUM,
  min: 'toString(min(quantity)) AS min',
  max: 'toString(max(quantity)) AS max',
  latest: 'toString(argMax(quantity, (occurred_at, accepted_at, id))) AS latest',
}
const columnsOf = ({ measures = MEASURES }: UsageSelection): string =>
  ['source', ...measures.map((measure) => COLUMNS[measure])].join(', ')

/** The condition for a namespace and a range of time; see rangeParams. */
export const IN_RANGE = `
  namespace_id = {namespaceId:String}
  AND toStartOfFiveMinutes(occurred_at) >= toDateTime({firstBucket:UInt32}, 'UTC')
  AND toStartOfFiveMinutes(occurred_at) <= toDateTime({lastBucket:UInt32}, 'UTC')
  AND occurred_at >= toDateTime({startAt:UInt32}, 'UTC') AND occurred_at < toDateTime({endAt:UInt32}, 'UTC')`
export const OF_ACCOUNT = 'AND account_id = {accountId:String}'
const OF_SOURCE = 'AND source = {source:String}'
/** The condition for events with a property. It goes with settingsOf. */
export const WITH_PROPERTY = 'AND has(property_tokens, toFixedString(unhex({token:String}), 12))'

// Why the settings: the skip index selects only rows that have the requested token. A newer row of the same event may
// lack the token; it would be skipped, and the old row would count. In exact mode, ClickHouse looks for newer rows. Both
// settings are ClickHouse's defaults. They stand here because a settings profile may change the defaults, and then a
// corrected event might count as it was before its correction.
const SETTINGS = 'SETTINGS use_skip_indexes_if_final = 1, use_skip_indexes_if_final_exact_mode = 1'
// Why this setting: ClickHouse 26.7 can answer from the index alone. For rows that are not indexed yet, it then compares
// tokens as text and cuts off zero bytes at the end. So it misses a token that ends with a zero byte: one in 256.
// So for such tokens, the column property_tokens is read. This is slower if many events have the property's value.
const READING_TOKENS = 'query_plan_direct_read_from_text_index = 0'

const SUMS_OF_ACCOUNTS = `
  SELECT account_id, source, ${SUM} FROM usage_events FINAL
  PREWHERE namespace_id = {namespaceId:String} AND account_id IN {accountIds:Array(String)} WHERE voided = 0
  GROUP BY account_id, source`

/** The requested measures, each as decimal text. */
export interface AggregateRow extends Partial<Record<Measure, string>> {
  source: string
}

/**
 * Usage computed from the events themselves. Each event counts once, in its newest version; voided events do not count.
 */
export const usageAggregateRepository = (client: ClickHouse) => ({
  /** Usage by source; sources without usage are absent. */
  async aggregate(namespaceId: string, selection: UsageSelection): Promise<Map<UsageSource, UsageAggregate>> {
    const params = paramsOf(namespaceId, selection)
    if (params === undefined) return new Map()
    const query = `SELECT ${columnsOf(selection)} FROM usage_events FINAL ${conditionsOf(selection)} GROUP BY source ${settingsOf(params)}`
    const rows = await queryRows<AggregateRow>(client, query, params)
    return new Map(rows.map((row) => [row.source, aggregateFromRow(row)]))
  },

  /** Usage by the start of the UTC day or month, and by source; periods and sources without usage are absent. */
  async aggregateByPeriod(
    namespaceId: string,
    period: Period,
    selection: UsageSelection,
  ): Promise<Map<number, Map<UsageSource, UsageAggregate>>> {
    const params = paramsOf(namespaceId, selection)
    if (params === undefined) return new Map()
    const query = `SELECT ${PERIOD_START[period]('occurred_at')}, ${columnsOf(selection)} FROM usage_events FINAL ${conditionsOf(selection)}
      GROUP BY period_start, source ${settingsOf(params)}`
    const rows = await queryRows<AggregateRow & { period_start: number }>(client, query, params)
    return groupRows(rows, (row) => row.period_start, aggregateFromRow)
  },

  /** All usage since the beginning, by account and source; accounts and sources without usage are absent. */
  async sumByAccount(
    namespaceId: string,
    accountIds: readonly string[],
  ): Promise<Map<string, ReadonlyMap<UsageSource, Amount>>> {
    const rows = await queryRows<{ account_id: string; source: string; sum: string }>(
      client,
      SUMS_OF_ACCOUNTS,
      { namespaceId, accountIds },
    )
    return groupRows(
      rows,
      (row) => row.account_id,
      (row) => amountFromDatabase(row.sum),
    )
  },
})

/**
 * Reads usage, for answers of the API and for refills. There are two readers: usageAggregateRepository reads the events,
 * and usageThroughRollups reads the rollups where it can.
 */
export type UsageReader = ReturnType<typeof usageAggregateRepository>

/**
 * The conditions of a selection, as SQL without the values. The values are sent as parameters (paramsOf).
 *
 * Why PREWHERE: with FINAL, ClickHouse does not use it by itself. It is correct here, because the columns of the
 * conditions are in the sorting key: either all rows of an event match, or none does. The other columns are read and
 * merged only for rows that match. With a condition on a property, all conditions are in WHERE. With PREWHERE,
 * ClickHouse 26.7 then fails when it reads the text index instead of property_tokens: a column of the sorting key is
 * missing.
 */
function conditionsOf({ accountId, source, property }: UsageSelection): string {
  const ofKey = [
    IN_RANGE,
    ...(accountId === undefined ? [] : [OF_ACCOUNT]),
    ...(source === undefined ? [] : [OF_SOURCE]),
  ].join(' ')
  return property === undefined
    ? `PREWHERE ${ofKey} WHERE voided = 0`
    : `WHERE ${ofKey} AND voided = 0 ${WITH_PROPERTY}`
}

/** The settings of a query that may have WITH_PROPERTY. */
export const settingsOf = ({ token }: { token?: string }): string =>
  token?.endsWith('00') === true ? `${SETTINGS}, ${READING_TOKENS}` : SETTINGS

/** The parameters of IN_RANGE, except the namespace. @param range clamped, and not empty */
export const rangeParams = ({ startAt, endAt }: TimeRange) => ({
  startAt,
  endAt,
  firstBucket: keyBucketOf(startAt),
  lastBucket: keyBucketOf(endAt - 1),
})

/** Undefined when the clamped range is empty. */
function paramsOf(namespaceId: string, { accountId, source, property, range }: UsageSelection) {
  const clamped = clampRange(range)
  if (clamped.startAt >= clamped.endAt) return undefined
  return {
    namespaceId,
    ...rangeParams(clamped),
    ...(accountId === undefined ? {} : { accountId }),
    ...(source === undefined ? {} : { source }),
    ...(property === undefined ? {} : { token: propertyToken(property.name, property.value) }),
  }
}

export function groupRows<Row extends { source: string }, Key, Value>(
  rows: readonly Row[],
  keyOf: (row: Row) => Key,
  valueOf: (row: Row) => Value,
): Map<Key, Map<UsageSource, Value>> {
  const groups = new Map<Key, Map<UsageSource, Value>>()
  for (const row of rows) {
    const key = keyOf(row)
    const group = groups.get(key) ?? new Map<UsageSource, Value>()
    groups.set(key, group.set(row.source, valueOf(row)))
  }
  return groups
}

export function aggregateFromRow({ count, ...amounts }: AggregateRow): UsageAggregate {
  const usage: UsageAggregate = count === undefined ? {} : { count: BigInt(count) }
  for (const measure of ['sum', 'min', 'max', 'latest'] as const) {
    const text = amounts[measure]
    if (text !== undefined) usage[measure] = amountFromDatabase(text)
  }
  return usage
}
