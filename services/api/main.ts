import { deleteNamespaces } from '../../shared/clickhouse/events/delete-namespaces.ts'
import { openClickHouseServer } from '../../shared/clickhouse/open-server.ts'
import { hostToCall } from '../../shared/config/host-to-call.ts'
import { openLogProgress } from '../../shared/event-log/open-log-progress.ts'
import { openAccess } from '../../shared/http/open-access.ts'
import { openServers } from '../../shared/http/open-servers.ts'
import { requestMetrics } from '../../shared/http/request-metrics.ts'
import { exitWith } from '../../shared/lifecycle/exit-with.ts'
import { followClock } from '../../shared/postgres/core/follow-clock.ts'
import { openRequestPool } from '../../shared/postgres/core/open-service-pool.ts'
import { requirePostgresServer } from '../../shared/postgres/core/require-server.ts'
import { watchPools } from '../../shared/postgres/core/watch-pools.ts'
import { openTestWorlds } from '../../shared/postgres/test-worlds.ts'
import { openSharing } from '../../shared/redis/open-sharing.ts'
import { allAnswer } from '../../shared/service/probes.ts'
import { runService, type Service } from '../../shared/service/run-service.ts'
import { readApiServiceConfig } from './config.ts'
import { openApi } from './open-api.ts'
import { keepEmptying } from './test-area/empty-retired-namespaces.ts'

const api: Service<ReturnType<typeof readApiServiceConfig>> = {
  name: 'api',
  about:
    'Answers all requests except reports and corrections of usage, in a process of its own; run npm run migrate first.',
  readConfig: readApiServiceConfig,
  async open(config, { opened, metrics, log }) {
    const { postgres, host, port, requestTimeoutMs } = config
    const pool = openRequestPool('api', config.connectionsMax, postgres, opened, log)
    await requirePostgresServer(postgres.url, pool)
    const clickhouse = await openClickHouseServer(
      config.clickhouse,
      config.clickhouseConnections,
      pool,
      opened,
    )
    const { eventLog, logPool, listedUpTo } = await openLogProgress(
      pool,
      postgres,
      config.eventLog,
      opened,
      log,
    )
    const sharing = await openSharing(config.redis, opened, log)
    const worlds = openTestWorlds(postgres, requestTimeoutMs, opened, log)
    const access = openAccess({ pool, worlds, sharing }, config.rateLimits, opened, log)
    watchPools(metrics, { api: pool, event_log: logPool, test_companies: worlds.pool })
    const requests = requestMetrics(metrics)
    const { purges } = sharing
    const clock = await followClock(pool, log)
    opened.push(clock)
    const { nowMs } = clock
    const parts = { pool, clickhouse, eventLog, listedUpTo, purges, access, requests, nowMs, metrics, log }
    const { handler, warming } = openApi(parts, config)
    opened.push(warming)
    opened.push(
      keepEmptying(
        { pool, deleteNamespaces: deleteNamespaces(clickhouse), listedUpTo },
        config.api.emptyEveryMs,
        log,
      ),
    )
    const server = await openServers(opened, log).open(handler, {
      name: 'the API',
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
      isReady: () =>
        allAnswer(
          () => pool.query('SELECT 1'),
          async () => (await clickhouse.ping()).success,
        ),
    }
  },
}

exitWith(() => runService(api))
