import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { usageEventRepository } from '../../shared/clickhouse/usage-events.ts'
import { LOADER_GROUP, USAGE_TOPIC, type EventLog } from '../../shared/event-log/event-log.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { deadLetterRepository } from '../../shared/postgres/dead-letters.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'
import { watchLag } from '../../shared/metrics/watch-lag.ts'
import type { Pool } from '../../shared/postgres/pool.ts'
import type { readLoaderConfig } from './config.ts'
import { loadUsage, type Loader } from './load-usage.ts'
import { loaderMetrics } from './loader-metrics.ts'

export interface LoaderParts {
  /** Where dead letters go. */
  pool: Pool
  clickhouse: ClickHouse
  eventLog: EventLog
  metrics: Metrics
  log: Logger
}

/** Starts the loader on its engines, for a process of its own or one with others. */
export async function openLoader(
  { pool, clickhouse, eventLog, metrics, log }: LoaderParts,
  config: ReturnType<typeof readLoaderConfig>,
): Promise<Loader> {
  watchLag(metrics, eventLog, log)
  const usage = usageEventRepository(clickhouse)
  const deadLetters = deadLetterRepository(pool)
  return loadUsage(
    {
      consumer: await eventLog.join(LOADER_GROUP),
      insertLines: (lines) => usage.insertLines(lines),
      bury: ({ partition, offset, line, bytes }, reason) =>
        deadLetters.insert({ topic: USAGE_TOPIC, partition, offset, line, reason, value: bytes }),
      metrics: loaderMetrics(metrics),
      log: log.child({ part: 'loader' }),
    },
    config,
  )
}
