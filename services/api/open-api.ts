import type { RequestListener } from 'node:http'
import { measureQueries } from '../../shared/clickhouse/measure-queries.ts'
import { drainOf } from '../../shared/event-log/drain.ts'
import type { EventLog } from '../../shared/event-log/event-log.ts'
import { untilLoadedIn } from '../../shared/event-log/until-loaded.ts'
import type { Access } from '../../shared/http/open-access.ts'
import type { RequestMetrics } from '../../shared/http/request-metrics.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'
import { apiApp, type ApiDeps } from './app.ts'
import type { readApiConfig } from './config.ts'

export interface ApiParts extends Omit<ApiDeps, 'drain' | 'untilLoaded'> {
  eventLog: Pick<EventLog, 'lag'>
  access: Access
  requests: RequestMetrics
  metrics: Metrics
  log: Logger
}

export interface ApiOptions {
  api: ReturnType<typeof readApiConfig>
  requestTimeoutMs: number
  lookUpTimeoutMs: number
}

/** The API on its engines, for a process of its own or one with others. */
export function openApi(
  { access, requests, metrics, log, clickhouse, eventLog, ...deps }: ApiParts,
  { api, requestTimeoutMs, lookUpTimeoutMs }: ApiOptions,
): RequestListener {
  const measured = measureQueries(metrics, clickhouse)
  return apiApp(
    {
      ...deps,
      clickhouse: measured,
      drain: drainOf(eventLog),
      untilLoaded: untilLoadedIn(eventLog, lookUpTimeoutMs),
    },
    {
      ...access,
      requests,
      requestTimeoutMs,
      log: log.child({ part: 'api' }),
      bodyBytesMax: api.bodyBytesMax,
    },
  )
}
