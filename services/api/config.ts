import { readClickHouseServerConfig, readConnections } from '../../shared/clickhouse/config.ts'
import { CACHED_MAX } from '../../shared/clickhouse/usage/closed-sums.ts'
import { readHost, readPort } from '../../shared/config/common-settings.ts'
import type { EnvReader } from '../../shared/config/env-reader.ts'
import { readEventLogConfig } from '../../shared/event-log/config.ts'
import { type BrowserOrigins, isOrigin } from '../../shared/http/browser-origins.ts'
import { LOOK_UP_TIMEOUT_MS, readRequestTimeoutMs } from '../../shared/http/config.ts'
import { readLogLevel } from '../../shared/logging/config.ts'
import { readConnectionsMax, readPostgresServerConfig } from '../../shared/postgres/core/config.ts'
import { readRateLimitConfig } from '../../shared/rate-limit/config.ts'
import { readRedisConfig } from '../../shared/redis/config.ts'
import { readAdminConfig } from '../../shared/service/admin-config.ts'

/** The largest body that the API takes, after decompression. */
const BODY_BYTES_MAX = 256 * 1_024

/** The time between two searches for data to delete. Resets of test companies leave such data behind. */
const EMPTY_EVERY_MS = 60_000

/** The time between two rounds of reading ahead: half a slot. */
const WARM_EVERY_MS = 150_000
/** The shortest time between two rounds. Requests for accounts that are not cached make the second begin early. */
const WOKEN_AFTER_MS = 30_000

/** Settings of the API. */
export function readApiConfig(read: EnvReader) {
  return {
    bodyBytesMax: BODY_BYTES_MAX,
    servesConsole:
      read.oneOf('CONSOLE', ['on', 'off'], {
        about: 'whether the console is served at /console; its page has no data, and asks for a key',
        default: 'on',
      }) === 'on',
    browserOrigins: readBrowserOrigins(read),
    emptyEveryMs: EMPTY_EVERY_MS,
    warming: {
      accountsMax: read.integer('API_WARM_ACCOUNTS', {
        about:
          'how many accounts have their usage read ahead, so that their first balance is quick: the accounts with the most events in the last day; 0: none',
        default: 20_000,
        min: 0,
        max: CACHED_MAX,
      }),
      everyMs: WARM_EVERY_MS,
      wokenAfterMs: WOKEN_AFTER_MS,
    },
  }
}

function readBrowserOrigins(read: EnvReader): BrowserOrigins {
  const text = read.optional('BROWSER_ORIGINS', {
    about:
      'the origins of web pages that may call Tally with an account key, such as https://app.example.com, with commas between them; unset: none',
  })
  const origins = text?.split(',').map((origin) => origin.trim()) ?? []
  for (const origin of origins.filter((one) => !isOrigin(one)))
    read.refuse(
      `BROWSER_ORIGINS has ${JSON.stringify(origin)}, which is no origin such as https://app.example.com, without a path`,
    )
  return new Set(origins)
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
  lookUpTimeoutMs: LOOK_UP_TIMEOUT_MS,
  api: readApiConfig(read),
})
