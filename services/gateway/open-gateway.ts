import type { RequestListener } from 'node:http'
import type { EventLog } from '../../shared/event-log/event-log.ts'
import type { Access } from '../../shared/http/open-access.ts'
import type { RequestMetrics } from '../../shared/http/request-metrics.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { measureAppends } from './measure-appends.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'
import { idempotencyKeyRepository } from '../../shared/postgres/idempotency-keys.ts'
import type { Pool } from '../../shared/postgres/pool.ts'
import { referenceRepository } from '../../shared/postgres/references.ts'
import { inNamespace } from '../../shared/postgres/transaction.ts'
import type { Clock } from '../../shared/time/microsecond-clock.ts'
import type { Acceptance } from './acceptance.ts'
import type { readGatewayConfig } from './config.ts'
import { countEvents } from './count-events.ts'
import type { GatewayPoint } from './crash-points.ts'
import { knownReferences } from './known-references.ts'
import type { Sharing } from '../../shared/redis/open-sharing.ts'
import { reportListener } from './report-listener.ts'
import { reportUsage, type RequestKeys } from './report-usage.ts'
import { seedWorld } from './seed-world.ts'

export interface GatewayParts {
  /** Connections that reports have to themselves. */
  pool: Pool
  eventLog: Pick<EventLog, 'append' | 'partitions'>
  acceptance: Acceptance
  clock: Clock
  access: Access
  /** What is known of accounts and metrics. */
  sharing: Pick<Sharing, 'purges' | 'references'>
  requests: RequestMetrics
  metrics: Metrics
  log: Logger
  /** Told where reports get to. */
  reached?: Reached<GatewayPoint>
}

export interface GatewayOptions {
  gateway: ReturnType<typeof readGatewayConfig>
  requestTimeoutMs: number
}

/** The gateway on its engines, for a process of its own or one with others. */
export function openGateway(parts: GatewayParts, options: GatewayOptions): RequestListener {
  const { pool, eventLog, acceptance, clock, access, sharing, requests, metrics, log, reached } = parts
  const { gateway, requestTimeoutMs } = options
  const report = countEvents(
    metrics,
    reportUsage({
      log: measureAppends(metrics, eventLog),
      acceptance,
      clock,
      findUnknown: knownReferences(
        (namespaceId, accountIds, metricIds) =>
          inNamespace(pool, namespaceId, (db) =>
            referenceRepository(db).listExisting(namespaceId, accountIds, metricIds),
          ),
        gateway.knownIdsMax,
        { purges: sharing.purges, shared: sharing.references },
      ),
      requestKeys: requestKeysIn(pool),
      ...(reached === undefined ? {} : { reached }),
    }),
  )
  return reportListener(report, {
    ...access,
    seedWorld: seedWorld(pool, report),
    requests,
    requestTimeoutMs,
    log: log.child({ part: 'gateway' }),
    bodyBytesMax: gateway.bodyBytesMax,
  })
}

/** Keys of requests, each step a transaction of its own: the events between them go to the log, not to PostgreSQL. */
function requestKeysIn(pool: Pool): RequestKeys {
  return {
    begin: (namespaceId, route, key, body, at) =>
      inNamespace(pool, namespaceId, (db) =>
        idempotencyKeyRepository(db).begin(namespaceId, route, key, body, at),
      ),
    complete: (namespaceId, route, key) =>
      inNamespace(pool, namespaceId, (db) => idempotencyKeyRepository(db).complete(namespaceId, route, key)),
  }
}
