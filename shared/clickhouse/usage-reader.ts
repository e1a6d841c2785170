import type { usageAggregateRepository } from './usage-aggregates.ts'

/** Where usage is read for answers and for refills; the raw events today, through rollups once they stand. */
export type UsageReader = ReturnType<typeof usageAggregateRepository>
