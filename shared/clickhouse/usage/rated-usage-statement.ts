import type { TimeRange } from '../../domain/time-range.ts'
import type { Micros } from '../../time/microsecond-clock.ts'
import { type CoverRead, SECOND_OF, selectsOf } from '../rollups/cover-query.ts'
import { coverUsage, type RollupState } from '../rollups/usage-cover.ts'
import type { NamedTokens } from './named-tokens.ts'
import { MEASURED_COLUMNS } from './rollup-columns.ts'
import { IN_RANGE, rangeParams } from './usage-aggregates.ts'

/** All accounts whose ids lie between these two, both included. */
export interface AccountSpan {
  first: string
  last: string
}

/** The usage of accounts that invoices need. All times are clamped to the times that usage can have. */
export interface RatedWanted {
  namespaceId: string
  /**
   * The accounts, and the seconds at which each one's usage is split. The usage of a span is split at the edges of
   * the ranges.
   */
  cutsByAccount: ReadonlyMap<string, readonly number[]> | AccountSpan
  /** The ranges whose usage is read; they may touch or overlap. */
  ranges: readonly TimeRange[]
  /** The sources that are read; undefined for all sources. */
  sources?: readonly string[]
  /** For credit, all usage of these currencies before the last of the times `before` is read, too. Unix seconds. */
  credit: { currencies: readonly string[]; before: readonly number[] }
  /** The values by which usage in the ranges is split. */
  named: NamedTokens
}

