import { readClickHouseServerConfig } from '../../shared/clickhouse/config.ts'
import type { EnvReader } from '../../shared/config/env-reader.ts'
import { readEventLogConfig } from '../../shared/event-log/config.ts'
import { readCrashAt } from '../../shared/lifecycle/crash-at.ts'
import { readLogLevel } from '../../shared/logging/config.ts'
import { readPostgresServerConfig } from '../../shared/postgres/core/config.ts'
import { readAdminConfig } from '../../shared/service/admin-config.ts'
import { LOADER_POINTS } from './crash-points.ts'

/** How large batches grow while there is a backlog. */
interface BatchSize {
  rows: number
  bytes: number
}

/** For a loader in one process with others, which wait while a batch is stored. */
const BESIDE_OTHERS: BatchSize = { rows: 50_000, bytes: 32_000_000 }
/** For a loader in its own process; a larger batch costs less per row (docs/experiments.md). */
const BY_ITSELF: BatchSize = { rows: 100_000, bytes: 64_000_000 }

/** Settings of the loader. */
export function readLoaderConfig(read: EnvReader, { rows, bytes } = BESIDE_OTHERS) {
  // How long the loader may fail without a break before /readyz says so: longer than a restart of ClickHouse takes.
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
     * Usage that is stored less than this long before its slot ends is treated like late usage, as an insert takes a
     * while.
     */
    lateMarginS: read.tuning('LOADER_LATE_MARGIN_S', {
      default: 15,
      min: 0,
      max: 3_600,
    }),
    /**
     * A batch is stored when its first row is this old and the previous batch is stored. A shorter time makes more data
     * parts; a longer one costs freshness.
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
