import { listLostDataParts } from '../../shared/clickhouse/broken-data-parts.ts'
import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { loggableError } from '../../shared/logging/loggable-error.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'

/** Shows how many data parts ClickHouse has put aside. A value that cannot be read is not shown. */
export function watchBrokenDataParts(metrics: Metrics, clickhouse: ClickHouse, log: Logger): void {
  const gauge = metrics.gauge(
    'tally_clickhouse_broken_parts',
    'Parts of tables that ClickHouse could not read and has put aside.',
  )
  metrics.beforeScrape(async () => {
    try {
      gauge.set([], (await listLostDataParts(clickhouse)).length)
    } catch (err) {
      gauge.clear()
      log.warn({ err: loggableError(err) }, 'could not see whether parts of ClickHouse are broken')
    }
  })
}
