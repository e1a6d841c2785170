import { readClickHouseConfig } from '../../shared/clickhouse/config.ts'
import { readDataDir, readHost, readPort } from '../../shared/config/common-settings.ts'
import type { EnvReader } from '../../shared/config/env-reader.ts'
import { readEventLogConfig } from '../../shared/event-log/config.ts'
import { LOOK_UP_TIMEOUT_MS, readRequestTimeoutMs } from '../../shared/http/config.ts'
import { readLogLevel } from '../../shared/logging/config.ts'
import { readPostgresConfig } from '../../shared/postgres/core/config.ts'
import { readRateLimitConfig } from '../../shared/rate-limit/config.ts'
import { readRedisConfig } from '../../shared/redis/config.ts'
import { readAdminConfig } from '../../shared/service/admin-config.ts'
import { readAnalystsConfig } from '../analysts/config.ts'
import { readApiConfig } from '../api/config.ts'
import { readGatewayConfig } from '../gateway/config.ts'
import { readLoaderConfig } from '../loader/config.ts'
import { readRefillConfig } from '../refill/config.ts'
import { readRollupConfig } from '../rollup/config.ts'

/** Settings of Tally in one process, and of every service in it. */
export function readStandaloneConfig(read: EnvReader) {
  return {
    host: readHost(read),
    port: readPort(read, 'PORT', 'the port of the HTTP API', 8_080),
    admin: readAdminConfig(read, 9_464),
    dataDir: readDataDir(read),
    analystPort: readPort(read, 'CLICKHOUSE_HTTP_PORT', 'the port where analysts query ClickHouse', 8_123),
    analystHost: read.string('CLICKHOUSE_HTTP_HOST', {
      about:
        'the address CLICKHOUSE_HTTP_PORT is on; passwords travel in the clear unless TLS ends in front of it',
      default: '127.0.0.1',
    }),
    analysts: readAnalystsConfig(read),
    logLevel: readLogLevel(read),
    postgres: readPostgresConfig(read),
    clickhouse: readClickHouseConfig(read),
    eventLog: readEventLogConfig(read),
    redis: readRedisConfig(read),
    rateLimits: readRateLimitConfig(read),
    requestTimeoutMs: readRequestTimeoutMs(read),
    lookUpTimeoutMs: LOOK_UP_TIMEOUT_MS,
    gateway: readGatewayConfig(read),
    loader: readLoaderConfig(read),
    refill: readRefillConfig(read),
    rollup: readRollupConfig(read),
    api: readApiConfig(read),
  }
}

export type StandaloneConfig = ReturnType<typeof readStandaloneConfig>
