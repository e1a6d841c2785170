import type { RequestListener } from 'node:http'
import { type ClickHouse, forLongReads } from '../../shared/clickhouse/clickhouse.ts'
import type { LatestSums } from '../../shared/clickhouse/usage/latest-sums.ts'
import type { EventLog } from '../../shared/event-log/event-log.ts'
import type { Access } from '../../shared/http/open-access.ts'
import { requestMetrics } from '../../shared/http/request-metrics.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import type { Purges } from '../../shared/redis/purges.ts'
import { adminApp } from '../../shared/service/admin-app.ts'
import type { Clock, Micros } from '../../shared/time/microsecond-clock.ts'
import { openApi, type OpenedApi } from '../api/open-api.ts'
import type { Acceptance } from '../gateway/acceptance.ts'
import type { ClockWatch } from '../gateway/clock-watch.ts'
import { type OpenedGateway, openGateway } from '../gateway/open-gateway.ts'
import type { Installation } from '../operator/command.ts'
import { commandsApp } from '../operator/commands-app.ts'
import type { StandaloneConfig } from './config.ts'
import { type DataFolder, SECRET_FILES } from './data-folder.ts'
import { dispatch } from './dispatch.ts'
import type { Engines } from './engines.ts'
import type { RequiredRoom } from './require-room.ts'

/** The parts that the HTTP services of Tally need. */
export interface Parts {
  pool: Pool
  /** Only for reports. */
  reportPool: Pool
  clickhouse: ClickHouse
  /** For statements that take long. */
  rollupClickhouse: ClickHouse
  /** Undefined when ClickHouse is a server, because other processes may then write usage. */
  latestSums: LatestSums | undefined
  eventLog: EventLog
  acceptance: Acceptance
  clock: Clock
  watch: ClockWatch
  listedUpTo: () => Promise<Micros>
  room: RequiredRoom
  /** The clock of PostgreSQL. */
  nowMs: () => number
  isLive: () => boolean
  purges: Purges
  access: Access
  isReady: () => Promise<boolean>
  metrics: Metrics
}

/** Makes gateway and API behind one port, the relay of corrections, and the warming of balances. */
export function makeTallyApp(
  parts: Parts,
  config: StandaloneConfig,
  log: Logger,
): OpenedGateway & Pick<OpenedApi, 'warming'> {
  const { pool, reportPool, clickhouse, latestSums, eventLog, listedUpTo, metrics } = parts
  const { acceptance, clock, watch, access, purges, room, nowMs } = parts
  const requests = requestMetrics(metrics)
  const { handler, relay } = openGateway(
    {
      pool: reportPool,
      clickhouse,
      eventLog,
      acceptance,
      clock,
      watch,
      access,
      purges,
      requests,
      metrics,
      log,
      admitWrite: room.forUsage,
    },
    config,
  )
  const api = openApi(
    {
      pool,
      clickhouse,
      latestSums,
      eventLog,
      listedUpTo,
      purges,
      access,
      requests,
      metrics,
      log,
      nowMs,
      admitWrite: room.forWrites,
    },
    config,
  )
  return { handler: dispatch(handler, api.handler), relay, warming: api.warming }
}

/** Makes the HTTP service with probes and metrics. */
export const makeAdminApp = (
  { isLive, isReady, metrics }: Parts,
  { admin: { host } }: StandaloneConfig,
  log: Logger,
): RequestListener => adminApp({ probes: { isLive, isReady }, metrics, host, log })

/**
 * Makes the HTTP service with the commands of operators.
 *
 * @param stopping ends running commands when Tally stops
 */
export function makeCommandsApp(
  parts: Parts,
  { log, ...setup }: CommandsSetup,
  stopping: AbortSignal,
): RequestListener {
  const { pool, eventLog, listedUpTo, purges } = parts
  const clickhouse = forLongReads(parts.clickhouse)
  return commandsApp({
    deps: {
      pool,
      openUsage: () => Promise.resolve({ clickhouse, log: eventLog, listedUpTo }),
      openClickHouse: (queryTimeoutS) =>
        Promise.resolve(queryTimeoutS === undefined ? clickhouse : parts.rollupClickhouse),
      openEventLog: () => Promise.resolve(eventLog),
      installation: installationOf(setup),
      embedded:
        setup.config.clickhouse.url === undefined
          ? { superuserUrl: setup.engines.superuserUrl, files: SECRET_FILES }
          : undefined,
      purges,
    },
    log: log.child({ part: 'operator' }),
    stopping,
  })
}

interface CommandsSetup extends Pick<Installation, 'analystAddress'> {
  engines: Pick<Engines, 'superuserUrl'>
  config: StandaloneConfig
  folder: DataFolder
  log: Logger
}

function installationOf({
  config,
  folder,
  analystAddress,
}: Omit<CommandsSetup, 'log' | 'engines'>): Installation {
  const { postgres, clickhouse, eventLog, redis, host, admin, analystHost } = config
  const hosts = { HOST: host, ADMIN_HOST: admin.host }
  return {
    eventLog,
    redis,
    dataFolder: folder.path,
    urls: { DATABASE_URL: postgres.server?.url, CLICKHOUSE_URL: clickhouse.url },
    database: clickhouse.database,
    analystAddress,
    hosts: clickhouse.url === undefined ? { ...hosts, CLICKHOUSE_HTTP_HOST: analystHost } : hosts,
  }
}
