import type { EnvReader } from '../../shared/config/env-reader.ts'
import { readDataDir, readPort } from '../../shared/config/places.ts'
import { readClickHouseConfig } from '../../shared/clickhouse/config.ts'
import { readAnalystsConfig } from '../../shared/clickhouse/http-endpoint/config.ts'
import { readEventLogConfig } from '../../shared/event-log/config.ts'
import { LOG_LEVELS } from '../../shared/logging/logger.ts'
import { readRateLimitConfig } from '../../shared/rate-limit/config.ts'
import { readRequestTimeoutMs } from '../../shared/http/config.ts'
import { readPostgresConfig } from '../../shared/postgres/config.ts'
import { readRedisConfig } from '../../shared/redis/config.ts'
import { readApiConfig } from '../api/config.ts'
import { readGatewayConfig } from '../gateway/config.ts'
import { readLoaderConfig } from '../loader/config.ts'

/** Settings of Tally in one process: its own, and those of every part. */
export function readStandaloneConfig(read: EnvReader) {
  return {
    host: read.string('HOST', { about: 'the address to listen on', default: '127.0.0.1' }),
    port: readPort(read, 'PORT', 'the port of the HTTP API', 8_080),
    adminPort: readPort(read, 'ADMIN_PORT', 'the port for probes and commands, on 127.0.0.1', 9_464),
    dataDir: readDataDir(read),
    analystPort: readPort(
      read,
      'CLICKHOUSE_HTTP_PORT',
      'the port where analysts query ClickHouse, on 127.0.0.1',
      8_123,
    ),
    analysts: readAnalystsConfig(read),
    logLevel: read.oneOf('LOG_LEVEL', LOG_LEVELS, {
      about: 'how much is logged, as JSON on standard error',
      default: 'info',
    }),
    postgres: readPostgresConfig(read),
    clickhouse: readClickHouseConfig(read),
    eventLog: readEventLogConfig(read),
    redis: readRedisConfig(read),
    rateLimits: readRateLimitConfig(read),
    requestTimeoutMs: readRequestTimeoutMs(read),
    gateway: readGatewayConfig(read),
    loader: readLoaderConfig(read),
    api: readApiConfig(read),
  }
}

export type StandaloneConfig = ReturnType<typeof readStandaloneConfig>
