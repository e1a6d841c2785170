import type { TimeRange } from '../../domain/time-range.ts'
import { coverUsage, coverUsageCutAt, type RollupState } from '../../domain/usage-cover.ts'
import { selectsOf, withParamsNamed, type Wanted } from '../rollups/cover-query.ts'
import { MEASURED_COLUMNS } from '../rollups/measure-columns.ts'
import type { NamedTokens } from './named-tokens.ts'
import { IN_RANGE, OF_ACCOUNT, rangeParams } from './usage-aggregates.ts'

/** What of an account is wanted for an invoice; seconds as usage can have them. */
export interface RatedWanted {
  namespaceId: string
  accountId: string
  currency: string
  /** All sources in each of these; they may meet, be apart and overlap. */
  ranges: readonly TimeRange[]
  /** All usage of the currency before. */
  creditBefore: number
  /** What usage in the ranges is told apart by. */
  named: NamedTokens
}

/** Usage of a source in a segment of the ranges, by the named tokens that its events have. */
export interface RatedRow {
  /** The second it begins; or CREDIT. */
  segment: string
  source: string
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

/** In place of a segment, for usage of the currency before creditBefore. */
export const CREDIT = '-1'

const { rolled, ofEvent, merged, latestEvent } = MEASURED_COLUMNS

const ACCOUNT = ['namespace_id = {namespaceId:String}', 'account_id = {accountId:String}']
const NO_TOKENS = "CAST([], 'Array(FixedString(12))') AS tokens"
const OF_CREDIT = `toInt64(${CREDIT}) AS segment, ${NO_TOKENS}`
/** Between two cuts that follow each other lies a segment, which begins with the first. */
const segmentOf = (second: string) => `toInt64(roundDown(${second}, {cuts:Array(UInt32)})) AS segment`
const SEGMENT_OF_EVENT = segmentOf('toUnixTimestamp(occurred_at)')

/** Each with its source in front, as sources name values of their own; sources do not matter to where a token ends. */
const NAMED = `
  SELECT arrayJoin(arrayMap(
    (source, token) -> concat(source, token),
    arrayFlatten(arrayMap((source, count) -> arrayWithConstant(count, source), {namedSources:Array(String)}, {tokenCounts:Array(UInt32)})),
    arrayMap(nth -> substring(base64URLDecode({tokens:String}), 1 + 12 * nth, 12), range(arraySum({tokenCounts:Array(UInt32)})))
  ))`
// Why IN a subquery: it becomes a hash table. arrayIntersect, and IN an array, go through all named tokens for each event (measured
// with a million events and 2,000 tokens: 14 s, and 0.15 s so).
const NAMED_EVENTS = `
  SELECT ${SEGMENT_OF_EVENT},
    arraySort(arrayFilter(token -> concat(source, token) IN (${NAMED}), property_tokens)) AS tokens, ${ofEvent}
  FROM usage_events FINAL
  PREWHERE ${IN_RANGE} ${OF_ACCOUNT} AND source IN {namedSources:Array(String)} WHERE voided = 0`

/**
 * One statement for all of it: its number of selects does not depend on how many ranges and tokens there are.
 *
 * @returns undefined when there is nothing to read
 */
export function ratedUsageStatement(
  wanted: RatedWanted,
  state: RollupState,
): { query: string; params: Record<string, unknown> } | undefined {
  const { namespaceId, accountId, currency, creditBefore, named } = wanted
  const ranges = wanted.ranges.filter(({ startAt, endAt }) => startAt < endAt)
  const cuts = [...new Set(ranges.flatMap(({ startAt, endAt }) => [startAt, endAt]))].sort((a, b) => a - b)
  const whole = { startAt: cuts[0] ?? 0, endAt: cuts.at(-1) ?? 0 }
  const params: Record<string, unknown> = { namespaceId, accountId, currency, epoch: state.epoch, cuts }
  const selects: string[] = []
  const addCover = (cover: ReturnType<typeof coverUsage>, columns: Wanted, prefix: string) => {
    const read = withParamsNamed(selectsOf(cover, state, columns, false), prefix)
    selects.push(...read.selects)
    Object.assign(params, read.params)
  }
  const isNamed = named.sources.length > 0
  if (isNamed) Object.assign(params, { namedSources: named.sources })
  if (ranges.length > 0) {
    const pieces: Wanted = {
      fromDays: `${segmentOf("toUnixTimestamp(toDateTime(day, 'UTC'))")}, ${NO_TOKENS}, ${rolled}`,
      fromSlots: `${segmentOf('toUnixTimestamp(slot)')}, ${NO_TOKENS}, ${rolled}`,
      fromEvents: `${SEGMENT_OF_EVENT}, ${NO_TOKENS}, ${ofEvent}`,
      filters: [...ACCOUNT, ...(isNamed ? ['source NOT IN {namedSources:Array(String)}'] : [])],
    }
    addCover(coverUsageCutAt(whole, cuts, state), pieces, 'pieces_')
    if (isNamed) {
      selects.push(NAMED_EVENTS)
      Object.assign(params, rangeParams(whole), { tokenCounts: named.counts, tokens: named.packed })
    }
  }
  if (creditBefore > 0) {
    const columns = `${OF_CREDIT}, ${rolled}`
    addCover(
      coverUsage({ startAt: 0, endAt: creditBefore }, state),
      {
        fromDays: columns,
        fromSlots: columns,
        fromEvents: `${OF_CREDIT}, ${ofEvent}`,
        filters: [...ACCOUNT, 'source = {currency:String}'],
      },
      'credit_',
    )
  }
  if (selects.length === 0) return undefined
  const query = `
    SELECT toString(segment) AS segment, arrayMap(token -> lower(hex(token)), tokens) AS tokens, ${merged}, ${latestEvent}
    FROM (${selects.join('\nUNION ALL\n')}) GROUP BY segment, source, tokens`
  return { query, params }
}
