import { openClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { hostToCall } from '../../shared/config/host-to-call.ts'
import { LOADER_GROUP } from '../../shared/event-log/event-log.ts'
import { openEventLog } from '../../shared/event-log/open-event-log.ts'
import { openAccess } from '../../shared/http/open-access.ts'
import { openServers } from '../../shared/http/open-servers.ts'
import { requestMetrics } from '../../shared/http/request-metrics.ts'
import { crashAt } from '../../shared/lifecycle/crash-at.ts'
import { exitWith } from '../../shared/lifecycle/exit-with.ts'
import {
  LOG_CONNECTIONS,
  openRequestPool,
  openServicePool,
  REPORT_CONNECTIONS,
} from '../../shared/postgres/core/open-service-pool.ts'
import { requirePostgresServer } from '../../shared/postgres/core/require-server.ts'
import { watchPools } from '../../shared/postgres/core/watch-pools.ts'
import { openTestWorlds } from '../../shared/postgres/test-worlds.ts'
import { openSharing } from '../../shared/redis/open-sharing.ts'
import { allAnswer } from '../../shared/service/probes.ts'
import { runService, type Service } from '../../shared/service/run-service.ts'
import { readGatewayServiceConfig } from './config.ts'
import { openAcceptance } from './open-acceptance.ts'
import { openGateway } from './open-gateway.ts'

const gateway: Service<ReturnType<typeof readGatewayServiceConfig>> = {
  name: 'gateway',
  about:
    'Takes reports and corrections of usage into the event log, in a process of its own; run npm run migrate first.',
  readConfig: readGatewayServiceConfig,
  async open(config, { opened, metrics, log }) {
    const { postgres, host, port, requestTimeoutMs } = config
    const pool = openRequestPool('gateway', REPORT_CONNECTIONS, postgres, opened, log)
    await requirePostgresServer(postgres.url, pool)
    const { acceptance, clock, watch } = await openAcceptance(
      { pool, alone: false, metrics, log },
      { eventLog: config.eventLog, ...postgres, ...config.gateway },
      opened,
    )
    const logPool = openServicePool('event log', LOG_CONNECTIONS, postgres, opened, log)
    const eventLog = await openEventLog(config.eventLog, {
      pool: logPool,
      alone: false,
      housekeeping: false,
      log,
    })
    opened.push(eventLog)
    // This does not contact ClickHouse yet, because the gateway takes reports without it, too.
    const clickhouse = await openClickHouse({
      ...config.clickhouse,
      connections: config.clickhouseConnections,
    })
    opened.push(clickhouse)
    const sharing = await openSharing(config.redis, opened, log)
    const worlds = openTestWorlds(postgres, requestTimeoutMs, opened, log)
    const access = openAccess({ pool, worlds, sharing }, config.rateLimits, opened, log)
    watchPools(metrics, { gateway: pool, event_log: logPool, test_companies: worlds.pool })
    const requests = requestMetrics(metrics)
    const reached = crashAt(config.crashAt)
    const { handler, relay } = openGateway(
      {
        pool,
        clickhouse: clickhouse.client,
        eventLog,
        acceptance,
        clock,
        watch,
        access,
        purges: sharing.purges,
        requests,
        metrics,
        log,
        reached,
      },
      config,
    )
    opened.push(relay)
    const server = await openServers(opened, log).open(handler, {
      name: 'the gateway',
      host,
      port,
      portSetting: 'PORT',
      hostSetting: 'HOST',
      requestTimeoutMs,
    })
    return {
      address: `${hostToCall(host)}:${server.port}`,
      drain: server.drain,
      isLive: () => true,
      // PostgreSQL is not asked, because the gateway takes reports without it for a while, until acceptance is shut.
      isReady: () =>
        allAnswer(
          () => Promise.resolve(acceptance.isOpen),
          () => eventLog.lag(LOADER_GROUP),
        ),
    }
  },
}

exitWith(() => runService(gateway))
