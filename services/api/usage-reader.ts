import type { usageEventRepository } from '../../shared/clickhouse/usage-events.ts'

/** Where the API reads usage; the raw events today, through rollups once they stand. */
export type UsageReader = Pick<ReturnType<typeof usageEventRepository>, 'aggregateByAccount'>
