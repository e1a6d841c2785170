import type { Express, RequestHandler } from 'express'
import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { usageEventRepository } from '../../shared/clickhouse/usage-events.ts'
import { operationsApp, type OperationsAppOptions } from '../../shared/http/operations-app.ts'
import type { Pool } from '../../shared/postgres/pool.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'
import { accountUsageIn } from './account-usage.ts'
import { balanceAt } from './balance-at.ts'
import { handlerOf as of } from './handler-of.ts'
import { listEvents } from './list-events.ts'
import { resourceHandlers } from './resource-handlers.ts'
import * as accounts from './routes/accounts.ts'
import { docsFiles, getDocs, getOpenApi } from './routes/documentation.ts'
import { getEvents } from './routes/events.ts'

export interface ApiDeps {
  pool: Pool
  clickhouse: ClickHouse
  /** No event accepted before this can still turn up in the list of events. */
  listedUpTo: () => Promise<Micros>
}

/** The HTTP service for everything but reporting: resources in PostgreSQL, usage from ClickHouse, and both merged. */
export function apiApp(
  deps: ApiDeps,
  options: Omit<OperationsAppOptions, 'handlersCheckText' | 'limitsRequests' | 'files'>,
): Express {
  const { pool, clickhouse } = deps
  const usage = usageEventRepository(clickhouse)
  return operationsApp(
    {
      getHealth: of(health),
      getHealthWithSlash: of(health),
      getRoot: of(health),
      getRootWithSlash: of(health),
      getOpenApi: of(getOpenApi()),
      getDocs: of(getDocs),
      ...resourceHandlers(pool),
      getAccountUsage: of(accounts.getAccountUsage(accountUsageIn(pool, usage))),
      getAccountBalance: of(accounts.getAccountBalance(balanceAt(pool, usage))),
      listEvents: of(getEvents(listEvents(usage, deps.listedUpTo))),
    },
    { ...options, files: docsFiles() },
  )
}

const health: RequestHandler = (_req, res) => {
  res.type('text/plain').send('ok')
}
