import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { buildEpoch } from '../../shared/clickhouse/rollups/build-epoch.ts'
import { dirtySlotRepository } from '../../shared/clickhouse/rollups/dirty-slots.ts'
import { inUse, rollupEpochRepository } from '../../shared/clickhouse/rollups/rollup-epochs.ts'
import { rollupTables } from '../../shared/clickhouse/rollups/rollup-tables.ts'
import type { LatestSums } from '../../shared/clickhouse/usage/latest-sums.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import { loggableError } from '../../shared/logging/loggable-error.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { isElsewhere, REBUILD, runExclusively } from '../../shared/postgres/locks/run-exclusively.ts'
import type { readRollupConfig } from './config.ts'
import { usageCounter } from './count-usage.ts'
import type { RollupPoint } from './crash-points.ts'
import { keepRollups, type RollupKeeper } from './keep-rollups.ts'
import { rollupMetrics } from './rollup-metrics.ts'

/** The log message when the rollup service has been failing for too long. */
export const ROLLUP_TROUBLE = 'rollups are not kept up to date: answers stay exact, and become slower'

/**
 * One connection for the lock of the first build, one for counts, one for probes, one for noting up to when usage is
 * complete, two for views of analysts, and two for the copies of dimension tables and for the rating of contracts: one
 * of each two holds a lock.
 */
export const ROLLUP_CONNECTIONS = 10

/** How long after a start the first count begins. It waits because the start itself has much to do. */
const COUNT_FIRST_MS = 60_000

export interface RollupParts {
  pool: Pool
  clickhouse: ClickHouse
  /** The sums that readers in this process cache; undefined when readers are in other processes. */
  latestSums?: Pick<LatestSums, 'useEpoch'> | undefined
  metrics: Metrics
  log: Logger
  /** Called at each crash point. */
  reached?: Reached<RollupPoint>
}

/** Starts the rollups and the count of usage, in a process of their own or in a shared one. */
export function openRollup(
  { pool, clickhouse, latestSums, metrics, reached = () => undefined, ...parts }: RollupParts,
  config: ReturnType<typeof readRollupConfig>,
): RollupKeeper {
  const log = parts.log.child({ part: 'rollup' })
  const epochs = rollupEpochRepository(clickhouse)
  const tables = rollupTables(clickhouse, config.queryTimeoutS)
  const dirty = dirtySlotRepository(clickhouse)
  const build = async (signal: AbortSignal) => {
    try {
      await runExclusively(pool, REBUILD, async () => {
        if (inUse(await epochs.list()) !== undefined) return
        const onUnmerged = (err: unknown) => {
          if (!signal.aborted)
            log.warn(
              { err: loggableError(err) },
              'could not merge days and months into one part per partition: reads are exact, but slower until ClickHouse merges them',
            )
        }
        const parts = { client: clickhouse, epochs, tables, reached, signal, onUnmerged }
        const epoch = await buildEpoch(parts, config.graceS)
        log.info({ epoch }, 'built the first rollups')
      })
    } catch (err) {
      if (!isElsewhere(err)) throw err // another process builds them
    }
  }
  const counter = usageCounter(
    { pool, clickhouse, metrics, log },
    { ...config.counting, firstAfterMs: Math.min(COUNT_FIRST_MS, config.counting.everyS * 1_000) },
  )
  return keepRollups(
    { epochs, tables, dirty, build, counter, latestSums, reached, metrics: rollupMetrics(metrics), log },
    config,
  )
}
