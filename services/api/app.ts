import type { Express, RequestHandler } from 'express'
import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { reportedCurrencyRepository } from '../../shared/clickhouse/events/reported-currencies.ts'
import { usageEventListRepository } from '../../shared/clickhouse/events/usage-event-list.ts'
import { usageEventRepository } from '../../shared/clickhouse/events/usage-events.ts'
import type { UsageReader } from '../../shared/clickhouse/usage/usage-reader.ts'
import type { Drain } from '../../shared/event-log/drain.ts'
import type { UntilLoaded } from '../../shared/event-log/until-loaded.ts'
import { findStoredEventsIn } from '../../shared/usage/stored-events.ts'
import { operationsApp, type OperationsAppOptions } from '../../shared/http/operations-app.ts'
import { batchedReads } from '../../shared/postgres/batched-reads.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import type { Purges } from '../../shared/redis/purges.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'
import { accountUsageIn } from './account-usage.ts'
import { balanceAt } from './balance-at.ts'
import { currentEvent, eventRevisions } from './one-event.ts'
import { handlerOf as of } from './handler-of.ts'
import { balancesOf } from './balances-of.ts'
import { listCurrencies } from './list-currencies.ts'
import { listEvents } from './list-events.ts'
import { resourceHandlers } from './resource-handlers.ts'
import * as accounts from './routes/accounts.ts'
import { docsFiles, getDocs, getOpenApi } from './routes/documentation.ts'
import { getBalances } from './routes/balances.ts'
import { getCurrencies } from './routes/currencies.ts'
import { getEvent, getEventRevisions, getEvents } from './routes/events.ts'
import { testAreaHandlers } from './routes/test-area.ts'
import * as usageRoutes from './routes/usage.ts'
import { accountDailyUsage, accountMonthlyUsage, namespaceMonthlyUsage } from './usage-by-period.ts'
import { usageByProperty } from './usage-by-property.ts'

export interface ApiDeps {
  pool: Pool
  clickhouse: ClickHouse
  /** Where usage and balances are read. */
  usage: UsageReader
  /** Tells other processes which keys have changed. */
  purges: Pick<Purges, 'purge'>
  /** No event accepted before this can still turn up in the list of events. */
  listedUpTo: () => Promise<Micros>
  /** Waits until what was accepted is counted. */
  drain: Drain
  /** Waits until what is in the event log is loaded. */
  untilLoaded: UntilLoaded
}

/** The HTTP service for everything but reporting and correcting: resources in PostgreSQL, usage from ClickHouse, and both merged. */
export function apiApp(
  deps: ApiDeps,
  options: Omit<OperationsAppOptions, 'handlersCheckText' | 'limitsRequests' | 'files'>,
): Express {
  const { pool, clickhouse, usage } = deps
  const reads = batchedReads(pool)
  const events = usageEventRepository(clickhouse)
  const eventList = usageEventListRepository(clickhouse)
  const findStored = findStoredEventsIn(events, deps.untilLoaded)
  return operationsApp(
    {
      getHealth: of(health),
      getHealthWithSlash: of(health),
      getRoot: of(health),
      getRootWithSlash: of(health),
      getOpenApi: of(getOpenApi()),
      getDocs: of(getDocs),
      ...resourceHandlers(pool, reads, deps.purges),
      getAccountUsage: of(accounts.getAccountUsage(accountUsageIn(pool, reads, usage))),
      getAccountMonthlyUsage: of(usageRoutes.getAccountMonthlyUsage(accountMonthlyUsage(pool, reads, usage))),
      getAccountDailyUsage: of(usageRoutes.getAccountDailyUsage(accountDailyUsage(pool, reads, usage))),
      getAccountBalance: of(accounts.getAccountBalance(balanceAt(reads, usage))),
      listBalances: of(getBalances(balancesOf(reads, usage))),
      getMonthlyUsage: of(usageRoutes.getNamespaceMonthlyUsage(namespaceMonthlyUsage(pool, usage))),
      listEvents: of(getEvents(listEvents({ events, list: eventList, listedUpTo: deps.listedUpTo }))),
      getEvent: of(getEvent(currentEvent(pool, findStored))),
      listEventRevisions: of(getEventRevisions(eventRevisions(pool, findStored))),
      aggregateEvents: of(usageRoutes.getEventAggregate(usageByProperty(pool, usage))),
      ...testAreaHandlers(options.worlds, deps.drain, options.requestTimeoutMs),
      listCurrencies: of(getCurrencies(listCurrencies(reportedCurrencyRepository(clickhouse)))),
    },
    { ...options, files: docsFiles() },
  )
}

const health: RequestHandler = (_req, res) => {
  res.type('text/plain').send('ok')
}
