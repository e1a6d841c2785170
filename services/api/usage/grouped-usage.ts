import type { GroupedUsageReader } from '../../../shared/clickhouse/usage/grouped-usage.ts'
import type { UsageReader } from '../../../shared/clickhouse/usage/usage-aggregates.ts'
import {
  type GroupedUsage,
  groupMeasuresOf,
  type GroupSeries,
  type GroupUsage,
  mergeGroupUsage,
} from '../../../shared/domain/grouped-usage.ts'
import { type Period, periodStartsIn } from '../../../shared/domain/period.ts'
import type { TimeRange } from '../../../shared/domain/time-range.ts'
import type { Aggregation, UsageAggregate } from '../../../shared/domain/usage-aggregate.ts'
import type { UsageSource } from '../../../shared/domain/usage-source.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { RequireKnown } from './require-known.ts'
import { requireFewDays, requireForwards } from './usage-query.ts'

export interface GroupedUsageQuery {
  source: UsageSource
  range: TimeRange
  aggregation: Aggregation
  accountId: string | undefined
  period: Period | undefined
  groupBy: 'account' | 'property' | undefined
  property: string | undefined
  /** How many groups are answered one by one. */
  limit: number
}

export type GroupedUsageIn = (
  namespaceId: string,
  query: GroupedUsageQuery,
  signal: AbortSignal,
) => Promise<GroupedUsage>

/** How many events are read for usage by property. */
const EVENTS_MAX = 5_000_000
/** How many groups times periods an answer may have. */
const CELLS_MAX = 40_000

/**
 * The usage of one metric or currency in a range: the total, and by account or by the value of a property.
 *
 * @param eventsMax how many events may be read for usage by property
 * @throws DomainError malformed when parameters do not fit together, or the answer would be too large; unprocessable
 *   when the range is empty or reversed, or there are too many events or values to group; not_found when there is no such
 *   account or metric
 */
export function groupedUsage(
  requireBoth: RequireKnown,
  usage: Pick<UsageReader, 'aggregate' | 'aggregateByPeriod'>,
  grouped: GroupedUsageReader,
  eventsMax = EVENTS_MAX,
): GroupedUsageIn {
  const byProperty = async (
    namespaceId: string,
    query: GroupedUsageQuery,
    property: string,
    signal: AbortSignal,
  ) => {
    const { source, range, accountId } = query
    // Rollups tell how many events there are, before any event is read.
    const counted = await usage.aggregate(namespaceId, { source, range, accountId, measures: ['count'] })
    const count = counted.get(source)?.count ?? 0n
    if (count > BigInt(eventsMax))
      throw new DomainError(
        'unprocessable',
        `property: the range has ${count.toLocaleString('en')} events, at most ${eventsMax.toLocaleString('en')} can be grouped by a property; name an account or a shorter range`,
      )
    return grouped.byProperty(namespaceId, query, property, signal)
  }
  return async (namespaceId, query, signal) => {
    requireFitting(query)
    await requireBoth(namespaceId, query)
    if (query.groupBy === 'account') return grouped.byAccount(namespaceId, query, signal)
    if (query.property !== undefined) return byProperty(namespaceId, query, query.property, signal)
    return { total: await totalOf(usage, namespaceId, query), data: [], rest: undefined, without: undefined }
  }
}

/** @throws DomainError malformed or unprocessable */
function requireFitting({ range, period, groupBy, property, limit }: GroupedUsageQuery): void {
  if (groupBy === 'property' && property === undefined)
    throw new DomainError('malformed', 'property: required with group_by=property')
  if (groupBy !== 'property' && property !== undefined)
    throw new DomainError('malformed', 'property: only with group_by=property')
  requireForwards(range)
  if (period === undefined) return
  requireFewDays(range)
  const cells = groupBy === undefined ? 0 : limit * periodStartsIn(period, range).length
  if (cells > CELLS_MAX)
    throw new DomainError(
      'malformed',
      `limit: ${limit} groups in the periods of the range are ${cells.toLocaleString('en')} quantities, at most ${CELLS_MAX.toLocaleString('en')} are allowed`,
    )
}

/** The usage that is not grouped, from rollups of all accounts together. */
async function totalOf(
  usage: Pick<UsageReader, 'aggregate' | 'aggregateByPeriod'>,
  namespaceId: string,
  { source, range, accountId, aggregation, period }: GroupedUsageQuery,
): Promise<GroupSeries | undefined> {
  const selection = { source, range, accountId, measures: groupMeasuresOf(aggregation) }
  if (period === undefined) {
    const found = (await usage.aggregate(namespaceId, selection)).get(source)
    return found && { whole: countedUsage(found), periods: new Map() }
  }
  const byPeriod = await usage.aggregateByPeriod(namespaceId, period, selection)
  const periods = new Map<number, GroupUsage>()
  let whole: GroupUsage | undefined
  for (const start of [...byPeriod.keys()].sort((a, b) => a - b)) {
    const found = byPeriod.get(start)?.get(source)
    if (found === undefined) continue
    const ofPeriod = countedUsage(found)
    periods.set(start, ofPeriod)
    // The last period that has an event has the latest event.
    whole = { ...mergeGroupUsage(whole, ofPeriod), ...(ofPeriod.latest && { latest: ofPeriod.latest }) }
  }
  return whole && { whole, periods }
}

const countedUsage = (usage: UsageAggregate): GroupUsage => ({ ...usage, count: usage.count ?? 0n })
