import { LOADER_CONNECTIONS } from '../../shared/clickhouse/config.ts'
import { openClickHouseServer } from '../../shared/clickhouse/open-server.ts'
import { openDeadLetters, openEventLog } from '../../shared/event-log/open-event-log.ts'
import { crashAt } from '../../shared/lifecycle/crash-at.ts'
import { exitWith } from '../../shared/lifecycle/exit-with.ts'
import { stuckAfterMs } from '../../shared/lifecycle/stuck-after-ms.ts'
import { LOG_CONNECTIONS, openServicePool } from '../../shared/postgres/core/open-service-pool.ts'
import { requirePostgresServer } from '../../shared/postgres/core/require-server.ts'
import { watchPools } from '../../shared/postgres/core/watch-pools.ts'
import { getsOn } from '../../shared/service/gets-on.ts'
import { runService, type Service } from '../../shared/service/run-service.ts'
import { readLoaderServiceConfig } from './config.ts'
import { LOADER_TROUBLE, openLoader } from './open-loader.ts'

/** Connections for dead letters and probes. */
const DEAD_LETTER_CONNECTIONS = 2

const loader: Service<ReturnType<typeof readLoaderServiceConfig>> = {
  name: 'loader',
  about:
    'Moves usage from the event log into ClickHouse, in a process of its own; run npm run migrate first.',
  readConfig: readLoaderServiceConfig,
  async open(config, { opened, metrics, log }) {
    const { postgres, loader: limits } = config
    const pool = openServicePool('loader', DEAD_LETTER_CONNECTIONS, postgres, opened, log)
    await requirePostgresServer(postgres.url, pool)
    const clickhouse = await openClickHouseServer(config.clickhouse, LOADER_CONNECTIONS, pool, opened)
    const logPool = openServicePool('event log', LOG_CONNECTIONS, postgres, opened, log)
    const eventLog = await openEventLog(config.eventLog, {
      pool: logPool,
      alone: false,
      housekeeping: true,
      log,
    })
    opened.push(eventLog)
    const deadLetterTopic = openDeadLetters(config.eventLog, log)
    if (deadLetterTopic !== undefined) opened.push(deadLetterTopic)
    const parts = {
      pool,
      clickhouse,
      eventLog,
      deadLetterTopic,
      metrics,
      log,
      reached: crashAt(config.crashAt),
    }
    const running = await openLoader(parts, limits)
    opened.push(running)
    watchPools(metrics, { loader: pool, event_log: logPool })
    const stuckMs = stuckAfterMs({ ...postgres, ...config.clickhouse })
    return {
      isLive: () => !running.isStuck(stuckMs),
      isReady: () =>
        getsOn({
          ...parts,
          work: running,
          failingMaxMs: limits.failingMaxMs,
          trouble: LOADER_TROUBLE,
        }),
    }
  },
}

exitWith(() => runService(loader))
