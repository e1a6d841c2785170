import type { TimeRange } from '../../domain/time-range.ts'
import { coverUsageCutAt, type RollupState } from '../../domain/usage-cover.ts'
import { SECOND_OF, selectsOf, type Wanted } from '../rollups/cover-query.ts'
import { MEASURED_COLUMNS } from '../rollups/measure-columns.ts'
import type { NamedTokens } from './named-tokens.ts'
import { IN_RANGE, rangeParams } from './usage-aggregates.ts'

/** What of accounts is wanted for invoices; seconds as usage can have them. */
export interface RatedWanted {
  namespaceId: string
  /** Whose; undefined: all of the namespace. */
  accountIds: readonly string[] | undefined
  /** All sources in each of these; they may meet, be apart and overlap. */
  ranges: readonly TimeRange[]
  /** All usage of some currencies up to each of these seconds. */
  credit: { currencies: readonly string[]; before: readonly number[] }
  /** What usage in the ranges is told apart by. */
  named: NamedTokens
}

/** Usage of a source in a segment: between one second that the wanted ranges and credit name, and the next. */
export interface RatedRow {
  account_id: string
  /** The second it begins; what lies before all ranges is in the segment of 0. */
  segment: string
  source: string
  /** Whether it is told apart by its tokens: all usage in the ranges of the sources that have named ones, and no other. */
  is_named: number
  /** As hex. */
  tokens: string[]
  count: string
  sum: string
  min: string
  max: string
  latest: string
  latest_accepted_at: string
  latest_id: string
}

const { rolled, ofEvent, merged, latestEvent } = MEASURED_COLUMNS

/** Between two cuts that follow each other lies a segment, which begins with the first. */
const segmentOf = (second: string) =>
  `account_id, toInt64(roundDown(${second}, {cuts:Array(UInt32)})) AS segment`
const UNNAMED = "0 AS is_named, CAST([], 'Array(FixedString(12))') AS tokens"

/** Each with its source in front, as sources name values of their own; sources do not matter to where a token ends. */
const NAMED = `
  SELECT arrayJoin(arrayMap(
    (source, token) -> concat(source, token),
    arrayFlatten(arrayMap((source, count) -> arrayWithConstant(count, source), {namedSources:Array(String)}, {tokenCounts:Array(UInt32)})),
    arrayMap(nth -> substring(base64URLDecode({tokens:String}), 1 + 12 * nth, 12), range(arraySum({tokenCounts:Array(UInt32)})))
  ))`
// Why IN a subquery: it becomes a hash table. arrayIntersect, and IN an array, go through all named tokens for each event (measured
// with a million events and 2,000 tokens: 14 s, and 0.15 s so).
const namedEvents = (filters: readonly string[]) => `
  SELECT ${segmentOf(SECOND_OF.events)}, 1 AS is_named,
    arraySort(arrayFilter(token -> concat(source, token) IN (${NAMED}), property_tokens)) AS tokens, ${ofEvent}
  FROM usage_events FINAL
  PREWHERE ${[IN_RANGE, ...filters].join(' AND ')} AND source IN {namedSources:Array(String)} WHERE voided = 0`

/**
 * One statement for all of it: its number of selects does not depend on how many accounts, ranges and tokens there are.
 *
 * Why credit comes out of the same selects as the ranges: planning a select takes ClickHouse as long as reading what an account
 * has there (5 ms each), so twice as many would take twice as long.
 *
 * @returns undefined when there is nothing to read
 */
export function ratedUsageStatement(
  wanted: RatedWanted,
  state: RollupState,
): { query: string; params: Record<string, unknown> } | undefined {
  const { namespaceId, accountIds, credit, named } = wanted
  const ranges = wanted.ranges.filter(({ startAt, endAt }) => startAt < endAt)
  const creditBefore = credit.before.filter((second) => second > 0)
  const edges = ranges.flatMap(({ startAt, endAt }) => [startAt, endAt])
  const cuts = [...new Set([...edges, ...creditBefore, ...(creditBefore.length > 0 ? [0] : [])])].sort(
    (a, b) => a - b,
  )
  const [startAt, endAt] = [cuts[0], cuts.at(-1)]
  if (startAt === undefined || endAt === undefined) return undefined
  const inRanges = { startAt: Math.min(...edges, endAt), endAt: Math.max(...edges, 0) }
  const ofAccounts = [
    'namespace_id = {namespaceId:String}',
    ...(accountIds === undefined ? [] : ['account_id IN {accountIds:Array(String)}']),
  ]
  const isNamed = named.sources.length > 0 && ranges.length > 0
  const hasCredit = creditBefore.length > 0
  const params: Record<string, unknown> = {
    namespaceId,
    ...(accountIds && { accountIds }),
    epoch: state.epoch,
    cuts,
    ...(isNamed && { namedSources: named.sources }),
    ...(hasCredit && { currencies: credit.currencies, rangesFrom: inRanges.startAt }),
  }
  const ofCredit = hasCredit ? ' OR source IN {currencies:Array(String)}' : ''
  const columns: Wanted = {
    fromDays: `${segmentOf(SECOND_OF.days)}, ${UNNAMED}, ${rolled}`,
    fromSlots: `${segmentOf(SECOND_OF.slots)}, ${UNNAMED}, ${rolled}`,
    fromEvents: `${segmentOf(SECOND_OF.events)}, ${UNNAMED}, ${ofEvent}`,
    filters: [...ofAccounts, ...(isNamed ? [`(source NOT IN {namedSources:Array(String)}${ofCredit})`] : [])],
    ...(hasCredit && { timeFilter: (second) => `(${second} >= {rangesFrom:UInt32}${ofCredit})` }),
  }
  const read = selectsOf(coverUsageCutAt({ startAt, endAt }, cuts, state), state, columns, false)
  const selects = [...read.selects]
  Object.assign(params, read.params)
  if (isNamed) {
    selects.push(namedEvents(ofAccounts))
    Object.assign(params, rangeParams(inRanges), { tokenCounts: named.counts, tokens: named.packed })
  }
  const query = `
    SELECT account_id, toString(segment) AS segment, is_named, arrayMap(token -> lower(hex(token)), tokens) AS tokens,
      ${merged}, ${latestEvent}
    FROM (${selects.join('\nUNION ALL\n')}) GROUP BY account_id, segment, is_named, source, tokens`
  return { query, params }
}
