import { groupMeasuresOf } from '../../domain/grouped-usage.ts'
import type { Period } from '../../domain/period.ts'
import type { TimeRange } from '../../domain/time-range.ts'
import type { Aggregation, Measure } from '../../domain/usage-aggregate.ts'
import type { UsageSource } from '../../domain/usage-source.ts'
import { selectsOf } from '../rollups/cover-query.ts'
import { coverUsage, type RollupState } from '../rollups/usage-cover.ts'
import { propertyToken } from './property-token.ts'
import { VALUE_COLUMNS, VALUE_KIND } from './property-value.ts'
import { LATEST_EVENT, NEWEST, PERIOD_START, rollupColumnsOf } from './rollup-columns.ts'
import { IN_RANGE, OF_ACCOUNT, rangeParams } from './usage-aggregates.ts'

/** Which usage is grouped, and how. */
export interface GroupedWanted {
  /** Clamped, and not empty. */
  range: TimeRange
  source: UsageSource
  accountId?: string | undefined
  aggregation: Aggregation
  /** Whether each group has its usage by period, too. */
  period?: Period | undefined
  /** How many groups are named. */
  limit: number
}

/** A select of usage: each row has its `kind` (VALUE_KIND), its group `grp`, its `period_start` and its measures. */
export interface GroupedRows {
  select: string
  params: Record<string, unknown>
}

export interface Statement {
  query: string
  params: Record<string, unknown>
}

/** A group of the ranking. */
export interface RankedRow {
  kind: number
  grp: string
}

/** Usage of a group, of all other groups, of no group, or of all; in one period or in all. Numbers are text. */
export interface GroupedRow extends Partial<Record<Measure, string>> {
  /** 1 for the total of all groups. */
  is_total: number
  /** 1 for the usage of all periods. */
  is_whole: number
  kind: number
  /** The group, the properties of kind `text`, or nothing for all other groups. */
  name: string
  period_start: number
  /** How many groups the usage is of, if it has no name. */
  groups: string
  count: string
  /** Only for the aggregation `latest`. */
  latest_accepted_at?: string
  latest_id?: string
}

const periodColumn = (period: Period | undefined, time: string): string =>
  period === undefined ? 'toUInt32(0) AS period_start' : PERIOD_START[period](time)

/** @param hasPeriods whether the rows are read by period; if not, months are read also where days are wanted */
export function rowsByAccount(
  namespaceId: string,
  { range, source, accountId, aggregation, period }: GroupedWanted,
  state: RollupState,
  { hasPeriods }: { hasPeriods: boolean },
): GroupedRows | undefined {
  const by = hasPeriods ? period : undefined
  const { rolled, ofEvent } = rollupColumnsOf({ measures: groupMeasuresOf(aggregation) })
  const cover = coverUsage(range, state, { hasMonths: by !== 'day', readsFewMonths: accountId === undefined })
  const group = `toUInt8(${VALUE_KIND.value}) AS kind, account_id AS grp`
  const columns = {
    fromMonths: `${group}, ${periodColumn(by, 'month')}, ${rolled}`,
    fromDays: `${group}, ${periodColumn(by, 'day')}, ${rolled}`,
    fromSlots: `${group}, ${periodColumn(by, 'slot')}, ${rolled}`,
    fromEvents: `${group}, ${periodColumn(by, 'occurred_at')}, ${ofEvent}`,
    filters: [
      'namespace_id = {namespaceId:String}',
      ...(accountId === undefined ? [] : ['account_id = {accountId:String}']),
      'source = {source:String}',
    ],
  }
  const { selects, params } = selectsOf(cover, state, columns, { totals: false })
  if (selects.length === 0) return undefined
  return {
    select: selects.join('\nUNION ALL\n'),
    params: { ...params, namespaceId, source, epoch: state.epoch, ...(accountId && { accountId }) },
  }
}

/** Reads the events themselves, because no rollup has properties. */
export function rowsByProperty(
  namespaceId: string,
  { range, source, accountId, aggregation, period }: GroupedWanted,
  property: string,
): GroupedRows {
  const { ofEvent } = rollupColumnsOf({ measures: groupMeasuresOf(aggregation) })
  const ofKey = `${IN_RANGE} AND source = {source:String} ${accountId === undefined ? '' : OF_ACCOUNT}`
  return {
    // Why PREWHERE: see conditionsOf in usage-aggregates.
    select: `SELECT ${VALUE_COLUMNS}, ${periodColumn(period, 'occurred_at')}, ${ofEvent}
      FROM usage_events FINAL PREWHERE ${ofKey} WHERE voided = 0`,
    params: { namespaceId, source, property, ...rangeParams(range), ...(accountId && { accountId }) },
  }
}

// An average that is shown has 18 decimal places, rounded half to even. The order of groups is that of what is shown.
// Why whole numbers: a division of decimals would round in another way.
const UNITS = 'reinterpretAsInt256(sum(total))'
const EVENTS = 'toInt256(sum(n))'
const MEAN = `intDiv(${UNITS}, ${EVENTS})`
const LEFT = `${UNITS} % ${EVENTS}`
const TWICE_LEFT = `if(${LEFT} < 0, -2, 2) * (${LEFT})`
const AVERAGE = `${MEAN} + if(
  ${TWICE_LEFT} > ${EVENTS} OR (${TWICE_LEFT} = ${EVENTS} AND ${MEAN} % 2 != 0), if(${UNITS} < 0, -1, 1), 0)`

