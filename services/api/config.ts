import { readAdminConfig } from '../../shared/admin/config.ts'
import { readClickHouseServerConfig, readConnections } from '../../shared/clickhouse/config.ts'
import { REMEMBERED_MAX } from '../../shared/clickhouse/rollups/closed-sums.ts'
import type { EnvReader } from '../../shared/config/env-reader.ts'
import { readHost, readPort } from '../../shared/config/places.ts'
import { readEventLogConfig } from '../../shared/event-log/config.ts'
import { readLookUpTimeoutMs, readRequestTimeoutMs } from '../../shared/http/config.ts'
import { readLogLevel } from '../../shared/logging/config.ts'
import { readConnectionsMax, readPostgresServerConfig } from '../../shared/postgres/config.ts'
import { readRateLimitConfig } from '../../shared/rate-limit/config.ts'
import { readRedisConfig } from '../../shared/redis/config.ts'

/** Settings of the API. */
export function readApiConfig(read: EnvReader) {
  return {
    bodyBytesMax: read.integer('API_BODY_BYTES_MAX', {
      about: 'bytes any other body may have once inflated',
      default: 256 * 1_024,
      min: 1_024,
      max: 16 * 1_024 * 1_024,
    }),
    emptyEveryMs:
      1_000 *
      read.integer('API_EMPTY_RESET_EVERY_S', {
        about:
          'seconds between two looks for what test companies left behind when they were reset, to delete it',
        default: 60,
        min: 1,
        max: 86_400,
      }),
    warming: {
      accountsMax: read.integer('API_WARM_ACCOUNTS', {
        about:
          'accounts whose usage is read ahead, so that their first balance is quick: of those with usage in the last day the ones with most events; 0: none',
        default: 20_000,
        min: 0,
        max: REMEMBERED_MAX,
      }),
      everyMs:
        1_000 *
        read.integer('API_WARM_EVERY_S', {
          about: 'seconds between two rounds of reading ahead',
          default: 150,
          min: 1,
          max: 86_400,
        }),
    },
  }
}

const CLICKHOUSE_CONNECTIONS = 10

/** Settings of the API in a process of its own. */
export const readApiServiceConfig = (read: EnvReader) => ({
  host: readHost(read),
  port: readPort(read, 'PORT', 'the port of the HTTP API', 8_080),
  admin: readAdminConfig(read, 9_464),
  logLevel: readLogLevel(read),
  postgres: readPostgresServerConfig(read),
  connectionsMax: readConnectionsMax(read),
  clickhouse: readClickHouseServerConfig(read),
  clickhouseConnections: readConnections(read, CLICKHOUSE_CONNECTIONS),
  eventLog: readEventLogConfig(read),
  redis: readRedisConfig(read),
  rateLimits: readRateLimitConfig(read),
  requestTimeoutMs: readRequestTimeoutMs(read),
  lookUpTimeoutMs: readLookUpTimeoutMs(read),
  api: readApiConfig(read),
})
