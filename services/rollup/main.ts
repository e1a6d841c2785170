import { keepCompanyViews } from '../../shared/clickhouse/company-views.ts'
import { openClickHouseServer } from '../../shared/clickhouse/open-server.ts'
import { openLogProgress } from '../../shared/event-log/open-log-progress.ts'
import { crashAt } from '../../shared/lifecycle/crash-at.ts'
import { exitWith } from '../../shared/lifecycle/exit-with.ts'
import { openServicePool } from '../../shared/postgres/core/open-service-pool.ts'
import { requirePostgresServer } from '../../shared/postgres/core/require-server.ts'
import { watchPools } from '../../shared/postgres/core/watch-pools.ts'
import { getsOn } from '../../shared/service/gets-on.ts'
import { runService, type Service } from '../../shared/service/run-service.ts'
import { readRollupServiceConfig } from './config.ts'
import { keepDimensions } from './keep-dimensions.ts'
import { keepRated } from './keep-rated.ts'
import { noteCompleteUsage } from './note-complete-usage.ts'
import { openRollup, ROLLUP_CONNECTIONS, ROLLUP_TROUBLE } from './open-rollup.ts'

/** How long rounds may fail without a break before /readyz reports it. */
const FAILING_MAX_MS = 30_000
/**
 * One connection for statements of rollups, which run one after the other, one for the copies of dimension tables, one
 * for the rating of contracts, one for noting up to when usage is complete, and one for probes.
 */
const CLICKHOUSE_CONNECTIONS = 5
/** A round may have this many statements, and each may take as long as the query timeout. */
const STATEMENTS_A_ROUND = 20

const rollup: Service<ReturnType<typeof readRollupServiceConfig>> = {
  name: 'rollup',
  about:
    'Keeps usage by time slot, day and month, so that answers need not read every event, in a process of its own; run npm run migrate first.',
  readConfig: readRollupServiceConfig,
  async open(config, { opened, metrics, log }) {
    const { postgres } = config
    const pool = openServicePool('rollup', ROLLUP_CONNECTIONS, postgres, opened, log)
    await requirePostgresServer(postgres.url, pool)
    const { queryTimeoutS } = config.rollup
    const clickhouse = await openClickHouseServer(
      { ...config.clickhouse, queryTimeoutS },
      CLICKHOUSE_CONNECTIONS,
      pool,
      opened,
      log,
    )
    const { logPool, listedUpTo } = await openLogProgress(pool, postgres, config.eventLog, opened, log)
    watchPools(metrics, { rollup: pool, event_log: logPool })
    const reached = crashAt(config.crashAt)
    const running = openRollup({ pool, clickhouse, metrics, log, reached }, config.rollup)
    opened.push(running)
    const { database } = config.clickhouse
    opened.push(keepCompanyViews({ pool, clickhouse, database }, log))
    const dimensions = keepDimensions(
      { pool, clickhouse, metrics, log, reached },
      config.rollup.dimensionsPauseMs,
    )
    opened.push(dimensions)
    const rating = keepRated(
      { pool, clickhouse, listedUpTo, metrics, log, reached },
      config.rollup.ratingEveryS,
    )
    opened.push(rating)
    opened.push(noteCompleteUsage({ pool, clickhouse, listedUpTo, log }))
    const stuckMs = STATEMENTS_A_ROUND * queryTimeoutS * 1_000
    return {
      isLive: () => !running.isStuck(stuckMs),
      isReady: () =>
        getsOn({
          work: {
            listTroubles: (forMs) => [...running.listTroubles(forMs), ...dimensions.listTroubles(forMs)],
          },
          pool,
          clickhouse,
          failingMaxMs: FAILING_MAX_MS,
          trouble: ROLLUP_TROUBLE,
          log,
        }),
    }
  },
}

exitWith(() => runService(rollup))
