import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { dimensionRepository } from '../../shared/clickhouse/dimensions.ts'
import { Activity, type Trouble } from '../../shared/lifecycle/activity.ts'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import { repeat } from '../../shared/lifecycle/repeat.ts'
import { loggableError } from '../../shared/logging/loggable-error.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { dimensionChangeRepository } from '../../shared/postgres/dimension-changes.ts'
import { isElsewhere, runExclusively } from '../../shared/postgres/locks/run-exclusively.ts'
import { dimensionCopier } from './copy-dimensions.ts'
import type { RollupPoint } from './crash-points.ts'

export interface KeepDimensionsDeps {
  pool: Pool
  clickhouse: ClickHouse
  metrics: Metrics
  log: Logger
  /** Called at each crash point. */
  reached?: Reached<RollupPoint>
}

/** Copies dimension tables until it is closed. */
export interface DimensionKeeper extends Closeable {
  /** The work that has failed for at least this long without a break. */
  listTroubles(forMs: number): Trouble[]
}

/**
 * Copies rows from PostgreSQL to ClickHouse that analysts' views read in addition to usage. It works in rounds. Several
 * processes may do this at the same time.
 */
export function keepDimensions(
  { pool, clickhouse, metrics, reached = () => undefined, ...parts }: KeepDimensionsDeps,
  pauseMs: number,
): DimensionKeeper {
  const log = parts.log.child({ part: 'dimensions' })
  const { copied, failed } = dimensionMetrics(metrics)
  const round = dimensionCopier({
    changes: dimensionChangeRepository(pool),
    copies: dimensionRepository(clickhouse),
    alone: (work) => runExclusively(pool, 'the emptying of dimension tables', work),
    onRefill: (position, to) => {
      log.error(
        { position, reached: to },
        'PostgreSQL has gone back to an earlier state than ClickHouse has copied: copying every row again',
      )
    },
    reached,
  })
  const copying = new Activity('copying dimension tables')
  let isFailing = false
  const copy = async (signal: AbortSignal) => {
    copied(await copying.attempt(() => round(signal)))
    isFailing = false
  }
  const onFailure = (err: unknown, signal: AbortSignal) => {
    if (signal.aborted || isElsewhere(err)) return
    failed()
    log[isFailing ? 'debug' : 'warn'](
      { err: loggableError(err) },
      'could not copy dimension tables, trying again',
    )
    isFailing = true
  }
  return {
    ...repeat('dimensions', pauseMs, copy, onFailure, 0),
    listTroubles: (forMs) => [copying.findTrouble(forMs)].filter((trouble) => trouble !== undefined),
  }
}

function dimensionMetrics(metrics: Metrics) {
  const rows = metrics.counter(
    'tally_dimension_rows_total',
    'Rows of PostgreSQL that were copied to ClickHouse for analysts.',
  )()
  const failures = metrics.counter(
    'tally_dimension_failures_total',
    'Attempts to copy rows that failed and are repeated.',
  )()
  const behind = metrics.gauge(
    'tally_dimension_behind_seconds',
    'How long ago everything was copied for analysts that had been committed.',
  )
  let completeAt: number | undefined
  metrics.beforeScrape(() => {
    if (completeAt !== undefined) behind.set([], (performance.now() - completeAt) / 1_000)
  })
  return {
    copied: ({ rows: count, isComplete }: { rows: number; isComplete: boolean }) => {
      if (count > 0) rows(count)
      if (isComplete) completeAt = performance.now()
    },
    failed: () => {
      failures()
    },
  }
}
