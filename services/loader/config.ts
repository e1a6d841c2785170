import { readClickHouseServerConfig } from '../../shared/clickhouse/config.ts'
import type { EnvReader } from '../../shared/config/env-reader.ts'
import { readEventLogConfig } from '../../shared/event-log/config.ts'
import { readCrashAt } from '../../shared/lifecycle/crash-at.ts'
import { readLogLevel } from '../../shared/logging/config.ts'
import { readPostgresServerConfig } from '../../shared/postgres/core/config.ts'
import { readAdminConfig } from '../../shared/service/admin-config.ts'
import { LOADER_POINTS } from './crash-points.ts'

/** The maximum size of a batch; batches reach it while there is a backlog. */
interface BatchSize {
  rows: number
  bytes: number
}

/** For a loader that shares its process with other services. These wait while a batch is stored. */
const BESIDE_OTHERS: BatchSize = { rows: 50_000, bytes: 32_000_000 }
/** For a loader in its own process. A larger batch costs less per row (docs/experiments.md). */
const BY_ITSELF: BatchSize = { rows: 100_000, bytes: 64_000_000 }

/** Settings of the loader. */
export function readLoaderConfig(read: EnvReader, { rows, bytes } = BESIDE_OTHERS) {
  // How long the loader may fail without a break before /readyz reports it. A restart of ClickHouse takes less.
  const failingMaxS = read.tuning('LOADER_FAILING_MAX_S', {
    default: 30,
    min: 1,
    max: 86_400,
  })
  return {
    failingMaxMs: failingMaxS * 1_000,
    batchRowsMax: read.tuning('LOADER_BATCH_ROWS_MAX', {
      default: rows,
      min: 1,
      max: 1_000_000,
    }),
    batchBytesMax: read.tuning('LOADER_BATCH_BYTES_MAX', {
      default: bytes,
      min: 1_000_000,
      max: 256_000_000,
    }),
    /**
     * Usage that is stored less than this long before its slot ends is treated like late usage, because an insert takes
     * some time.
     */
    lateMarginS: read.tuning('LOADER_LATE_MARGIN_S', {
      default: 15,
      min: 0,
      max: 3_600,
    }),
    /**
     * A batch is stored when its first row is this old and the previous batch is stored. A shorter time makes more data
     * parts. With a longer time, usage is counted later.
     */
    flushMs: read.tuning('LOADER_FLUSH_MS', {
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
  loader: readLoaderConfig(read, BY_ITSELF),
  crashAt: readCrashAt(read, LOADER_POINTS),
})
