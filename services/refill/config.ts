import { readClickHouseServerConfig, readConnections } from '../../shared/clickhouse/config.ts'
import type { EnvReader } from '../../shared/config/env-reader.ts'
import { readEventLogConfig } from '../../shared/event-log/config.ts'
import { readCrashAt } from '../../shared/lifecycle/crash-at.ts'
import { readLogLevel } from '../../shared/logging/config.ts'
import { readPostgresServerConfig } from '../../shared/postgres/core/config.ts'
import { readAdminConfig } from '../../shared/service/admin-config.ts'
import { REFILL_POINTS } from './crash-points.ts'

/** Settings of refills. */
export function readRefillConfig(read: EnvReader) {
  const intervalS = read.integer('REFILL_INTERVAL_S', {
    about: 'the shortest time between two refills of a configuration, in seconds of real time',
    default: 10,
    min: 0,
    max: 86_400,
  })
  // The time between two checks of all active configurations. They find changes without usage, such as expired grants.
  const sweepS = read.tuning('REFILL_SWEEP_S', {
    default: 60,
    min: 1,
    max: 86_400,
  })
  // The time between two checks of credit lines for due credit. Their grants are promised within a minute.
  const creditsS = read.tuning('REFILL_CREDITS_S', {
    default: 15,
    min: 1,
    max: 86_400,
  })
  return {
    /** The time between two searches for changed usage. */
    checkMs: read.tuning('REFILL_CHECK_MS', {
      default: 1_000,
      min: 10,
      max: 60_000,
    }),
    sweepMs: sweepS * 1_000,
    creditsMs: creditsS * 1_000,
    intervalMs: intervalS * 1_000,
    perDayMax: read.integer('REFILL_PER_DAY_MAX', {
      about: 'the maximum number of refills of a configuration within 24 hours of real time',
      default: 100,
      min: 1,
      max: 100_000,
    }),
  }
}

export type RefillConfig = ReturnType<typeof readRefillConfig>

const CLICKHOUSE_CONNECTIONS = 6

/** Settings of the refill service in a process of its own. */
export const readRefillServiceConfig = (read: EnvReader) => ({
  admin: readAdminConfig(read, 9_467),
  logLevel: readLogLevel(read),
  postgres: readPostgresServerConfig(read),
  clickhouse: readClickHouseServerConfig(read),
  clickhouseConnections: readConnections(read, CLICKHOUSE_CONNECTIONS),
  eventLog: readEventLogConfig(read),
  refill: readRefillConfig(read),
  crashAt: readCrashAt(read, REFILL_POINTS),
})
