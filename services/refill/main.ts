import { openClickHouseServer } from '../../shared/clickhouse/open-server.ts'
import { openLogProgress } from '../../shared/event-log/open-log-progress.ts'
import { crashAt } from '../../shared/lifecycle/crash-at.ts'
import { exitWith } from '../../shared/lifecycle/exit-with.ts'
import { stuckAfterMs } from '../../shared/lifecycle/stuck-after-ms.ts'
import { openServicePool } from '../../shared/postgres/core/open-service-pool.ts'
import { requirePostgresServer } from '../../shared/postgres/core/require-server.ts'
import { watchPools } from '../../shared/postgres/core/watch-pools.ts'
import { getsOn } from '../../shared/service/gets-on.ts'
import { runService, type Service } from '../../shared/service/run-service.ts'
import { readRefillServiceConfig } from './config.ts'
import { openRefill, REFILL_CONNECTIONS } from './open-refill.ts'

/** How long refills may fail without a break before /readyz reports it. */
const FAILING_MAX_MS = 30_000

const refill: Service<ReturnType<typeof readRefillServiceConfig>> = {
  name: 'refill',
  about:
    'Refills balances that fall below their minimum, in a process of its own; run npm run migrate first.',
  readConfig: readRefillServiceConfig,
  async open(config, { opened, metrics, log }) {
    const { postgres } = config
    const pool = openServicePool('refill', REFILL_CONNECTIONS, postgres, opened, log)
    await requirePostgresServer(postgres.url, pool)
    const clickhouse = await openClickHouseServer(
      config.clickhouse,
      config.clickhouseConnections,
      pool,
      opened,
    )
    const { logPool, listedUpTo } = await openLogProgress(pool, postgres, config.eventLog, opened, log)
    watchPools(metrics, { refill: pool, event_log: logPool })
    const reached = crashAt(config.crashAt)
    const running = openRefill({ pool, clickhouse, listedUpTo, metrics, log, reached }, config.refill)
    opened.push(running)
    const stuckMs = stuckAfterMs({ ...postgres, ...config.clickhouse })
    return {
      isLive: () => !running.isStuck(stuckMs),
      isReady: () =>
        getsOn({
          work: running,
          pool,
          clickhouse,
          failingMaxMs: FAILING_MAX_MS,
          trouble: 'balances are not checked for refills',
          log,
        }),
    }
  },
}

exitWith(() => runService(refill))
