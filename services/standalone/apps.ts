import { randomBytes } from 'node:crypto'
import type { RequestListener } from 'node:http'
import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { readOrMakeSecret } from '../../shared/config/secret-file.ts'
import type { EventLog } from '../../shared/event-log/event-log.ts'
import { cachedFindCaller } from '../../shared/http/authentication.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { apiKeyRepository } from '../../shared/postgres/api-keys.ts'
import { idempotencyKeyRepository } from '../../shared/postgres/idempotency-keys.ts'
import type { Pool } from '../../shared/postgres/pool.ts'
import { referenceRepository } from '../../shared/postgres/references.ts'
import { inNamespace } from '../../shared/postgres/transaction.ts'
import { openRateLimits } from '../../shared/rate-limit/rate-limits.ts'
import type { Sharing } from '../../shared/redis/open-sharing.ts'
import type { Clock, Micros } from '../../shared/time/microsecond-clock.ts'
import { apiApp } from '../api/app.ts'
import type { Acceptance } from '../gateway/acceptance.ts'
import { gatewayApp } from '../gateway/app.ts'
import { knownReferences } from '../gateway/known-references.ts'
import type { RequestKeys } from '../gateway/report-usage.ts'
import { adminApp } from '../operator/admin-app.ts'
import { ADMIN_TOKEN_FILE } from '../operator/ask-running.ts'
import type { StandaloneConfig } from './config.ts'
import type { DataFolder } from './data-folder.ts'
import { dispatch } from './dispatch.ts'

/** What the HTTP side of Tally is made of. */
export interface Parts {
  pool: Pool
  /** For reports alone. */
  reportPool: Pool
  clickhouse: ClickHouse
  eventLog: EventLog
  acceptance: Acceptance
  clock: Clock
  listedUpTo: () => Promise<Micros>
  sharing: Sharing
  isReady: () => Promise<boolean>
  /** Aborted when Tally stops: commands of operators end with it. */
  stopping: AbortSignal
}

/** Gateway and API behind one port. */
export function makeTallyApp(parts: Parts, config: StandaloneConfig, log: Logger): RequestListener {
  const { pool, reportPool, clickhouse, eventLog, acceptance, clock, listedUpTo, sharing } = parts
  const { redis, purges, callers, references } = sharing
  const common = {
    findCaller: cachedFindCaller((digest) => apiKeyRepository(reportPool).findCaller(digest), {
      purges,
      shared: callers,
    }),
    limits: openRateLimits(config.rateLimits, redis),
    requestTimeoutMs: config.requestTimeoutMs,
  }
  const gateway = gatewayApp(
    {
      log: eventLog,
      acceptance,
      clock,
      findUnknown: knownReferences(
        (namespaceId, accountIds, metricIds) =>
          inNamespace(reportPool, namespaceId, (db) =>
            referenceRepository(db).listExisting(namespaceId, accountIds, metricIds),
          ),
        config.gateway.knownIdsMax,
        { purges, shared: references },
      ),
      requestKeys: requestKeysIn(reportPool),
    },
    { ...common, log: log.child({ part: 'gateway' }), bodyBytesMax: config.gateway.bodyBytesMax },
  )
  const api = apiApp(
    { pool, clickhouse, listedUpTo },
    { ...common, log: log.child({ part: 'api' }), bodyBytesMax: config.api.bodyBytesMax },
  )
  return dispatch(gateway, api)
}

/** Probes, and the commands of operators, for whoever can read the token in the data folder. */
export async function makeAdminApp(parts: Parts, folder: DataFolder, log: Logger): Promise<RequestListener> {
  const { pool, clickhouse, eventLog, listedUpTo, sharing, isReady, stopping } = parts
  const token = await readOrMakeSecret(folder.join(ADMIN_TOKEN_FILE), () => randomBytes(32).toString('hex'))
  return adminApp({
    deps: { pool, clickhouse, log: eventLog, listedUpTo, purges: sharing.purges },
    isReady,
    token,
    log: log.child({ part: 'operator' }),
    stopping,
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
