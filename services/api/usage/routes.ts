import type { GroupedUsageReader } from '../../../shared/clickhouse/usage/grouped-usage.ts'
import type { UsageReader } from '../../../shared/clickhouse/usage/usage-aggregates.ts'
import { earliestSecond } from '../../../shared/domain/period.ts'
import type { TimeRange } from '../../../shared/domain/time-range.ts'
import type { Aggregation } from '../../../shared/domain/usage-aggregate.ts'
import { sourceToBody } from '../../../shared/http/event-body.ts'
import { type Operation, operation, type SchemaOf } from '../../../shared/http/operation.ts'
import type { BatchedReads } from '../../../shared/postgres/batched-reads.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { accountToBody } from '../accounts/body.ts'
import { requiredSource } from '../core/named-source.ts'
import { accountUsageIn } from './account-usage.ts'
import { groupedUsageToBody } from './grouped-body.ts'
import { groupedUsage, type GroupedUsageIn, type GroupedUsageQuery } from './grouped-usage.ts'
import { requireKnown } from './require-known.ts'
import type { SourceUsage } from './source-usage.ts'
import {
  accountDailyUsage,
  accountMonthlyUsage,
  namespaceMonthlyUsage,
  type PeriodBucket,
} from './usage-by-period.ts'
import { usageByProperty } from './usage-by-property.ts'
import type { UsageQuery } from './usage-query.ts'

/** Operations that answer usage: in a range, by day, by month, by group, and of the events with a property. */
export function usageOperations(
  pool: Pool,
  reads: BatchedReads,
  usage: UsageReader,
  grouped: GroupedUsageReader,
): Operation[] {
  const usageIn = accountUsageIn(pool, reads, usage)
  const monthly = accountMonthlyUsage(pool, reads, usage)
  const daily = accountDailyUsage(pool, reads, usage)
  const monthlyOfAll = namespaceMonthlyUsage(pool, usage)
  const byProperty = usageByProperty(pool, usage)
  return [
    operation(
      'getAccountUsage',
      async ({ caller, params, query, now }) => {
        const asked = { ...usageQueryOf(query), range: rangeOf(query, now) }
        const { account, consumed } = await usageIn(caller.namespaceId, params.account_id, asked)
        return {
          account: accountToBody(account),
          events_consumed: consumed.map(({ source, metric, quantity }) => ({
            ...sourceToBody(source),
            metric_name: metric?.name ?? null,
            measurement_units: metric?.measurementUnits ?? null,
            quantity,
          })),
        }
      },
      { isLong: 'batched' },
    ),
    operation(
      'getAccountMonthlyUsage',
      async ({ caller, params, query }) => {
        const buckets = await monthly(caller.namespaceId, params.account_id, usageQueryOf(query))
        return periodUsageToBody(query.aggregation, buckets)
      },
      { isLong: 'batched' },
    ),
    operation(
      'getAccountDailyUsage',
      async ({ caller, params, query, now }) => {
        const asked = { ...usageQueryOf(query), range: rangeOf(query, now) }
        const buckets = await daily(caller.namespaceId, params.account_id, asked)
        return periodUsageToBody(query.aggregation, buckets)
      },
      { isLong: 'batched' },
    ),
    operation(
      'getMonthlyUsage',
      async ({ caller, query, now }) => {
        const asked = { ...usageQueryOf(query), range: rangeOf(query, now) }
        return periodUsageToBody(query.aggregation, await monthlyOfAll(caller.namespaceId, asked))
      },
      { isLong: 'alone' },
    ),
    operation(
      'aggregateEvents',
      async ({ caller, query, now }) => {
        const { property, value, aggregation } = query
        const range = rangeOf(query, now)
        const asked = { ...usageQueryOf(query), range, property: { name: property, value } }
        const usage = await byProperty(caller.namespaceId, asked)
        return { property, value, aggregation, data: usage.map(sourceUsageToBody) }
      },
      { isLong: 'alone' },
    ),
    getUsage(groupedUsage(requireKnown(pool, reads), usage, grouped)),
  ]
}

/** Usage of one metric or currency, by period and by group. */
const getUsage = (usageIn: GroupedUsageIn): Operation =>
  operation(
    'getUsage',
    async ({ caller, query, signal }) => {
      const asked: GroupedUsageQuery = {
        source: requiredSource(query, 'malformed'),
        range: { startAt: query.start_at, endAt: query.end_at },
        aggregation: query.aggregation,
        accountId: query.account_id,
        period: query.period,
        groupBy: query.group_by,
        property: query.property,
        limit: query.limit,
      }
      return groupedUsageToBody(asked, await usageIn(caller.namespaceId, asked, signal()))
    },
    { isLong: 'alone' },
  )

interface AskedUsage {
  aggregation: Aggregation
  currency?: string
}

const usageQueryOf = ({ aggregation, currency }: AskedUsage): UsageQuery => ({
  aggregation,
  currency: currency?.toLowerCase(),
})

/** The range of a request. The default of start_at is the earliest possible second, the default of end_at is now. */
function rangeOf({ start_at: startAt, end_at: endAt }: AskedRange, now: number): TimeRange {
  return { startAt: startAt ?? earliestSecond(now), endAt: endAt ?? now }
}

interface AskedRange {
  start_at?: number
  end_at?: number
}

const periodUsageToBody = (aggregation: Aggregation, buckets: readonly PeriodBucket[]) => ({
  aggregation,
  data: buckets.map(({ startAt, usage }) => ({
    period_start_at: startAt,
    data: usage.map(sourceUsageToBody),
  })),
})

const sourceUsageToBody = ({ source, quantity }: SourceUsage): SchemaOf<'UsageLine'> => ({
  ...sourceToBody(source),
  quantity,
})
