import { readAdminConfig } from '../../shared/admin/config.ts'
import { readClickHouseServerConfig } from '../../shared/clickhouse/config.ts'
import type { EnvReader } from '../../shared/config/env-reader.ts'
import { readCrashAt } from '../../shared/lifecycle/crash-at.ts'
import { readLogLevel } from '../../shared/logging/config.ts'
import { readPostgresServerConfig } from '../../shared/postgres/config.ts'
import { ROLLUP_POINTS } from './crash-points.ts'

/** Settings of rollups. */
export function readRollupConfig(read: EnvReader) {
  return {
    pauseMs: read.integer('ROLLUP_PAUSE_MS', {
      about: 'milliseconds between two looks for slots that ended and for late usage',
      default: 1_000,
      min: 10,
      max: 60_000,
    }),
    graceS: read.integer('ROLLUP_GRACE_S', {
      about: 'seconds after its end at which a time slot is computed; usage that is stored later is late',
      default: 10,
      min: 0,
      max: 3_600,
    }),
    orphanS: read.integer('ROLLUP_ORPHAN_S', {
      about:
        'seconds after which late usage whose loader fell silent is taken as stored; more than an insert of a batch may take',
      default: 600,
      min: 1,
      max: 86_400,
    }),
    lateAfterS: read.integer('ROLLUP_LATE_AFTER_S', {
      about:
        'seconds for which late usage gathers before its time slots are computed again; readers read them from the events until then',
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
    queryTimeoutS: read.integer('ROLLUP_QUERY_TIMEOUT_S', {
      about: 'seconds one statement that computes rollups may take',
      default: 600,
      min: 1,
      max: 86_400,
    }),
    dropAfterS: read.integer('ROLLUP_DROP_AFTER_S', {
      about:
        'seconds after a rebuild at which the rollups before it are dropped; readers that began before it may read them for two minutes',
      default: 600,
      min: 180,
      max: 86_400,
    }),
  }
}

export type RollupConfig = ReturnType<typeof readRollupConfig>

/** Settings of the rollup service in a process of its own. */
export const readRollupServiceConfig = (read: EnvReader) => ({
  admin: readAdminConfig(read, 9_468),
  logLevel: readLogLevel(read),
  postgres: readPostgresServerConfig(read),
  clickhouse: readClickHouseServerConfig(read),
  rollup: readRollupConfig(read),
  crashAt: readCrashAt(read, ROLLUP_POINTS),
})
