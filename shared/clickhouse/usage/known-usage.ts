import { amountFromDatabase } from '../../amount/amount.ts'
import { parseRatio, sumRatios } from '../../amount/ratio.ts'
import type { FairSemaphore } from '../../batching/fair-semaphore.ts'
import { usageOfEvent } from '../../domain/billing/aggregate.ts'
import type { UsageRow } from '../../domain/billing/rate-usage.ts'
import { clampRange, type TimeRange } from '../../domain/time-range.ts'
import type { UsageEvent } from '../../domain/usage-event.ts'
import { DomainError } from '../../errors/domain-error.ts'
import { type Micros, MICROS_PER_SECOND } from '../../time/microsecond-clock.ts'
import { type ClickHouse, queryRows } from '../clickhouse.ts'
import { type CurrentEvent, EVENT_COLUMNS, eventFromRow, type EventRow } from '../events/usage-events.ts'
import { type NamedTokens, nameTokens, propertiesOf } from './named-tokens.ts'
import {
  isOfCredit,
  isOfPiece,
  mergeRows,
  type RatedPlan,
  type RatedUsage,
  ratedUsageOf,
  wantedOf,
} from './rated-usage.ts'
import {
  BEFORE,
  type KnownRow,
  knownUsageStatement,
  REPLACED,
  REPLACED_MAX,
} from './rated-usage-statement.ts'
import { IN_RANGE, OF_ACCOUNT, rangeParams } from './usage-aggregates.ts'

/**
 * Finds the values that events had before a time, in the revisions of the events. ClickHouse keeps only the newest
 * version of an event. Events that were never corrected are absent.
 */
export type EventsBefore = (
  ids: readonly string[],
  before: Micros,
) => Promise<ReadonlyMap<string, CorrectedEvent>>

/** The identity of an event, and the fields that corrections change. */
type CorrectedEvent = Omit<UsageEvent, 'namespaceId' | 'accountId' | 'version'>

/** An event that was accepted, corrected or voided between two times, with its values at both times. */
export interface EventDifference {
  id: string
  /** Undefined when the event was not accepted yet. */
  then: EventState | undefined
  now: EventState
}

/** The values of an event at some time. */
export type EventState = Omit<CurrentEvent, 'accountId' | 'version'>

/** Reads for one plan. They share a permit. All times are Unix seconds. */
export interface KnownReads {
  /**
   * The usage that an invoice is rated by, as it was known at a second: only events and corrections that were accepted
   * before that second count.
   */
  usageBefore(second: number): Promise<RatedUsage>
  /**
   * The events in the plan's ranges that were accepted or corrected at `since` or later, and before `before`. They are
   * ordered by their last change, then by id.
   *
   * @param limit the largest number of events to return
   */
  differencesBetween(since: number, before: number, limit: number): Promise<EventDifference[]>
}

/** Revisions are looked up in batches of this size. Each revision has up to 16 KiB of properties. */
const REVISIONS_AT_ONCE = 1_000

const SINCE = "fromUnixTimestamp64Micro({since:Int64}, 'UTC')"
const OF_PIECES = `
  arrayExists((startAt, endAt) -> toUnixTimestamp(occurred_at) >= startAt AND toUnixTimestamp(occurred_at) < endAt,
    {starts:Array(UInt32)}, {ends:Array(UInt32)})`
const CHANGED = `
  FROM usage_events FINAL
  PREWHERE ${IN_RANGE} ${OF_ACCOUNT}
  WHERE accepted_at < ${BEFORE} AND (accepted_at >= ${SINCE} OR ifNull(corrected_at >= ${SINCE}, 0)) AND ${OF_PIECES}`
// Why a subquery: EVENT_COLUMNS gives the names of columns to its values. Without a subquery, the conditions would use
// these values instead of the columns.
const STANDING_CHANGES = `
  SELECT ${EVENT_COLUMNS}
  FROM (SELECT * ${CHANGED} AND NOT ${REPLACED} ORDER BY ifNull(corrected_at, accepted_at), id LIMIT {limit:UInt32}) AS e`
const REPLACED_SINCE = `
  SELECT concat('event_', lower(hex(id))) AS event_id ${CHANGED} AND ${REPLACED} LIMIT ${REPLACED_MAX + 1}`

/**
 * Reads usage as it was known at some time, from the account's events, without rollups. The answer for a time never
 * changes. So callers must not ask for a time while events may still be accepted before it.
 *
 * @param rawReads the semaphore whose permits these reads need; see rawReadSemaphore
 */
export function knownUsageReader(client: ClickHouse, rawReads: FairSemaphore) {
  return {
    /**
     * @param plan the plan of an account in the namespace
     * @param work may make any number of reads
     * @param signal ends the wait for a permit
     * @throws DomainError overloaded when the read waited too long for a permit; unprocessable when the plan's rates
     *   name too many values, or too many events were corrected after the time
     */
    read<T>(
      namespaceId: string,
      plan: RatedPlan,
      eventsBefore: EventsBefore,
      work: (reads: KnownReads) => Promise<T>,
      signal?: AbortSignal,
    ): Promise<T> {
      const wanted = wantedOf(namespaceId, [plan], nameTokens(plan.usage.named))
      const read: KnownRead = { client, plan, wanted, eventsBefore }
      const reads = () =>
        work({
          usageBefore: (second) => readUsage(read, second * MICROS_PER_SECOND),
          differencesBetween: (since, before, limit) => readDifferences(read, { since, before, limit }),
        })
      return rawReads.run(reads, { tenant: namespaceId, signal })
    },
  }
}

type UsageWanted = ReturnType<typeof wantedOf>

/** The parameters for reading the usage of a plan. */
interface KnownRead {
  client: ClickHouse
  plan: RatedPlan
  wanted: UsageWanted
  eventsBefore: EventsBefore
}

