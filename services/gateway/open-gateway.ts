import type { RequestListener } from 'node:http'
import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { usageEventRepository } from '../../shared/clickhouse/events/usage-events.ts'
import type { EventLog } from '../../shared/event-log/event-log.ts'
import { untilLoadedIn } from '../../shared/event-log/until-loaded.ts'
import type { Access } from '../../shared/http/open-access.ts'
import type { RequestMetrics } from '../../shared/http/request-metrics.ts'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../shared/postgres/core/transaction.ts'
import { referenceRepository } from '../../shared/postgres/references.ts'
import type { Purges } from '../../shared/redis/purges.ts'
import type { Clock } from '../../shared/time/microsecond-clock.ts'
import { findStoredEventsIn } from '../../shared/usage/stored-events.ts'
import type { Acceptance } from './acceptance.ts'
import type { ClockWatch } from './clock-watch.ts'
import { namedReferences } from './cloud-events/named-references.ts'
import type { readGatewayConfig } from './config.ts'
import { correctUsage } from './correct-usage.ts'
import { countEvents } from './count-events.ts'
import type { GatewayPoint } from './crash-points.ts'
import { existingReferences } from './existing-references.ts'
import { measureAppends } from './measure-appends.ts'
import { relayRevisions } from './relay-revisions.ts'
import { reportListener } from './report-listener.ts'
import { reportUsage } from './report-usage.ts'
import { requestKeysIn } from './request-keys.ts'
import { seedNamespace } from './seed/seed-namespace.ts'
import { revisionSender } from './send-revisions.ts'

export interface GatewayParts {
  /** Connections for reports and corrections only. */
  pool: Pool
  /** Used to look up the events of corrections. Reports do not need it. */
  clickhouse: ClickHouse
  eventLog: Pick<EventLog, 'append' | 'partitions' | 'lag'>
  acceptance: Acceptance
  /** The clock of this machine. */
  clock: Clock
  watch: Pick<ClockWatch, 'mayBeBehind'>
  access: Access
  /** Says when to empty the cache of accounts and metrics. */
  purges: Purges
  requests: RequestMetrics
  metrics: Metrics
  log: Logger
  /** Throws when there is no room to store more: see OperationsAppOptions.admitWrite. */
  admitWrite?: () => void
  /** Called at each crash point. */
  reached?: Reached<GatewayPoint>
}

export interface GatewayOptions {
  gateway: Pick<ReturnType<typeof readGatewayConfig>, 'bodyBytesMax' | 'existingIdsMax'>
  requestTimeoutMs: number
  lookUpTimeoutMs: number
}

/** The gateway before it serves requests. */
export interface OpenedGateway {
  handler: RequestListener
  /** The job that sends corrections that their request did not send, for example after a crash. */
  relay: Closeable
}

/** Makes the gateway from its parts. It runs in a process of its own, or in one that other services share. */
export function openGateway(parts: GatewayParts, options: GatewayOptions): OpenedGateway {
  const { pool, clickhouse, eventLog, acceptance, clock, watch, access, purges, requests, metrics } = parts
  const { gateway, requestTimeoutMs, lookUpTimeoutMs } = options
  const log = parts.log.child({ part: 'gateway' })
  const crashPoints = parts.reached === undefined ? {} : { reached: parts.reached }
  const measuredLog = measureAppends(metrics, eventLog)
  const sender = revisionSender(measuredLog, pool, () => acceptance.passing())
  const report = reportUsage({
    log: measuredLog,
    acceptance,
    clock,
    mayBeBehind: () => watch.mayBeBehind,
    findMissing: existingReferences(
      (namespaceId, accountIds, metricIds) =>
        inNamespace(pool, namespaceId, (db) =>
          referenceRepository(db).listExisting(namespaceId, accountIds, metricIds),
        ),
      gateway.existingIdsMax,
      purges,
    ),
    requestKeys: requestKeysIn(pool),
    ...crashPoints,
  })
  const correct = correctUsage({
    pool,
    findStored: findStoredEventsIn(
      usageEventRepository(clickhouse),
      untilLoadedIn(eventLog, lookUpTimeoutMs),
    ),
    sender,
    clock,
    log,
    ...crashPoints,
  })
  const work = countEvents(metrics, { report, correct })
  return {
    handler: reportListener(work, {
      ...access,
      seedNamespace: seedNamespace(pool, work.report),
      requests,
      requestTimeoutMs,
      log,
      bodyBytesMax: gateway.bodyBytesMax,
      findNamed: namedReferences(
        (namespaceId, subjects, types) =>
          inNamespace(pool, namespaceId, (db) =>
            referenceRepository(db).listNamed(namespaceId, subjects, types),
          ),
        gateway.existingIdsMax,
        purges,
      ),
      admitWrite() {
        acceptance.requireOpen()
        parts.admitWrite?.()
      },
    }),
    relay: relayRevisions({ pool, sender, metrics, log, ...crashPoints }),
  }
}
