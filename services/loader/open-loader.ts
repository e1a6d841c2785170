import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { usageEventRepository } from '../../shared/clickhouse/events/usage-events.ts'
import { dirtySlotRepository } from '../../shared/clickhouse/rollups/dirty-slots.ts'
import { rollupEpochRepository } from '../../shared/clickhouse/rollups/rollup-epochs.ts'
import type { LatestSums } from '../../shared/clickhouse/usage/latest-sums.ts'
import { type EventLog, LOADER_GROUP } from '../../shared/event-log/event-log.ts'
import type { DeadLetterTopic } from '../../shared/event-log/kafka/dead-letter-topic.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { deadLetterRepository } from '../../shared/postgres/dead-letters.ts'
import type { readLoaderConfig } from './config.ts'
import type { LoaderPoint } from './crash-points.ts'
import { type Loader, loadUsage } from './load-usage.ts'
import { loaderMetrics } from './loader-metrics.ts'
import { markLate } from './mark-late.ts'
import { watchBrokenDataParts } from './watch-broken-data-parts.ts'
import { watchLag } from './watch-lag.ts'

export interface LoaderParts {
  /** The dead letters are stored here. */
  pool: Pool
  clickhouse: ClickHouse
  eventLog: EventLog
  /** Publishes dead letters, when the event log is Kafka. */
  deadLetterTopic: Pick<DeadLetterTopic, 'publish'> | undefined
  /** Runs each write of usage, if readers in this process use cached sums. */
  latestSums?: Pick<LatestSums, 'whileStoring'> | undefined
  metrics: Metrics
  log: Logger
  /** @see LoadUsageDeps.hasRoom */
  hasRoom?: (() => boolean) | undefined
  /** Called at each crash point. */
  reached?: Reached<LoaderPoint>
}

/** The message of /readyz and the log when the loader fails for too long. */
export const LOADER_TROUBLE = 'the loader makes no progress'

/** Starts the loader on its engines, in a process of its own or a shared one. */
export async function openLoader(
  parts: LoaderParts,
  config: ReturnType<typeof readLoaderConfig>,
): Promise<Loader> {
  const {
    pool,
    clickhouse,
    eventLog,
    deadLetterTopic,
    latestSums,
    metrics,
    log,
    hasRoom = () => true,
    reached = () => undefined,
  } = parts
  watchLag(metrics, eventLog, log)
  watchBrokenDataParts(metrics, clickhouse, log)
  const usage = usageEventRepository(clickhouse)
  const deadLetters = deadLetterRepository(pool)
  return loadUsage(
    {
      consumer: await eventLog.join(LOADER_GROUP),
      storeLines: markLate(
        {
          epochs: rollupEpochRepository(clickhouse),
          dirty: dirtySlotRepository(clickhouse),
          insertLines: usage.insertLines,
          reached,
          latestSums,
        },
        config.lateMarginS,
      ),
      async deadLetter({ partition, offset, line, bytes: value }, reason) {
        const letter = { partition, offset, line, reason, value }
        await deadLetters.insert({ topic: eventLog.id, ...letter })
        await deadLetterTopic?.publish(letter)
      },
      metrics: loaderMetrics(metrics),
      log: log.child({ part: 'loader' }),
      hasRoom,
      reached,
    },
    config,
  )
}
