import type { usageAggregateRepository } from '../../shared/clickhouse/usage-aggregates.ts'

/** Where the API reads usage; the raw events today, through rollups once they stand. */
export type UsageReader = ReturnType<typeof usageAggregateRepository>