/** Usage of a source between one cut of its account and the next. */
export interface RatedRow {
  account_id: string
  /** The second of the last cut at or before this usage; 0 for usage before the first cut. */
  after_cut: string
  source: string
  /** Whether the usage is split by tokens: 1 for usage in the ranges if its source has named tokens, otherwise 0. */
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

const UNNAMED = "0 AS is_named, CAST([], 'Array(FixedString(12))') AS tokens"

/**
 * Lists the named tokens, each after its source, because each source has its own named values. All tokens have the same
 * length, so two such texts are equal only if source and token are equal.
 */
const NAMED = `
  SELECT arrayJoin(arrayMap(
    (source, token) -> concat(source, token),
    arrayFlatten(arrayMap((source, count) -> arrayWithConstant(count, source), {namedSources:Array(String)}, {tokenCounts:Array(UInt32)})),
    arrayMap(nth -> substring(base64URLDecode({tokens:String}), 1 + 12 * nth, 12), range(arraySum({tokenCounts:Array(UInt32)})))
  ))`
// Why IN with a subquery: ClickHouse makes a hash table of its result. With arrayIntersect, or IN with an array, it
// would compare each event with all named tokens.
const NAMED_TOKENS = `1 AS is_named, arraySort(arrayFilter(token -> concat(source, token) IN (${NAMED}), property_tokens)) AS tokens`

/** The time that is asked about, in microseconds. */
export const BEFORE = "fromUnixTimestamp64Micro({before:Int64}, 'UTC')"
/** A read with more replaced events than this fails, because the revisions of each of them must be looked up. */
export const REPLACED_MAX = 200_000
/** Whether an event was different at the time asked about, because it was corrected since. */
export const REPLACED = `ifNull(corrected_at >= ${BEFORE}, 0)`
/** Selects the events that were accepted before the time asked about, except those that were voided before it. */
const KNOWN = `accepted_at < ${BEFORE} AND (voided = 0 OR ${REPLACED})`

/** @param filters conditions on columns of the sorting key. @param counted a condition for the events that count */
const eventsOf = (columns: string, filters: readonly string[], counted: string) => `
  SELECT ${columns}, ${ofEvent} FROM usage_events FINAL PREWHERE ${filters.join(' AND ')} WHERE ${counted}`

interface Statement {
  query: string
  params: Record<string, unknown>
}

/**
 * One statement for everything: its number of selects does not depend on the number of accounts, ranges and tokens.
 *
 * Why credit is read by the same selects as the ranges: ClickHouse takes as long to plan a select as to read one
 * account's rows, so twice as many selects would take twice as long.
 *
 * @returns undefined when there is nothing to read
 */
export function ratedUsageStatement(wanted: RatedWanted, state: RollupState): Statement | undefined {
  const terms = sharedTermsOf(wanted)
  if (terms === undefined) return undefined
  const { whole, cuts, afterCut, unnamedFilters, timeFilter } = terms
  const columns: CoverRead = {
    fromMonths: `account_id, ${afterCut(SECOND_OF.months)}, ${UNNAMED}, ${rolled}`,
    fromDays: `account_id, ${afterCut(SECOND_OF.days)}, ${UNNAMED}, ${rolled}`,
    fromSlots: `account_id, ${afterCut(SECOND_OF.slots)}, ${UNNAMED}, ${rolled}`,
    fromEvents: `account_id, ${afterCut(SECOND_OF.events)}, ${UNNAMED}, ${ofEvent}`,
    filters: unnamedFilters,
    ...(timeFilter && { timeFilter }),
  }
  const read = selectsOf(coverUsage(whole, state, { cuts }), state, columns, { totals: false })
  const named = terms.namedFilters && [
    eventsOf(`account_id, ${afterCut(SECOND_OF.events)}, ${NAMED_TOKENS}`, terms.namedFilters, 'voided = 0'),
  ]
  const selects = [...read.selects, ...(named ?? [])]
  return {
    query: `SELECT ${OF_ROW} FROM (${selects.join('\nUNION ALL\n')}) GROUP BY ${KEY_OF_ROW}`,
    params: { ...terms.params, epoch: state.epoch, ...read.params },
  }
}

const KEY_OF_ROW = 'account_id, after_cut, is_named, source, tokens'
const OF_ROW = `
  account_id, toString(after_cut) AS after_cut, is_named, arrayMap(token -> lower(hex(token)), tokens) AS tokens,
  ${merged}, ${latestEvent}`

/** Usage as it was known at a time, or a list of events that were corrected since that time. */
export interface KnownRow extends RatedRow {
  /** Ids of replaced events, as hex. If there are any, the sums of the row are of these events and do not count. */
  replaced: string[]
}

/**
 * A statement for rated usage as it was known at a time. It reads no rollups, only the events that were accepted before
 * that time. Events that were corrected since are listed instead of counted, in the same read of the table. So an event
 * that is being corrected at this moment appears once: it is either counted or listed.
 *
 * @param before in microseconds
 * @returns undefined when there is nothing to read
 */
export function knownUsageStatement(wanted: RatedWanted, before: Micros): Statement | undefined {
  const terms = sharedTermsOf(wanted)
  if (terms === undefined) return undefined
  const { whole, afterCut, unnamedFilters, timeFilter, namedFilters } = terms
  const ofEvents = `account_id, ${afterCut(SECOND_OF.events)}, ${REPLACED} AS is_replaced`
  const ever = Object.entries(rangeParams(whole)).map(([name, value]) => [`ever_${name}`, value] as const)
  const inWhole = IN_RANGE.replaceAll(/\{(?!namespaceId)(\w+):/g, '{ever_$1:')
  const selects = [
    eventsOf(
      `${ofEvents}, ${UNNAMED}`,
      [inWhole, ...unnamedFilters, ...(timeFilter ? [timeFilter(SECOND_OF.events)] : [])],
      KNOWN,
    ),
    ...(namedFilters ? [eventsOf(`${ofEvents}, ${NAMED_TOKENS}`, namedFilters, KNOWN)] : []),
  ]
  const query = `
    SELECT ${OF_ROW},
      if(is_replaced, arrayMap(id -> lower(hex(id)), groupArray(${REPLACED_MAX + 1})(newest_id)), []) AS replaced
    FROM (${selects.join('\nUNION ALL\n')}) GROUP BY ${KEY_OF_ROW}, is_replaced`
  return { query, params: { ...terms.params, ...Object.fromEntries(ever), before } }
}

/** The terms that all selects of a statement share. */
interface SharedTerms extends Cuts {
  /** The range that contains all wanted usage. */
  whole: TimeRange
  /** For usage that is not split by tokens: conditions for the key. */
  unnamedFilters: string[]
  /** Set if credit is wanted: before the ranges, only usage in the credit's currencies counts. See CoverRead. */
  timeFilter: CoverRead['timeFilter']
  /** Conditions for usage that is split by tokens; undefined when no usage is split. */
  namedFilters: string[] | undefined
}

function sharedTermsOf({
  namespaceId,
  cutsByAccount,
  credit,
  named,
  ...wanted
}: RatedWanted): SharedTerms | undefined {
  const ranges = wanted.ranges.filter(({ startAt, endAt }) => startAt < endAt)
  const edges = ranges.flatMap(({ startAt, endAt }) => [startAt, endAt])
  const creditBefore = Math.max(0, ...credit.before)
  const hasCredit = creditBefore > 0
  if (ranges.length === 0 && !hasCredit) return undefined
  const inRanges = { startAt: Math.min(...edges, Infinity), endAt: Math.max(...edges, 0) }
  const whole = {
    startAt: hasCredit ? 0 : inRanges.startAt,
    endAt: Math.max(creditBefore, inRanges.endAt),
  }
  const ofAccounts = [
    'namespace_id = {namespaceId:String}',
    isSpan(cutsByAccount)
      ? 'account_id BETWEEN {firstAccount:String} AND {lastAccount:String}'
      : 'account_id IN {accountIds:Array(String)}',
    ...(wanted.sources === undefined ? [] : ['source IN {sources:Array(String)}']),
  ]
  const isNamed = named.sources.length > 0 && ranges.length > 0
  const ofCredit = hasCredit ? ' OR source IN {currencies:Array(String)}' : ''
  const { params, ...cuts } = cutsBy(cutsByAccount, edges)
  return {
    ...cuts,
    whole,
    unnamedFilters: [
      ...ofAccounts,
      ...(isNamed ? [`(source NOT IN {namedSources:Array(String)}${ofCredit})`] : []),
    ],
    timeFilter: hasCredit ? (second) => `(${second} >= {rangesFrom:UInt32}${ofCredit})` : undefined,
    namedFilters: isNamed ? [IN_RANGE, ...ofAccounts, 'source IN {namedSources:Array(String)}'] : undefined,
    params: {
      ...params,
      namespaceId,
      ...(isSpan(cutsByAccount)
        ? { firstAccount: cutsByAccount.first, lastAccount: cutsByAccount.last }
        : { accountIds: [...cutsByAccount.keys()] }),
      ...(wanted.sources && { sources: wanted.sources }),
      ...(hasCredit && {
        currencies: credit.currencies,
        rangesFrom: Math.min(inRanges.startAt, whole.endAt),
      }),
      ...(isNamed && {
        ...rangeParams(inRanges),
        namedSources: named.sources,
        tokenCounts: named.counts,
        tokens: named.packed,
      }),
    },
  }
}

const isSpan = (accounts: RatedWanted['cutsByAccount']): accounts is AccountSpan => 'first' in accounts

interface Cuts {
  /** SQL for the second of the last cut at or before a row, from the SQL for the second of the row. */
  afterCut: (second: string) => string
  /** The cuts of all accounts, in order. */
  cuts: readonly number[]
  params: Record<string, unknown>
}

/**
 * If all accounts have the same cuts, the statement has one list of cuts. Otherwise each row looks up the cuts of its
 * account.
 */
function cutsBy(cutsByAccount: RatedWanted['cutsByAccount'], edges: readonly number[]): Cuts {
  const inOrder = (all: readonly number[]) => [...new Set(all)].sort((a, b) => a - b)
  const lists = isSpan(cutsByAccount) ? [inOrder(edges)] : [...cutsByAccount.values()].map(inOrder)
  const cuts = inOrder(lists.flat())
  if (lists.every(({ length }) => length === cuts.length))
    return {
      afterCut: (second) => `toInt64(roundDown(${second}, {cuts:Array(UInt32)})) AS after_cut`,
      cuts,
      params: { cuts: [0, ...cuts] },
    }
  const nth = 'transform(account_id, {accountIds:Array(String)}, {accountPlaces:Array(UInt32)}, 0)'
  return {
    afterCut: (second) =>
      `toInt64(arrayMax(cut -> if(cut <= ${second}, cut, 0), {cutsOfAccounts:Array(Array(UInt32))}[${nth}])) AS after_cut`,
    cuts,
    params: {
      accountPlaces: lists.map((_, index) => index + 1),
      cutsOfAccounts: lists.map((list) => [0, ...list]),
    },
  }
}
