import type { UsageReader } from '../../../shared/clickhouse/usage/usage-aggregates.ts'
import type { TimeRange } from '../../../shared/domain/time-range.ts'
import { measuresOf } from '../../../shared/domain/usage-aggregate.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { orderSources } from './ordered-sources.ts'
import { type SourceUsage, usageOfSources } from './source-usage.ts'
import { requireForwards, type UsageQuery } from './usage-query.ts'

export type UsageByProperty = (
  namespaceId: string,
  query: UsageQuery & { range: TimeRange; property: { name: string; value: string } },
) => Promise<SourceUsage[]>

/**
 * The usage of all accounts in a range, counting only events that have a property with a given value. Sources with
 * usage come in this order: metrics in order of creation, then currencies by code.
 *
 * @throws DomainError unprocessable when the range is empty or reversed
 */
export function usageByProperty(pool: Pool, usage: UsageReader): UsageByProperty {
  return async (namespaceId, { range, property, aggregation, currency }) => {
    requireForwards(range)
    const measures = measuresOf(aggregation)
    const aggregates = await usage.aggregate(namespaceId, { range, source: currency, property, measures })
    const sources = await orderSources(pool, namespaceId, aggregates.keys())
    return usageOfSources(sources, aggregates, aggregation)
  }
}
