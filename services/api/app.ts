import type { RequestListener } from 'node:http'
import type { RequestHandler } from 'express'
import { type ClickHouse, forLongReads } from '../../shared/clickhouse/clickhouse.ts'
import type { occurredEvents } from '../../shared/clickhouse/events/occurred-events.ts'
import { reportedCurrencyRepository } from '../../shared/clickhouse/events/reported-currencies.ts'
import { usageEventListRepository } from '../../shared/clickhouse/events/usage-event-list.ts'
import { usageEventRepository } from '../../shared/clickhouse/events/usage-events.ts'
import type { GroupedUsageReader } from '../../shared/clickhouse/usage/grouped-usage.ts'
import type { UsageReader } from '../../shared/clickhouse/usage/usage-aggregates.ts'
import type { Drain } from '../../shared/event-log/drain.ts'
import type { UntilLoaded } from '../../shared/event-log/until-loaded.ts'
import { handlersOf, type Operation } from '../../shared/http/operation.ts'
import { operationsApp, type OperationsAppOptions } from '../../shared/http/operations-app.ts'
import { serveFiles } from '../../shared/http/static-files.ts'
import { batchedReads } from '../../shared/postgres/batched-reads.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import type { PreviewDeps } from '../../shared/previews/preview-invoice.ts'
import type { Purges } from '../../shared/redis/purges.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'
import { findStoredEventsIn } from '../../shared/usage/stored-events.ts'
import { accountOperations } from './accounts/routes.ts'
import { balanceOperations } from './balances/routes.ts'
import { serveConsole } from './console/serve-console.ts'
import { contractOperations } from './contracts/routes.ts'
import { namespaceOperations } from './core/namespace-operations.ts'
import { onceIn } from './core/once.ts'
import { listCurrencies } from './currencies/list-currencies.ts'
import { currencyOperations } from './currencies/routes.ts'
import { customerOperations } from './customers/routes.ts'
import { docsFiles, getDocs, getOpenApi } from './documentation/documentation.ts'
import { listEvents } from './events/list-events.ts'
import { currentEvent, eventRevisions } from './events/one-event.ts'
import { eventOperations } from './events/routes.ts'
import { grantOperations } from './grants/routes.ts'
import { invoicePreviewOperations } from './invoice-previews/routes.ts'
import { keyOperations } from './keys/routes.ts'
import { metricOperations } from './metrics/routes.ts'
import { simulationOperations } from './price-simulations/routes.ts'
import { type SimulationDeps, simulationSemaphore } from './price-simulations/simulate-card.ts'
import { priceOperations } from './prices/routes.ts'
import { productOperations } from './products/routes.ts'
import { rateCardOperations } from './rate-cards/routes.ts'
import { refillOperations } from './refills/routes.ts'
import { testAreaOperations } from './test-area/routes.ts'
import { trailOperations } from './trail/routes.ts'
import { usageOperations } from './usage/routes.ts'

export interface ApiDeps {
  pool: Pool
  clickhouse: ClickHouse
  /** Reads usage and balances. */
  usage: UsageReader
  /** Reads usage by account or property. */
  groupedUsage: GroupedUsageReader
  /** Reads usage for invoices. */
  ratedUsage: PreviewDeps['usage']
  /** Reads usage for simulations. */
  simulatedUsage: SimulationDeps['usage']
  /** Reads usage as it was known at an earlier time, for invoices. */
  knownUsage: PreviewDeps['knownUsage']
  /** Lists events by the time at which they occurred. */
  occurredEvents: ReturnType<typeof occurredEvents>
  /** Tells other processes which keys have changed. */
  purges: Pick<Purges, 'purge'>
  /** Returns a time. The list of events already has every event that was accepted before it. */
  listedUpTo: () => Promise<Micros>
  /** Waits until all usage accepted so far is counted. */
  drain: Drain
  /** Waits until the loader has stored everything that is in the event log now. */
  untilLoaded: UntilLoaded
}

/**
 * The HTTP service for everything except reports and corrections of usage. It reads resources from PostgreSQL and usage
 * from ClickHouse, and merges both into answers.
 */
export function apiApp(
  deps: ApiDeps,
  {
    servesConsole = false,
    ...options
  }: Omit<OperationsAppOptions, 'handlersCheckText' | 'limitsRequests' | 'otherHandlers'> & {
    servesConsole?: boolean
  },
): RequestListener {
  const { pool, clickhouse, usage } = deps
  const reads = batchedReads(pool)
  const [once, work] = [onceIn(pool), namespaceOperations(pool)]
  const events = usageEventRepository(clickhouse)
  const findStored = findStoredEventsIn(events, deps.untilLoaded)
  const listAccepted = listEvents({
    events,
    list: usageEventListRepository(forLongReads(clickhouse)),
    listedUpTo: deps.listedUpTo,
  })
  const operations: Operation[] = [
    ...customerOperations(work),
    ...accountOperations(work, reads),
    ...metricOperations(work),
    ...grantOperations(work),
    ...refillOperations(work),
    ...usageOperations(pool, reads, usage, deps.groupedUsage),
    ...balanceOperations(pool, reads, usage),
    ...invoicePreviewOperations({
      pool,
      usage: deps.ratedUsage,
      knownUsage: deps.knownUsage,
      listedUpTo: deps.listedUpTo,
    }),
    ...eventOperations({
      listAccepted,
      listOccurred: (...page) => deps.occurredEvents.list(...page),
      current: currentEvent(pool, findStored),
      revisions: eventRevisions(pool, findStored),
    }),
    ...currencyOperations(listCurrencies(reportedCurrencyRepository(forLongReads(clickhouse)), usage)),
    ...productOperations(work),
    ...priceOperations(work),
    ...rateCardOperations(work),
    ...simulationOperations({
      pool,
      usage: deps.simulatedUsage,
      semaphore: simulationSemaphore(),
      listedUpTo: deps.listedUpTo,
    }),
    ...contractOperations(work),
    ...keyOperations(pool, once, deps.purges),
    ...trailOperations(work),
    ...testAreaOperations(options.worlds, deps.drain, options.requestTimeoutMs),
  ]
  const docs = docsFiles()
  const docsHandler = serveFiles((path) => docs.get(path))
  return operationsApp(
    {
      getHealth: { handle: health },
      getHealthWithSlash: { handle: health },
      getRoot: { handle: health },
      getRootWithSlash: { handle: health },
      getOpenApi: { handle: getOpenApi() },
      getDocs: { handle: getDocs },
      ...handlersOf(operations),
    },
    { ...options, otherHandlers: [docsHandler, ...(servesConsole ? serveConsole() : [])] },
  )
}

const health: RequestHandler = (_req, res) => {
  res.type('text/plain').send('ok')
}
