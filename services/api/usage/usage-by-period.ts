import type { UsageReader } from '../../../shared/clickhouse/usage/usage-aggregates.ts'
import { type Period, periodStartsIn } from '../../../shared/domain/period.ts'
import { ALL_TIME, type TimeRange } from '../../../shared/domain/time-range.ts'
import { measuresOf } from '../../../shared/domain/usage-aggregate.ts'
import type { BatchedReads } from '../../../shared/postgres/batched-reads.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { getAccount } from '../accounts/get-account.ts'
import { orderSources } from './ordered-sources.ts'
import { type SourceUsage, usageOfSources } from './source-usage.ts'
import { requireFewDays, requireForwards, type UsageQuery } from './usage-query.ts'

/** The usage of one UTC day or month. */
export interface PeriodBucket {
  /** Unix seconds. */
  startAt: number
  usage: SourceUsage[]
}

type AggregatesByPeriod = Awaited<ReturnType<UsageReader['aggregateByPeriod']>>

export type AccountMonthlyUsage = (
  namespaceId: string,
  accountId: string,
  query: UsageQuery,
) => Promise<PeriodBucket[]>

/**
 * All usage of an account by month: a bucket for each month from the first to the last with usage.
 *
 * @throws DomainError not_found when there is no such account
 */
export function accountMonthlyUsage(
  pool: Pool,
  { findAccount }: Pick<BatchedReads, 'findAccount'>,
  usage: UsageReader,
): AccountMonthlyUsage {
  return async (namespaceId, accountId, query) => {
    const selection = {
      accountId,
      range: ALL_TIME,
      source: query.currency,
      measures: measuresOf(query.aggregation),
    }
    const [, byMonth] = await Promise.all([
      getAccount(findAccount, { namespaceId, accountId }),
      usage.aggregateByPeriod(namespaceId, 'month', selection),
    ])
    const months = [...byMonth.keys()]
    const usedIn = { startAt: Math.min(...months), endAt: Math.max(...months) + 1 } // empty if there is no usage
    return bucketsOf(pool, namespaceId, periodStartsIn('month', usedIn), byMonth, query)
  }
}

export type AccountDailyUsage = (
  namespaceId: string,
  accountId: string,
  query: UsageQuery & { range: TimeRange },
) => Promise<PeriodBucket[]>

/**
 * The usage of an account by day: a bucket for each day that overlaps the range, with the usage in the range.
 *
 * @throws DomainError not_found when there is no such account, unprocessable when the range is empty or reversed,
 *   malformed when it is too long
 */
export function accountDailyUsage(
  pool: Pool,
  { findAccount }: Pick<BatchedReads, 'findAccount'>,
  usage: UsageReader,
): AccountDailyUsage {
  return async (namespaceId, accountId, { range, ...query }) => {
    requireForwards(range)
    requireFewDays(range)
    const [, byDay] = await Promise.all([
      getAccount(findAccount, { namespaceId, accountId }),
      usage.aggregateByPeriod(namespaceId, 'day', {
        accountId,
        range,
        source: query.currency,
        measures: measuresOf(query.aggregation),
      }),
    ])
    return bucketsOf(pool, namespaceId, periodStartsIn('day', range), byDay, query)
  }
}

export type NamespaceMonthlyUsage = (
  namespaceId: string,
  query: UsageQuery & { range: TimeRange },
) => Promise<PeriodBucket[]>

/**
 * The usage of all accounts by month: a bucket for each month that overlaps the range, with the usage in the range.
 *
 * @throws DomainError unprocessable when the range is empty or reversed, malformed when it is too long
 */
export function namespaceMonthlyUsage(pool: Pool, usage: UsageReader): NamespaceMonthlyUsage {
  return async (namespaceId, { range, ...query }) => {
    requireForwards(range)
    requireFewDays(range)
    const period: Period = 'month'
    const selection = { range, source: query.currency, measures: measuresOf(query.aggregation) }
    const byMonth = await usage.aggregateByPeriod(namespaceId, period, selection)
    return bucketsOf(pool, namespaceId, periodStartsIn(period, range), byMonth, query)
  }
}

async function bucketsOf(
  pool: Pool,
  namespaceId: string,
  starts: readonly number[],
  byPeriod: AggregatesByPeriod,
  { aggregation }: UsageQuery,
): Promise<PeriodBucket[]> {
  const sources = await orderSources(
    pool,
    namespaceId,
    [...byPeriod.values()].flatMap((aggregates) => [...aggregates.keys()]),
  )
  return starts.map((startAt) => ({
    startAt,
    usage: usageOfSources(sources, byPeriod.get(startAt), aggregation),
  }))
}
