import { readClickHouseConfig } from '../../shared/clickhouse/config.ts'
import { readDataDir } from '../../shared/config/common-settings.ts'
import type { EnvReader } from '../../shared/config/env-reader.ts'
import { readEventLogConfig } from '../../shared/event-log/config.ts'
import { LOG_LEVELS } from '../../shared/logging/logger.ts'
import { readPostgresCommandConfig } from '../../shared/postgres/core/config.ts'
import { readRedisConfig } from '../../shared/redis/config.ts'

/**
 * Settings of maintenance commands: the database servers, or the data folder of the running Tally if there are no
 * servers.
 */
export function readOperatorConfig(read: EnvReader) {
  const { url: databaseUrl, statementTimeoutMs } = readPostgresCommandConfig(read)
  const clickhouse = readClickHouseConfig(read)
  const eventLog = readEventLogConfig(read)
  const redis = readRedisConfig(read)
  const { url } = clickhouse
  return {
    logLevel: read.oneOf('LOG_LEVEL', LOG_LEVELS, { about: 'how much is logged', default: 'warn' }),
    dataFolder: readDataDir(read),
    servers:
      databaseUrl === undefined || url === undefined
        ? undefined
        : {
            databaseUrl,
            statementTimeoutMs,
            eventLog,
            clickhouse: { ...clickhouse, url },
            redis,
          },
  }
}

export type OperatorConfig = ReturnType<typeof readOperatorConfig>
