import { readClickHouseServerConfig } from '../../shared/clickhouse/config.ts'
import type { EnvReader } from '../../shared/config/env-reader.ts'
import { readCrashAt } from '../../shared/lifecycle/crash-at.ts'
import { readLogLevel } from '../../shared/logging/config.ts'
import { readPostgresServerConfig } from '../../shared/postgres/core/config.ts'
import { readAdminConfig } from '../../shared/service/admin-config.ts'
import { ROLLUP_POINTS } from './crash-points.ts'

/** A statement reads at most five million events, which takes seconds. So a statement that takes this long hangs. */
const QUERY_TIMEOUT_S = 600

/**
 * How long after a rebuild the old rollups are dropped. A reader that began before the rebuild ended may use them for
 * two minutes.
 */
const DROP_AFTER_S = 600

/** Settings of rollups. */
export function readRollupConfig(read: EnvReader) {
  return {
    /** The pause between two rounds, which look for ended slots and late usage. */
    pauseMs: read.tuning('ROLLUP_PAUSE_MS', {
      default: 1_000,
      min: 10,
      max: 60_000,
    }),
    /** The pause between two looks for rows that changed, which analysts see copies of. */
    dimensionsPauseMs: read.tuning('ROLLUP_DIMENSIONS_PAUSE_MS', {
      default: 1_000,
      min: 10,
      max: 60_000,
    }),
    /** How long after its end a slot is computed. Usage that is stored after that is late. */
    graceS: read.tuning('ROLLUP_GRACE_S', {
      default: 10,
      min: 0,
      max: 3_600,
    }),
    /**
     * After this time a pending mark counts as ready, because its loader has fallen silent. It is far more than an
     * insert may take.
     */
    orphanS: read.tuning('ROLLUP_ORPHAN_S', {
      default: 600,
      min: 1,
      max: 86_400,
    }),
    /**
     * How long late usage gathers before its slots are computed again; readers read those slots from the events until
     * then. Fewer rounds save work, and readers notice no difference (docs/experiments.md).
     */
    lateAfterS: read.tuning('ROLLUP_LATE_AFTER_S', {
      default: 10,
      min: 0,
      max: 600,
    }),
    rowsPerS: read.integer('ROLLUP_ROWS_PER_S', {
      about:
        'rows a second that may be read for late usage, besides as many as were read for slots that ended; readers read late slots from the events until then',
      default: 20_000,
      min: 1_000,
      max: 100_000_000,
    }),
    /**
     * Counts of all usage, and the time between two of them. The audit checks only events that are still in the event
     * log, which keeps events for a day unless EVENT_LOG_RETENTION_HOURS says otherwise.
     */
    counting: {
      everyS: read.tuning('ROLLUP_COUNT_EVERY_S', {
        default: 6 * 3_600,
        min: 1,
        max: 86_400,
      }),
      /**
       * Only events that were accepted at least this long ago are counted. If one is not loaded by then, the next count
       * finds it.
       */
      afterS: read.tuning('ROLLUP_COUNT_AFTER_S', {
        default: 3_600,
        min: 0,
        max: 86_400,
      }),
    },
    queryTimeoutS: QUERY_TIMEOUT_S,
    dropAfterS: DROP_AFTER_S,
  }
}

export type RollupConfig = Omit<ReturnType<typeof readRollupConfig>, 'counting' | 'dimensionsPauseMs'>

/** Settings of the rollup service in a process of its own. */
export const readRollupServiceConfig = (read: EnvReader) => ({
  admin: readAdminConfig(read, 9_468),
  logLevel: readLogLevel(read),
  postgres: readPostgresServerConfig(read),
  clickhouse: readClickHouseServerConfig(read),
  rollup: readRollupConfig(read),
  crashAt: readCrashAt(read, ROLLUP_POINTS),
})
