import {
  LOG_CONNECTIONS,
  openRequestPool,
  openServicePool,
  REPORT_CONNECTIONS,
} from '../../shared/postgres/core/open-service-pool.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { watchPools } from '../../shared/postgres/core/watch-pools.ts'
import { openTestWorlds, type TestWorlds } from '../../shared/postgres/test-worlds.ts'
import { REFILL_CONNECTIONS } from '../refill/open-refill.ts'
import { ROLLUP_CONNECTIONS } from '../rollup/open-rollup.ts'
import type { Start } from './start.ts'

/** Connections to PostgreSQL. Each part of Tally has its own pool, so that no part waits for another. */
export interface Pools {
  api: Pool
  /** Only for reports. */
  gateway: Pool
  eventLog: Pool
  refill: Pool
  rollup: Pool
  worlds: TestWorlds
}

/** Opens the pools, and shows them in the metrics. */
export function openPools({ config, engines, opened, metrics, log }: Start): Pools {
  const { connectionsMax, statementTimeoutMs } = config.postgres
  const postgres = { url: engines.databaseUrl, statementTimeoutMs }
  const api = openRequestPool('api', connectionsMax, postgres, opened, log)
  const gateway = openRequestPool('gateway', REPORT_CONNECTIONS, postgres, opened, log)
  const eventLog = openServicePool('event log', LOG_CONNECTIONS, postgres, opened, log)
  const worlds = openTestWorlds(postgres, config.requestTimeoutMs, opened, log)
  const refill = openServicePool('refill', REFILL_CONNECTIONS, postgres, opened, log)
  const rollup = openServicePool('rollup', ROLLUP_CONNECTIONS, postgres, opened, log)
  watchPools(metrics, { api, gateway, event_log: eventLog, test_companies: worlds.pool, refill, rollup })
  return { api, gateway, eventLog, refill, rollup, worlds }
}
