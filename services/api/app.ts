import type { Express, RequestHandler } from 'express'
import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { reportedCurrencyRepository } from '../../shared/clickhouse/reported-currencies.ts'
import { usageAggregateRepository } from '../../shared/clickhouse/usage-aggregates.ts'
import { usageEventListRepository } from '../../shared/clickhouse/usage-event-list.ts'
import { usageEventRepository } from '../../shared/clickhouse/usage-events.ts'
import { operationsApp, type Handler, type OperationsAppOptions } from '../../shared/http/operations-app.ts'
import type { Pool } from '../../shared/postgres/pool.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'
import { accountUsageIn } from './account-usage.ts'
import { balanceAt } from './balance-at.ts'
import { balancesOf } from './balances-of.ts'
import { createIn } from './create.ts'
import { listCurrencies } from './list-currencies.ts'
import { listEvents } from './list-events.ts'
import * as accounts from './routes/accounts.ts'
import { getBalances } from './routes/balances.ts'
import { getCurrencies } from './routes/currencies.ts'
import * as customers from './routes/customers.ts'
import { getEvents } from './routes/events.ts'
import * as grants from './routes/grants.ts'
import * as metrics from './routes/metrics.ts'
import * as usageRoutes from './routes/usage.ts'
import { accountDailyUsage, accountMonthlyUsage, namespaceMonthlyUsage } from './usage-by-period.ts'
import { usageByProperty } from './usage-by-property.ts'

export interface ApiDeps {
  pool: Pool
  clickhouse: ClickHouse
  /** No event accepted before this can still turn up in the list of events. */
  listedUpTo: () => Promise<Micros>
}

/** The HTTP service for everything but reporting: resources in PostgreSQL, usage from ClickHouse, and both merged. */
export function apiApp(deps: ApiDeps, options: Omit<OperationsAppOptions, 'handlersCheckText'>): Express {
  const { pool, clickhouse } = deps
  const usage = usageAggregateRepository(clickhouse)
  const events = usageEventRepository(clickhouse)
  const eventList = usageEventListRepository(clickhouse)
  const create = createIn(pool)
  return operationsApp(
    {
      getHealth: of(health),
      getHealthWithSlash: of(health),
      getRoot: of(health),
      getRootWithSlash: of(health),
      createCustomer: of(customers.postCustomer(create)),
      getCustomer: of(customers.getCustomer(pool)),
      createAccount: of(accounts.postAccount(create)),
      listAccounts: of(accounts.listAccounts(pool)),
      getAccount: of(accounts.getAccount(pool)),
      getAccountByExternalId: of(accounts.getAccountByExternalId(pool)),
      getAccountUsage: of(accounts.getAccountUsage(accountUsageIn(pool, usage))),
      getAccountMonthlyUsage: of(usageRoutes.getAccountMonthlyUsage(accountMonthlyUsage(pool, usage))),
      getAccountDailyUsage: of(usageRoutes.getAccountDailyUsage(accountDailyUsage(pool, usage))),
      getAccountBalance: of(accounts.getAccountBalance(balanceAt(pool, usage))),
      listBalances: of(getBalances(balancesOf(pool, usage))),
      createMetric: of(metrics.postMetric(create)),
      listMetrics: of(metrics.listMetrics(pool)),
      getMonthlyUsage: of(usageRoutes.getNamespaceMonthlyUsage(namespaceMonthlyUsage(pool, usage))),
      createGrant: of(grants.postGrant(create)),
      listGrants: of(grants.listGrants(pool)),
      listEvents: of(getEvents(listEvents({ events, list: eventList, listedUpTo: deps.listedUpTo }))),
      aggregateEvents: of(usageRoutes.getEventAggregate(usageByProperty(pool, usage))),
      listCurrencies: of(getCurrencies(listCurrencies(reportedCurrencyRepository(clickhouse)))),
    },
    options,
  )
}

const health: RequestHandler = (_req, res) => {
  res.type('text/plain').send('ok')
}

/** Express types a handler by its path's parameters; a map of handlers knows them all as text. */
const of = <Params>(handle: RequestHandler<Params>): Handler => ({
  handle: handle as unknown as RequestHandler,
})
