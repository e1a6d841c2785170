import type { Request, RequestHandler } from 'express'
import { earliestSecond } from '../../../shared/domain/period.ts'
import type { TimeRange } from '../../../shared/domain/time-range.ts'
import type { Aggregation } from '../../../shared/domain/usage-aggregate.ts'
import { callerOf } from '../../../shared/http/authentication.ts'
import { nowOf } from '../../../shared/http/enter-world.ts'
import { sourceToBody } from '../../../shared/http/event-body.ts'
import {
  accountDailyUsage,
  accountMonthlyUsage,
  namespaceMonthlyUsage,
  type AccountDailyUsage,
  type AccountMonthlyUsage,
  type NamespaceMonthlyUsage,
  type PeriodBucket,
} from './usage-by-period.ts'
import { usageByProperty, type UsageByProperty } from './usage-by-property.ts'
import type { UsageLine } from './usage-lines.ts'
import type { UsageQuery } from './usage-query.ts'
import type { Handlers } from '../../../shared/http/operations-app.ts'
import type { BatchedReads } from '../../../shared/postgres/batched-reads.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import type { UsageReader } from '../../../shared/clickhouse/usage/usage-aggregates.ts'
import { longHandlerOf } from '../core/handler-of.ts'
import { accountToBody } from '../accounts/body.ts'
import { accountUsageIn, type AccountUsageIn } from './account-usage.ts'

/** What was used: in a range, by day and month, and of what has a property. */
export const usageHandlers = (pool: Pool, reads: BatchedReads, usage: UsageReader): Handlers => ({
  getAccountUsage: longHandlerOf('batched', getAccountUsage(accountUsageIn(pool, reads, usage))),
  getAccountMonthlyUsage: longHandlerOf(
    'batched',
    getAccountMonthlyUsage(accountMonthlyUsage(pool, reads, usage)),
  ),
  getAccountDailyUsage: longHandlerOf('batched', getAccountDailyUsage(accountDailyUsage(pool, reads, usage))),
  getMonthlyUsage: longHandlerOf('alone', getNamespaceMonthlyUsage(namespaceMonthlyUsage(pool, usage))),
  aggregateEvents: longHandlerOf('alone', getEventAggregate(usageByProperty(pool, usage))),
})

function getAccountMonthlyUsage(monthly: AccountMonthlyUsage): RequestHandler<{ account_id: string }> {
  return async (req, res) => {
    const query = usageQueryOf(req)
    const buckets = await monthly(callerOf(res).namespaceId, req.params.account_id, query)
    res.json(periodUsageToBody(query.aggregation, buckets))
  }
}

function getAccountDailyUsage(daily: AccountDailyUsage): RequestHandler<{ account_id: string }> {
  return async (req, res) => {
    const query = { ...usageQueryOf(req), range: rangeOf(req, nowOf(res)) }
    const buckets = await daily(callerOf(res).namespaceId, req.params.account_id, query)
    res.json(periodUsageToBody(query.aggregation, buckets))
  }
}

function getNamespaceMonthlyUsage(monthly: NamespaceMonthlyUsage): RequestHandler {
  return async (req, res) => {
    const query = { ...usageQueryOf(req), range: rangeOf(req, nowOf(res)) }
    const buckets = await monthly(callerOf(res).namespaceId, query)
    res.json(periodUsageToBody(query.aggregation, buckets))
  }
}

function getEventAggregate(byProperty: UsageByProperty): RequestHandler {
  return async (req, res) => {
    const { property: name, value } = req.query as unknown as { property: string; value: string }
    const query = { ...usageQueryOf(req), range: rangeOf(req, nowOf(res)), property: { name, value } }
    const lines = await byProperty(callerOf(res).namespaceId, query)
    res.json({ property: name, value, aggregation: query.aggregation, data: lines.map(lineToBody) })
  }
}

/** The validator has checked it and filled in the default aggregation. */
function usageQueryOf({ query }: Pick<Request, 'query'>): UsageQuery {
  const { aggregation, currency } = query as unknown as { aggregation: Aggregation; currency?: string }
  return { aggregation, currency: currency?.toLowerCase() }
}

/** The range a request asks for; where it may be left out, all that usage may lie in until now. */
function rangeOf({ query }: Pick<Request, 'query'>, now: Date): TimeRange {
  const { start_at: startAt, end_at: endAt } = query as unknown as { start_at?: number; end_at?: number }
  const second = Math.floor(now.getTime() / 1_000)
  return { startAt: startAt ?? earliestSecond(second), endAt: endAt ?? second }
}

const periodUsageToBody = (aggregation: Aggregation, buckets: readonly PeriodBucket[]) => ({
  aggregation,
  data: buckets.map(({ startAt, lines }) => ({ period_start_at: startAt, data: lines.map(lineToBody) })),
})

const lineToBody = ({ source, quantity }: UsageLine) => ({ ...sourceToBody(source), quantity })

function getAccountUsage(usageIn: AccountUsageIn): RequestHandler<{ account_id: string }> {
  return async (req, res) => {
    const query = { ...usageQueryOf(req), range: rangeOf(req, nowOf(res)) }
    const { account, consumed } = await usageIn(callerOf(res).namespaceId, req.params.account_id, query)
    res.json({
      account: accountToBody(account),
      events_consumed: consumed.map(({ source, metric, quantity }) => ({
        ...sourceToBody(source),
        metric_name: metric?.name ?? null,
        measurement_units: metric?.measurementUnits ?? null,
        quantity,
      })),
    })
  }
}
