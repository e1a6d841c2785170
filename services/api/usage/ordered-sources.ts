import type { Metric } from '../../../shared/domain/metric.ts'
import { isMetric, type UsageSource } from '../../../shared/domain/usage-source.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { metricRepository } from '../../../shared/postgres/metrics.ts'

/** A source of usage. `metric` is undefined for a currency, and for a metric that PostgreSQL does not have. */
interface OrderedSource {
  source: UsageSource
  metric: Metric | undefined
}

/**
 * Sorts sources in the order of all answers: metrics in order of creation, then currencies by code. Metrics that
 * PostgreSQL does not have come between the two, because no answer may leave out usage.
 */
export async function orderSources(
  pool: Pool,
  namespaceId: string,
  sources: Iterable<UsageSource>,
): Promise<OrderedSource[]> {
  const rest = new Set(sources)
  const ids = [...rest].filter(isMetric)
  const metrics =
    ids.length === 0
      ? []
      : await inNamespace(pool, namespaceId, (db) => metricRepository(db).listByIds(namespaceId, ids))
  for (const { id } of metrics) rest.delete(id)
  const unknown = [...rest].filter(isMetric).sort()
  const currencies = [...rest].filter((source) => !isMetric(source)).sort()
  return [
    ...metrics.map((metric) => ({ source: metric.id, metric })),
    ...[...unknown, ...currencies].map((source) => ({ source, metric: undefined })),
  ]
}
