import { readAdminConfig } from '../../shared/admin/config.ts'
import { LOADER_CONNECTIONS, readClickHouseServerConfig } from '../../shared/clickhouse/config.ts'
import type { EnvReader } from '../../shared/config/env-reader.ts'
import { readEventLogConfig } from '../../shared/event-log/config.ts'
import { readCrashAt } from '../../shared/lifecycle/crash-at.ts'
import { readLogLevel } from '../../shared/logging/config.ts'
import { readPostgresServerConfig } from '../../shared/postgres/config.ts'
import { LOADER_POINTS } from './crash-points.ts'

/**
 * Settings of the loader.
 *
 * @param batchesAtOnce unless it is set: the second one takes what the first leaves of a machine, which is more than it needs where
 *   others are in the same process
 */
export function readLoaderConfig(read: EnvReader, batchesAtOnce = 1) {
  const failingMaxS = read.integer('LOADER_FAILING_MAX_S', {
    about: 'seconds the loader may fail without a break before /readyz says so',
    default: 30,
    min: 1,
    max: 86_400,
  })
  return {
    failingMaxMs: failingMaxS * 1_000,
    batchRowsMax: read.integer('LOADER_BATCH_ROWS_MAX', {
      about: 'rows after which a batch is stored',
      default: 50_000,
      min: 1,
      max: 1_000_000,
    }),
    batchBytesMax: read.integer('LOADER_BATCH_BYTES_MAX', {
      about: 'bytes after which a batch is stored',
      default: 32_000_000,
      min: 1_000_000,
      max: 256_000_000,
    }),
    batchesAtOnce: read.integer('LOADER_BATCHES_AT_ONCE', {
      about: 'batches that are stored side by side while there is a backlog',
      default: batchesAtOnce,
      min: 1,
      max: LOADER_CONNECTIONS,
    }),
    lateMarginS: read.integer('LOADER_LATE_MARGIN_S', {
      about: 'seconds before the end of its time slot from which on usage is stored as late usage is',
      default: 15,
      min: 0,
      max: 3_600,
    }),
    flushMs: read.integer('LOADER_FLUSH_MS', {
      about: 'milliseconds after its first row at which a batch is stored, once the batch before it is',
      default: 250,
      min: 1,
      max: 60_000,
    }),
  }
}

/** Settings of the loader in a process of its own. */
export const readLoaderServiceConfig = (read: EnvReader) => ({
  admin: readAdminConfig(read, 9_466),
  logLevel: readLogLevel(read),
  postgres: readPostgresServerConfig(read),
  clickhouse: readClickHouseServerConfig(read),
  eventLog: readEventLogConfig(read),
  loader: readLoaderConfig(read, LOADER_CONNECTIONS),
  crashAt: readCrashAt(read, LOADER_POINTS),
})
