import type { Client } from '../client.ts'
import type { ReadPath, Schema } from '../contract.ts'
import { type Reading, reading, RESOURCE_MS } from './reading.ts'

export const metricReading = (client: Client, id: string): Reading<Schema<'Metric'>> =>
  reading(client, '/v2/metrics/{metric_id}', { metric_id: id }, {}, { staleMs: RESOURCE_MS })

/** What changes with a metric. */
export const METRIC_CHANGES = [
  '/v2/metrics',
  '/v2/metrics/{metric_id}',
] as const satisfies readonly ReadPath[]
