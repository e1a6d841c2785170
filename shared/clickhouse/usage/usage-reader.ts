import type { usageAggregateRepository } from './usage-aggregates.ts'

/** Where usage is read for answers and for refills: from the raw events, or through rollups. */
export type UsageReader = ReturnType<typeof usageAggregateRepository>