async function readUsage(
  { client, plan, wanted, eventsBefore }: KnownRead,
  before: Micros,
): Promise<RatedUsage> {
  const { named } = wanted
  const statement = knownUsageStatement(wanted, before)
  if (statement === undefined) return ratedUsageOf(plan, [], named)
  const rows = await queryRows<KnownRow>(client, statement.query, statement.params)
  const needed = rows.filter(
    (row) => isOfCredit(row, plan) || plan.usage.ranges.some((range) => isOfPiece(row, range, named)),
  )
  const replaced = [...new Set(needed.flatMap((row) => row.replaced))].map((id) => `event_${id}`)
  requireFew(replaced)
  let usage = ratedUsageOf(
    plan,
    needed.filter((row) => row.replaced.length === 0),
    named,
  )
  for await (const events of inBatches(eventsBefore, replaced, before))
    usage = addEvents(usage, events, plan, named)
  return usage
}

/** Adds events to usage that does not contain them. */
function addEvents(
  { usage, currencyUsage }: RatedUsage,
  events: readonly CorrectedEvent[],
  plan: RatedPlan,
  named: NamedTokens,
): RatedUsage {
  const counted = events.filter(({ voided }) => !voided)
  const rows = counted.map(
    ({ id, source, occurredAt, acceptedAt, quantity, propertyPairs }): UsageRow & { occurredAt: number } => ({
      source,
      occurredAt,
      properties: propertiesOf(source, named.tokensOf(source, propertyPairs), named),
      usage: usageOfEvent({ id, occurredAt, acceptedAt, quantity: amountFromDatabase(quantity) }),
    }),
  )
  const added = new Map(usage)
  for (const { piece, ...range } of plan.usage.ranges) {
    const { startAt, endAt } = clampRange(range)
    const ofPiece = rows.filter(({ occurredAt }) => occurredAt >= startAt && occurredAt < endAt)
    if (ofPiece.length > 0) added.set(piece, mergeRows([...(usage.get(piece) ?? []), ...ofPiece]))
  }
  const ofCredit = counted.filter(
    ({ source, occurredAt }) => source === plan.contract.currency && occurredAt < plan.creditBefore,
  )
  return {
    usage: added,
    currencyUsage: sumRatios([currencyUsage, ...ofCredit.map(({ quantity }) => parseRatio(quantity))]),
  }
}

/** `since` and `before` are Unix seconds. */
async function readDifferences(
  { client, plan, wanted: { namespaceId, ranges }, eventsBefore }: KnownRead,
  { since, before, limit }: { since: number; before: number; limit: number },
): Promise<EventDifference[]> {
  const pieces = ranges.filter(({ startAt, endAt }) => startAt < endAt)
  if (pieces.length === 0) return []
  const micros = { since: since * MICROS_PER_SECOND, before: before * MICROS_PER_SECOND }
  const params = {
    ...{ namespaceId, accountId: plan.contract.accountId, ...micros, limit },
    ...rangeParams(wholeOf(pieces)),
    starts: pieces.map(({ startAt }) => startAt),
    ends: pieces.map(({ endAt }) => endAt),
  }
  // The order of the queries matters: an event that is corrected between them is in both answers. In the other order,
  // it would be in none.
  const standing = (await queryRows<EventRow>(client, STANDING_CHANGES, params)).map(eventFromRow)
  const replaced = await queryRows<{ event_id: string }>(client, REPLACED_SINCE, params)
  const replacedIds = replaced.map((row) => row.event_id)
  requireFew(replacedIds)
  let first: EventState[] = standing.sort(byLastTime)
  for await (const events of inBatches(eventsBefore, replacedIds, micros.before)) {
    const changed = events.filter((event) => lastTimeOf(event) >= micros.since)
    const found = new Map([...first, ...changed].map((event) => [event.id, event]))
    first = [...found.values()].sort(byLastTime).slice(0, limit)
  }
  const then = await eventsBefore(
    first.filter(({ acceptedAt }) => acceptedAt < micros.since).map(({ id }) => id),
    micros.since,
  )
  return first.map((now) => ({ id: now.id, then: then.get(now.id), now }))
}

const wholeOf = (ranges: readonly TimeRange[]): TimeRange => ({
  startAt: Math.min(...ranges.map(({ startAt }) => startAt)),
  endAt: Math.max(...ranges.map(({ endAt }) => endAt)),
})

const lastTimeOf = ({ acceptedAt, correctedAt }: Pick<EventState, 'acceptedAt' | 'correctedAt'>): Micros =>
  correctedAt ?? acceptedAt

const byLastTime = (a: EventState, b: EventState): number =>
  lastTimeOf(a) - lastTimeOf(b) || (a.id < b.id ? -1 : 1)

function requireFew(replaced: readonly string[]): void {
  if (replaced.length > REPLACED_MAX)
    throw new DomainError(
      'unprocessable',
      `more than ${REPLACED_MAX} of these events were corrected since: too many to look up their earlier values`,
    )
}

/**
 * @throws Error when a corrected event has no revisions. That is a fault, because every correction is committed as a
 *   revision before it is stored anywhere else
 */
async function* inBatches(
  eventsBefore: EventsBefore,
  ids: readonly string[],
  before: Micros,
): AsyncGenerator<CorrectedEvent[]> {
  for (let start = 0; start < ids.length; start += REVISIONS_AT_ONCE) {
    const some = ids.slice(start, start + REVISIONS_AT_ONCE)
    const found = await eventsBefore(some, before)
    yield some.map((id) => {
      const event = found.get(id)
      if (event === undefined) throw new Error(`${id} was corrected and has no revisions`)
      return event
    })
  }
}
