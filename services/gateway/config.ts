import { readClickHouseServerConfig, readConnections } from '../../shared/clickhouse/config.ts'
import { readHost, readPort } from '../../shared/config/common-settings.ts'
import type { EnvReader } from '../../shared/config/env-reader.ts'
import { readEventLogConfig } from '../../shared/event-log/config.ts'
import { LOOK_UP_TIMEOUT_MS, readRequestTimeoutMs } from '../../shared/http/config.ts'
import { readCrashAt } from '../../shared/lifecycle/crash-at.ts'
import { readLogLevel } from '../../shared/logging/config.ts'
import { readPostgresServerConfig } from '../../shared/postgres/core/config.ts'
import { readRateLimitConfig } from '../../shared/rate-limit/config.ts'
import { readRedisConfig } from '../../shared/redis/config.ts'
import { readAdminConfig } from '../../shared/service/admin-config.ts'
import { GATEWAY_POINTS } from './crash-points.ts'

/** The maximum number of accounts and metrics that are cached as existing. All others are looked up each time. */
const EXISTING_IDS_MAX = 200_000

/** Settings of the gateway. */
export function readGatewayConfig(read: EnvReader) {
  return {
    bodyBytesMax: read.integer('GATEWAY_BODY_BYTES_MAX', {
      about: 'the maximum size of a body of reported usage after decompression, in bytes',
      default: 4 * 1_024 * 1_024,
      min: 1_024,
      max: 64 * 1_024 * 1_024,
    }),
    existingIdsMax: EXISTING_IDS_MAX,
    /**
     * How long a gateway takes reports without PostgreSQL, and how long the list of events waits after a crash of a
     * gateway. The default is enough for a failover of PostgreSQL.
     */
    unrenewedMaxMs:
      1_000 *
      read.tuning('GATEWAY_WITHOUT_POSTGRES_MAX_S', {
        default: 60,
        min: 2,
        max: 3_600,
      }),
    /**
     * How long a time server may take to set a wrong clock. chrony and systemd-timesyncd take seconds once they reach a
     * time server, ntpd a minute or two.
     */
    clockSettlesMs:
      1_000 *
      read.tuning('GATEWAY_CLOCK_SETTLES_S', {
        default: 180,
        min: 0,
        max: 3_600,
      }),
  }
}

/** Connections for looking up the events of corrections. */
const CLICKHOUSE_CONNECTIONS = 4

/** Settings of the gateway in a process of its own. */
export const readGatewayServiceConfig = (read: EnvReader) => ({
  host: readHost(read),
  port: readPort(read, 'PORT', 'the port of the HTTP API', 8_081),
  admin: readAdminConfig(read, 9_465),
  logLevel: readLogLevel(read),
  postgres: readPostgresServerConfig(read),
  clickhouse: readClickHouseServerConfig(read),
  clickhouseConnections: readConnections(read, CLICKHOUSE_CONNECTIONS),
  eventLog: readEventLogConfig(read),
  redis: readRedisConfig(read),
  rateLimits: readRateLimitConfig(read),
  requestTimeoutMs: readRequestTimeoutMs(read),
  lookUpTimeoutMs: LOOK_UP_TIMEOUT_MS,
  gateway: readGatewayConfig(read),
  crashAt: readCrashAt(read, GATEWAY_POINTS),
})
