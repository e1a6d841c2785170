import { listLostDataParts } from '../../shared/clickhouse/broken-data-parts.ts'
import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { loggableError } from '../../shared/logging/loggable-error.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'

/** Shows how many broken data parts ClickHouse has detached. A value that cannot be read is not shown. */
export function watchBrokenDataParts(metrics: Metrics, clickhouse: ClickHouse, log: Logger): void {
  const gauge = metrics.gauge(
    'tally_clickhouse_broken_parts',
    'Data parts that ClickHouse could not read and has detached.',
  )
  metrics.beforeScrape(async () => {
    try {
      gauge.set([], (await listLostDataParts(clickhouse)).length)
    } catch (err) {
      gauge.clear()
      log.warn({ err: loggableError(err) }, 'could not read whether ClickHouse has broken data parts')
    }
  })
}