const RANK: Record<Aggregation, string> = {
  sum: 'sum(total)',
  min: 'min(lowest)',
  max: 'max(highest)',
  avg: AVERAGE,
  latest: `argMax(newest, ${NEWEST})`,
  count: 'sum(n)',
}

/**
 * The groups with the largest quantities; groups with the same quantity in order of their names. Texts that ClickHouse
 * cannot read come before all groups.
 *
 * @param atMost the number of rows, texts included
 */
export const rankStatement = (
  { select, params }: GroupedRows,
  aggregation: Aggregation,
  atMost: number,
): Statement => ({
  query: `
    SELECT kind, grp FROM (${select}) WHERE kind != ${VALUE_KIND.without} GROUP BY kind, grp
    ORDER BY kind = ${VALUE_KIND.text} DESC, ${RANK[aggregation]} DESC, grp LIMIT {atMost:UInt32}`,
  params: { ...params, atMost },
})

/** Names of groups that take more bytes are sent as tokens: a ClickHouse server accepts 128 KiB in a parameter. */
const NAMES_BYTES_MAX = 64 * 1_024
/** A token takes 16 characters of a parameter. */
const TOKENS_OF_PARAMETER = 8_000

/** By what rows of usage are added up. Each row is in all of these sums. */
const [BY_NAME, BY_NAME_AND_PERIOD, BY_PERIOD, IN_ALL] = [1, 2, 3, 4]

/**
 * The usage of named groups, of all other groups, of events without a group, and of all: everything in one statement, so
 * that the parts add up to the total.
 */
export function groupedUsageStatement(
  { select, params }: GroupedRows,
  { aggregation, period }: Pick<GroupedWanted, 'aggregation' | 'period'>,
  names: readonly string[],
  property: string | undefined,
): Statement {
  const measures = groupMeasuresOf(aggregation)
  const { measured } = rollupColumnsOf({ measures })
  const named = property === undefined ? namedByText(names) : namedShortly(names, property)
  const sets = period === undefined ? [BY_NAME, IN_ALL] : [BY_NAME, BY_NAME_AND_PERIOD, BY_PERIOD, IN_ALL]
  return {
    // Why no GROUPING SETS: each set would count the groups, and so hold them for each period.
    query: `
      SELECT toUInt8(grouped_by IN (${BY_PERIOD}, ${IN_ALL})) AS is_total,
        toUInt8(grouped_by IN (${BY_NAME}, ${IN_ALL})) AS is_whole, kind_of AS kind, name_of AS name,
        period_of AS period_start, toString(uniqExactIf(grp, is_counted)) AS groups,
        ${measured}${aggregation === 'latest' ? `, ${LATEST_EVENT}` : ''}
      FROM (
        SELECT *, grouped_by, if(grouped_by IN (${BY_NAME}, ${BY_NAME_AND_PERIOD}), kind, 0) AS kind_of,
          if(grouped_by IN (${BY_NAME}, ${BY_NAME_AND_PERIOD}), name, '') AS name_of,
          if(grouped_by IN (${BY_NAME_AND_PERIOD}, ${BY_PERIOD}), period_start, 0) AS period_of,
          grouped_by = ${BY_NAME} AND kind = ${VALUE_KIND.value} AND name = '' AS is_counted
        FROM (SELECT *, if(kind = ${VALUE_KIND.text} OR ${named.condition}, grp, '') AS name FROM (${select}))
        ARRAY JOIN [${sets.join(', ')}] AS grouped_by
      ) GROUP BY grouped_by, kind_of, name_of, period_of`,
    params: { ...params, ...named.params },
  }
}

interface Named {
  condition: string
  params: Record<string, unknown>
}

const namedByText = (names: readonly string[]): Named => ({
  condition: 'grp IN {names:Array(String)}',
  params: { names },
})

function namedShortly(names: readonly string[], property: string): Named {
  // The parameter has quotes, commas and escapes, too.
  const bytes = names.reduce((sum, name) => sum + Buffer.byteLength(JSON.stringify(name)) + 1, 0)
  return bytes <= NAMES_BYTES_MAX ? namedByText(names) : namedByToken(names, property)
}

/** Values may be long; tokens are short, and two values have different ones. */
function namedByToken(names: readonly string[], property: string): Named {
  const tokens = names.map((name) => propertyToken(property, name))
  const packed = (from: number) =>
    Buffer.from(tokens.slice(from, from + TOKENS_OF_PARAMETER).join(''), 'hex').toString('base64url')
  return {
    // Why IN with a subquery: ClickHouse makes a hash table of its result.
    condition: `substring(SHA256(concat({property:String}, '=', grp)), 1, 12) IN (
      SELECT arrayJoin(arrayMap(nth -> substring(packed, 1 + 12 * nth, 12), range(intDiv(length(packed), 12))))
      FROM (SELECT base64URLDecode(concat({tokens0:String}, {tokens1:String})) AS packed))`,
    params: { property, tokens0: packed(0), tokens1: packed(TOKENS_OF_PARAMETER) },
  }
}
