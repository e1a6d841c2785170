import type { TimeRange } from '../../domain/time-range.ts'
import { coverUsage, coverUsageCutAt, type RollupState } from '../../domain/usage-cover.ts'
import type { Micros } from '../../time/microsecond-clock.ts'
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
const NAMED_TOKENS = `arraySort(arrayFilter(token -> concat(source, token) IN (${NAMED}), property_tokens)) AS tokens`

/** Events of the account in a range, one by one; `ofKey` and `counted` are further conditions, on the key and on the rest. */
const eventsOf = (columns: string, { ofKey = '', counted }: { ofKey?: string; counted: string }) => `
  SELECT ${columns}, ${ofEvent} FROM usage_events FINAL
  PREWHERE ${IN_RANGE} ${OF_ACCOUNT} ${ofKey} WHERE ${counted}`
const NAMED_EVENTS = eventsOf(`${SEGMENT_OF_EVENT}, ${NAMED_TOKENS}`, {
  ofKey: 'AND source IN {namedSources:Array(String)}',
  counted: 'voided = 0',
})

const BEFORE = "fromUnixTimestamp64Micro({before:Int64}, 'UTC')"
/** More replaced events than this are not read: each takes a look at what it was. */
export const REPLACED_MAX = 200_000
/** Whether an event was another at a time than its row says, because it was corrected since. */
export const REPLACED = `ifNull(corrected_at >= ${BEFORE}, 0)`
/** Events that were there at a time, as they are now: those that are replaced also where they are void by now. */
const KNOWN = { counted: `accepted_at < ${BEFORE} AND (voided = 0 OR ${REPLACED})` }

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
  const { cuts, whole } = cutsOf(wanted)
  const params: Record<string, unknown> = { namespaceId, accountId, currency, epoch: state.epoch, cuts }
  const selects: string[] = []
  const addCover = (cover: ReturnType<typeof coverUsage>, columns: Wanted, prefix: string) => {
    const read = withParamsNamed(selectsOf(cover, state, columns, false), prefix)
    selects.push(...read.selects)
    Object.assign(params, read.params)
  }
  const isNamed = named.sources.length > 0
  if (isNamed) Object.assign(params, { namedSources: named.sources })
  if (cuts.length > 0) {
    const pieces: Wanted = {
      fromDays: `${segmentOf("toUnixTimestamp(toDateTime(day, 'UTC'))")}, ${NO_TOKENS}, ${rolled}`,
      fromSlots: `${segmentOf('toUnixTimestamp(slot)')}, ${NO_TOKENS}, ${rolled}`,
      fromEvents: `${SEGMENT_OF_EVENT}, ${NO_TOKENS}, ${ofEvent}`,
      filters: [...ACCOUNT, ...(isNamed ? ['source NOT IN {namedSources:Array(String)}'] : [])],
    }
    addCover(coverUsageCutAt(whole, cuts, state), pieces, 'pieces_')
    if (isNamed) {
      selects.push(NAMED_EVENTS)
      Object.assign(params, rangeParams(whole), tokenParams(named))
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
  const query = `SELECT ${OF_ROW} FROM (${selects.join('\nUNION ALL\n')}) GROUP BY segment, source, tokens`
  return { query, params }
}

const OF_ROW = `
  toString(segment) AS segment, arrayMap(token -> lower(hex(token)), tokens) AS tokens, ${merged}, ${latestEvent}`

/** Usage as it was known at a time; or, in place of usage, the events that were corrected since. */
export interface KnownRow extends RatedRow {
  /** As hex; of all others the row holds what they come to. */
  replaced: string[]
}

/**
 * The same as it was known at a time, from the events alone: those that were accepted before. Which of them were corrected since is told
 * in their place, from the same look at the table: what is corrected meanwhile is in it once, as it was or as replaced.
 *
 * @param before in microseconds
 * @returns undefined when there is nothing to read
 */
export function knownUsageStatement(
  wanted: RatedWanted,
  before: Micros,
): { query: string; params: Record<string, unknown> } | undefined {
  const { namespaceId, accountId, currency, creditBefore, named } = wanted
  const { cuts, whole } = cutsOf(wanted)
  const params: Record<string, unknown> = { namespaceId, accountId, currency, cuts, before }
  const selects: string[] = []
  if (cuts.length > 0) {
    const isNamed = named.sources.length > 0
    const columns = `${SEGMENT_OF_EVENT}, ${isNamed ? NAMED_TOKENS : NO_TOKENS}, ${REPLACED} AS is_replaced`
    selects.push(eventsOf(columns, KNOWN))
    Object.assign(params, rangeParams(whole))
    if (isNamed) Object.assign(params, { namedSources: named.sources }, tokenParams(named))
  }
  if (creditBefore > 0) {
    const ofCredit = eventsOf(`${OF_CREDIT}, ${REPLACED} AS is_replaced`, {
      ofKey: 'AND source = {currency:String}',
      ...KNOWN,
    })
    const ever = rangeParams({ startAt: 0, endAt: creditBefore })
    const read = withParamsNamed({ selects: [ofCredit], params: ever }, 'credit_')
    selects.push(...read.selects)
    Object.assign(params, read.params)
  }
  if (selects.length === 0) return undefined
  const query = `
    SELECT ${OF_ROW},
      if(is_replaced, arrayMap(id -> lower(hex(id)), groupArray(${REPLACED_MAX + 1})(newest_id)), []) AS replaced
    FROM (${selects.join('\nUNION ALL\n')}) GROUP BY segment, source, tokens, is_replaced`
  return { query, params }
}

/** Where segments of the ranges begin and end, and what they lie in; no cuts where there is nothing to read. */
function cutsOf({ ranges }: Pick<RatedWanted, 'ranges'>): { cuts: number[]; whole: TimeRange } {
  const ends = ranges.filter(({ startAt, endAt }) => startAt < endAt)
  const cuts = [...new Set(ends.flatMap(({ startAt, endAt }) => [startAt, endAt]))].sort((a, b) => a - b)
  return { cuts, whole: { startAt: cuts[0] ?? 0, endAt: cuts.at(-1) ?? 0 } }
}

const tokenParams = ({ counts, packed }: NamedTokens) => ({ tokenCounts: counts, tokens: packed })
