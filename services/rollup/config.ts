import { readClickHouseServerConfig } from '../../shared/clickhouse/config.ts'
import type { EnvReader } from '../../shared/config/env-reader.ts'
import { readEventLogConfig } from '../../shared/event-log/config.ts'
import { readCrashAt } from '../../shared/lifecycle/crash-at.ts'
import { readLogLevel } from '../../shared/logging/config.ts'
import { readPostgresServerConfig } from '../../shared/postgres/core/config.ts'
import { readAdminConfig } from '../../shared/service/admin-config.ts'
import { ROLLUP_POINTS } from './crash-points.ts'

/** A statement that takes this long hangs, because it reads at most five million events, which takes seconds. */
const QUERY_TIMEOUT_S = 600

/**
 * How long after a rebuild the old rollups are dropped. A reader that began before the rebuild ended may use the old
 * rollups for two more minutes.
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
    /** The pause between two looks for changed rows, which are copied for analysts. */
    dimensionsPauseMs: read.tuning('ROLLUP_DIMENSIONS_PAUSE_MS', {
      default: 1_000,
      min: 10,
      max: 60_000,
    }),
    /** How long after its end a slot is computed. Usage that is stored later is late. */
    graceS: read.tuning('ROLLUP_GRACE_S', {
      default: 10,
      min: 0,
      max: 3_600,
    }),
    /**
     * After this time a pending mark counts as ready, because its loader has fallen silent. An insert never takes that
     * long.
     */
    orphanS: read.tuning('ROLLUP_ORPHAN_S', {
      default: 600,
      min: 1,
      max: 86_400,
    }),
    /**
     * How long late usage is collected before its slots are computed again. Until then, readers take these slots from
     * the events. Fewer rounds save work, and readers notice no difference (docs/experiments.md).
     */
    lateAfterS: read.tuning('ROLLUP_LATE_AFTER_S', {
      default: 10,
      min: 0,
      max: 600,
    }),
    rowsPerS: read.integer('ROLLUP_ROWS_PER_S', {
      about:
        'rows per second to read for late usage, plus as many as were read to close slots; readers take late slots from the events until those are recomputed',
      default: 20_000,
      min: 1_000,
      max: 100_000_000,
    }),
    /**
     * Settings of the counts of all usage. Counts are needed because the audit checks only events that are still in the
     * event log. The log keeps events for a day unless EVENT_LOG_RETENTION_HOURS says otherwise.
     */
    counting: {
      everyS: read.tuning('ROLLUP_COUNT_EVERY_S', {
        default: 6 * 3_600,
        min: 1,
        max: 86_400,
      }),
      /**
       * Only events that were accepted at least this long ago are counted. If an event is not loaded by then, the next
       * count includes it.
       */
      afterS: read.tuning('ROLLUP_COUNT_AFTER_S', {
        default: 3_600,
        min: 0,
        max: 86_400,
      }),
    },
    ratingEveryS: read.integer('ROLLUP_RATE_EVERY_S', {
      about:
        'seconds between two ratings of contracts for the view rated_usage, counted from 00:10 UTC; each takes some 0.1 s of processor time for a contract',
      default: 86_400,
      min: 1,
      max: 86_400,
    }),
    queryTimeoutS: QUERY_TIMEOUT_S,
    dropAfterS: DROP_AFTER_S,
  }
}

export type RollupConfig = Omit<
  ReturnType<typeof readRollupConfig>,
  'counting' | 'dimensionsPauseMs' | 'ratingEveryS'
>

/** Settings of the rollup service in a process of its own. */
export const readRollupServiceConfig = (read: EnvReader) => ({
  admin: readAdminConfig(read, 9_468),
  logLevel: readLogLevel(read),
  postgres: readPostgresServerConfig(read),
  clickhouse: readClickHouseServerConfig(read),
  eventLog: readEventLogConfig(read),
  rollup: readRollupConfig(read),
  crashAt: readCrashAt(read, ROLLUP_POINTS),
})
