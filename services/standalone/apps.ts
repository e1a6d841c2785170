import type { RequestListener } from 'node:http'
import { adminApp } from '../../shared/service/admin-app.ts'
import { forLongReads, type ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import type { SumsCache } from '../../shared/clickhouse/usage/sums-cache.ts'
import type { EventLog } from '../../shared/event-log/event-log.ts'
import { dispatch } from './dispatch.ts'
import type { Access } from '../../shared/http/open-access.ts'
import { requestMetrics } from '../../shared/http/request-metrics.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import type { Purges } from '../../shared/redis/purges.ts'
import type { Clock, Micros } from '../../shared/time/microsecond-clock.ts'
import { openApi, type OpenedApi } from '../api/open-api.ts'
import type { Acceptance } from '../gateway/acceptance.ts'
import { openGateway, type OpenedGateway } from '../gateway/open-gateway.ts'
import type { Installation } from '../operator/command.ts'
import { commandsApp } from '../operator/commands-app.ts'
import type { StandaloneConfig } from './config.ts'
import type { DataFolder } from './data-folder.ts'

/** What the HTTP side of Tally is made of. */
export interface Parts {
  pool: Pool
  /** For reports alone. */
  reportPool: Pool
  clickhouse: ClickHouse
  /** For what takes long. */
  rollupClickhouse: ClickHouse
  /** Where ClickHouse is embedded: what no other process can write to. */
  sumsCache: SumsCache | undefined
  eventLog: EventLog
  acceptance: Acceptance
  clock: Clock
  listedUpTo: () => Promise<Micros>
  isLive: () => boolean
  purges: Purges
  access: Access
  isReady: () => Promise<boolean>
  metrics: Metrics
  /** Aborted when Tally stops: commands of operators end with it. */
  stopping: AbortSignal
}

/** Gateway and API behind one port, and what sends corrections on. */
export function makeTallyApp(
  parts: Parts,
  config: StandaloneConfig,
  log: Logger,
): OpenedGateway & Pick<OpenedApi, 'warming'> {
  const { pool, reportPool, clickhouse, sumsCache, eventLog, acceptance, clock, listedUpTo, metrics } = parts
  const { access, purges } = parts
  const requests = requestMetrics(metrics)
  const { handler, relay } = openGateway(
    { pool: reportPool, clickhouse, eventLog, acceptance, clock, access, purges, requests, metrics, log },
    config,
  )
  const api = openApi(
    { pool, clickhouse, sumsCache, eventLog, listedUpTo, purges, access, requests, metrics, log },
    config,
  )
  return { handler: dispatch(handler, api.handler), relay, warming: api.warming }
}

/** Probes and metrics. */
export const makeAdminApp = (
  { isLive, isReady, metrics }: Parts,
  { admin: { host } }: StandaloneConfig,
  log: Logger,
): RequestListener => adminApp({ probes: { isLive, isReady }, metrics, host, log })

/** The commands of operators. */
export function makeCommandsApp(
  parts: Parts,
  config: StandaloneConfig,
  folder: DataFolder,
  log: Logger,
): RequestListener {
  const { pool, eventLog, listedUpTo, purges, stopping } = parts
  const clickhouse = forLongReads(parts.clickhouse)
  return commandsApp({
    deps: {
      pool,
      openUsage: () => Promise.resolve({ clickhouse, log: eventLog, listedUpTo }),
      openClickHouse: (queryTimeoutS) =>
        Promise.resolve(queryTimeoutS === undefined ? clickhouse : parts.rollupClickhouse),
      openEventLog: () => Promise.resolve(eventLog),
      installation: installationOf(config, folder),
      purges,
    },
    log: log.child({ part: 'operator' }),
    stopping,
  })
}

const installationOf = (
  { postgres, clickhouse, eventLog, redis, host, admin }: StandaloneConfig,
  folder: DataFolder,
): Installation => ({
  eventLog,
  redis,
  dataFolder: folder.path,
  urls: { DATABASE_URL: postgres.server?.url, CLICKHOUSE_URL: clickhouse.url },
  hosts: { HOST: host, ADMIN_HOST: admin.host },
})
