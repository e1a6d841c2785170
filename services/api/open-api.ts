import type { RequestListener } from 'node:http'
import { forLongReads } from '../../shared/clickhouse/clickhouse.ts'
import { occurredEvents } from '../../shared/clickhouse/events/occurred-events.ts'
import { listRecentlyUsed } from '../../shared/clickhouse/rollups/recently-used-accounts.ts'
import { timeQueries } from '../../shared/clickhouse/time-queries.ts'
import { groupedUsageReader } from '../../shared/clickhouse/usage/grouped-usage.ts'
import { knownUsageReader } from '../../shared/clickhouse/usage/known-usage.ts'
import type { LatestSums } from '../../shared/clickhouse/usage/latest-sums.ts'
import { ratedUsageReader } from '../../shared/clickhouse/usage/rated-usage.ts'
import { rawReadSemaphore } from '../../shared/clickhouse/usage/raw-read-semaphore.ts'
import { simulatedUsageReader } from '../../shared/clickhouse/usage/simulated-usage.ts'
import { usageThroughRollups } from '../../shared/clickhouse/usage/usage-through-rollups.ts'
import { drainOf } from '../../shared/event-log/drain.ts'
import type { EventLog } from '../../shared/event-log/event-log.ts'
import { untilLoadedIn } from '../../shared/event-log/until-loaded.ts'
import type { Access } from '../../shared/http/open-access.ts'
import type { RequestMetrics } from '../../shared/http/request-metrics.ts'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'
import { apiApp, type ApiDeps } from './app.ts'
import { keepBalancesWarm } from './balances/warm-balances.ts'
import type { readApiConfig } from './config.ts'

export interface ApiParts extends Omit<
  ApiDeps,
  | 'drain'
  | 'untilLoaded'
  | 'usage'
  | 'groupedUsage'
  | 'ratedUsage'
  | 'simulatedUsage'
  | 'knownUsage'
  | 'occurredEvents'
> {
  eventLog: Pick<EventLog, 'lag'>
  /** @see usageThroughRollups */
  latestSums?: LatestSums | undefined
  access: Access
  requests: RequestMetrics
  metrics: Metrics
  log: Logger
  /** The clock of PostgreSQL. */
  nowMs?: () => number
  /** @see OperationsAppOptions.admitWrite */
  admitWrite?: () => void
}

export interface ApiOptions {
  api: ReturnType<typeof readApiConfig>
  requestTimeoutMs: number
  lookUpTimeoutMs: number
}

/** The API before it serves requests. */
export interface OpenedApi {
  handler: RequestListener
  /** The job that reads usage ahead, until it is closed. */
  warming: Closeable
}

/** Opens the API on its engines, in a process of its own or a shared one. */
export function openApi(
  { access, requests, metrics, log, nowMs, admitWrite, clickhouse, latestSums, eventLog, ...deps }: ApiParts,
  { api, requestTimeoutMs, lookUpTimeoutMs }: ApiOptions,
): OpenedApi {
  const measured = timeQueries(metrics, clickhouse)
  const patient = forLongReads(measured)
  const usage = usageThroughRollups(measured, latestSums)
  const rawReads = rawReadSemaphore()
  const listRecently = (limit: number) => listRecentlyUsed(patient, limit)
  const apiLog = log.child({ part: 'api' })
  return {
    handler: apiApp(
      {
        ...deps,
        clickhouse: measured,
        usage,
        groupedUsage: groupedUsageReader(patient, rawReads),
        ratedUsage: ratedUsageReader(patient, rawReads),
        simulatedUsage: simulatedUsageReader(patient, rawReads),
        knownUsage: knownUsageReader(patient, rawReads),
        occurredEvents: occurredEvents(patient, rawReads),
        drain: drainOf(eventLog),
        untilLoaded: untilLoadedIn(eventLog, lookUpTimeoutMs),
      },
      {
        ...access,
        requests,
        requestTimeoutMs,
        log: apiLog,
        bodyBytesMax: api.bodyBytesMax,
        servesConsole: api.servesConsole,
        browserOrigins: api.browserOrigins,
        ...(nowMs === undefined ? {} : { nowMs }),
        ...(admitWrite === undefined ? {} : { admitWrite }),
      },
    ),
    warming: keepBalancesWarm({ usage, listRecentlyUsed: listRecently }, api.warming, metrics, apiLog),
  }
}
