import { randomBytes } from 'node:crypto'
import { usageEventRepository } from '../../shared/clickhouse/usage-events.ts'
import { LOADER_GROUP, USAGE_TOPIC, type EventLog } from '../../shared/event-log/event-log.ts'
import { openPostgresEventLog } from '../../shared/event-log/postgres/postgres-event-log.ts'
import { cachedFindCaller } from '../../shared/http/authentication.ts'
import { listen } from '../../shared/http/http-server.ts'
import { closeAll, type Closeable } from '../../shared/lifecycle/close-all.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { apiKeyRepository } from '../../shared/postgres/api-keys.ts'
import { deadLetterRepository } from '../../shared/postgres/dead-letters.ts'
import { idempotencyKeyRepository } from '../../shared/postgres/idempotency-keys.ts'
import { openPool, type Pool } from '../../shared/postgres/pool.ts'
import { referenceRepository } from '../../shared/postgres/references.ts'
import { inNamespace } from '../../shared/postgres/transaction.ts'
import { microsecondClock, type Micros } from '../../shared/time/microsecond-clock.ts'
import { apiApp } from '../api/app.ts'
import { Acceptance } from '../gateway/acceptance.ts'
import { gatewayApp } from '../gateway/app.ts'
import { knownReferences } from '../gateway/known-references.ts'
import type { RequestKeys } from '../gateway/report-usage.ts'
import { loadUsage } from '../loader/load-usage.ts'
import { adminApp } from '../operator/admin-app.ts'
import { ADMIN_ADDRESS_FILE, ADMIN_TOKEN_FILE } from '../operator/ask-running.ts'
import { startAnalystEndpoint } from './analyst-endpoint.ts'
import type { StandaloneConfig } from './config.ts'
import { openDataFolder, readOrMakeSecret, writeSecretFile, type DataFolder } from './data-folder.ts'
import { dispatch } from './dispatch.ts'
import { openEngines, type Engines } from './engines.ts'
import { makeFirstCompanies, type FirstCompany } from './first-companies.ts'

/** Tally, serving. */
export interface Tally extends Closeable {
  port: number
  adminPort: number
  /** Where analysts query the embedded ClickHouse; a server has a port of its own. */
  analystPort: number | undefined
  dataFolder: string
  /** Companies that this start made: all of them on the first one, then none. */
  newCompanies: FirstCompany[]
}

/** Connections to PostgreSQL that reporting and loading have to themselves, so that no request keeps them waiting. */
const LOG_CONNECTIONS = 10
const CLOSE_REQUESTS_MS = 5_000

/**
 * Starts everything in one process, on embedded engines where no server is set. When a step fails, what was opened before
 * it is closed.
 *
 * @param onUnexpectedExit called when an engine of ours ends by itself
 * @throws StartupError in one line when something outside is in the way
 */
export async function startTally(
  config: StandaloneConfig,
  log: Logger,
  onUnexpectedExit: (reason: string) => void,
): Promise<Tally> {
  const opened: Closeable[] = []
  try {
    const folder = await openDataFolder(config.dataDir)
    opened.push(folder)
    const engines = await openEngines(config, folder, opened, log, onUnexpectedExit)
    return await serve(config, folder, engines, opened, log)
  } catch (err) {
    await closeAll(opened, log)
    throw err
  }
}

async function serve(
  config: StandaloneConfig,
  folder: DataFolder,
  engines: Engines,
  opened: Closeable[],
  log: Logger,
): Promise<Tally> {
  const pool = openRequestPool(config, engines, opened, log)
  const newCompanies = await makeFirstCompanies(pool, [
    { name: 'default', mode: 'live', keyFile: folder.join('api-key') },
    { name: 'sandbox', mode: 'test', keyFile: folder.join('test-api-key') },
  ])
  const eventLog = await openLog(config, engines, opened, log)
  await startLoader(config, engines, eventLog, pool, opened, log)

  const clickhouse = engines.clickhouse.client
  const clock = microsecondClock()
  const acceptance = new Acceptance(clock)
  const listedUpTo = listedUpToOf(acceptance, eventLog)
  const findCaller = cachedFindCaller((digest) => apiKeyRepository(pool).findCaller(digest))
  const gateway = gatewayApp(
    {
      log: eventLog,
      acceptance,
      clock,
      findUnknown: knownReferences(
        (namespaceId, accountIds, metricIds) =>
          inNamespace(pool, namespaceId, (db) =>
            referenceRepository(db).listExisting(namespaceId, accountIds, metricIds),
          ),
        config.gateway.knownIdsMax,
      ),
      requestKeys: requestKeysIn(pool),
    },
    { findCaller, log: log.child({ part: 'gateway' }), bodyBytesMax: config.gateway.bodyBytesMax },
  )
  const api = apiApp(
    { pool, clickhouse, listedUpTo },
    { findCaller, log: log.child({ part: 'api' }), bodyBytesMax: config.api.bodyBytesMax },
  )
  const token = await readOrMakeSecret(folder.join(ADMIN_TOKEN_FILE), () => randomBytes(32).toString('hex'))
  const admin = adminApp({
    deps: { pool, clickhouse, log: eventLog, listedUpTo },
    isReady: () => isReady(pool, engines),
    token,
    log: log.child({ part: 'operator' }),
  })
  const common = { closeTimeoutMs: CLOSE_REQUESTS_MS }
  const adminServer = await listen(admin, {
    ...common,
    name: 'the operators’ port',
    host: '127.0.0.1',
    port: config.adminPort,
    portSetting: 'ADMIN_PORT',
  })
  opened.push(adminServer)
  await writeSecretFile(folder.join(ADMIN_ADDRESS_FILE), `127.0.0.1:${adminServer.port}\n`)
  const analystPort = await startAnalystEndpoint(config, folder, engines.clickhouse, opened, log)
  // Last to open, first to close: whoever connects finds everything there.
  const server = await listen(dispatch(gateway, api), {
    ...common,
    name: 'the HTTP API',
    host: config.host,
    port: config.port,
    portSetting: 'PORT',
  })
  opened.push(server)
  return {
    name: 'Tally',
    port: server.port,
    adminPort: adminServer.port,
    analystPort,
    dataFolder: folder.path,
    newCompanies,
    close: () => closeAll(opened, log),
  }
}

function openRequestPool(
  { postgres }: StandaloneConfig,
  engines: Engines,
  opened: Closeable[],
  log: Logger,
): Pool {
  const { connectionsMax, statementTimeoutMs } = postgres
  const url = engines.databaseUrl
  const pool = openPool({ url, name: 'tally api', connectionsMax, statementTimeoutMs, log })
  opened.push({ name: 'PostgreSQL pool', close: () => pool.end() })
  return pool
}

async function openLog(
  config: StandaloneConfig,
  engines: Engines,
  opened: Closeable[],
  log: Logger,
): Promise<EventLog> {
  const pool = openPool({
    url: engines.databaseUrl,
    name: 'tally event log',
    connectionsMax: LOG_CONNECTIONS,
    statementTimeoutMs: config.postgres.statementTimeoutMs,
    log,
  })
  opened.push({ name: 'event log pool', close: () => pool.end() })
  const eventLog = await openPostgresEventLog({
    ...config.eventLog,
    pool,
    topic: USAGE_TOPIC,
    alone: engines.alone,
    log: log.child({ part: 'event log' }),
  })
  opened.push(eventLog)
  return eventLog
}

async function startLoader(
  config: StandaloneConfig,
  engines: Engines,
  eventLog: EventLog,
  pool: Pool,
  opened: Closeable[],
  log: Logger,
): Promise<void> {
  const usage = usageEventRepository(engines.clickhouse.client)
  const deadLetters = deadLetterRepository(pool)
  const loader = loadUsage(
    {
      consumer: await eventLog.join(LOADER_GROUP),
      insertLines: (lines) => usage.insertLines(lines),
      bury: ({ partition, offset, line, bytes }, reason) =>
        deadLetters.insert({ topic: USAGE_TOPIC, partition, offset, line, reason, value: bytes }),
      log: log.child({ part: 'loader' }),
    },
    config.loader,
  )
  opened.push(loader)
}

/** Keys of requests, each step a transaction of its own: the events between them go to the log, not to PostgreSQL. */
function requestKeysIn(pool: Pool): RequestKeys {
  return {
    begin: (namespaceId, route, key, at) =>
      inNamespace(pool, namespaceId, (db) => idempotencyKeyRepository(db).begin(namespaceId, route, key, at)),
    complete: (namespaceId, route, key) =>
      inNamespace(pool, namespaceId, (db) => idempotencyKeyRepository(db).complete(namespaceId, route, key)),
  }
}

/** First what is on its way into the log, then what is in it: an event passes from the one to the other in that order. */
function listedUpToOf(acceptance: Acceptance, eventLog: EventLog): () => Promise<Micros> {
  return async () => {
    const underWay = acceptance.lowest()
    return Math.min(underWay, (await eventLog.lowestUnread(LOADER_GROUP)) ?? Infinity)
  }
}

async function isReady(pool: Pool, { clickhouse }: Engines): Promise<boolean> {
  const [postgres, ping] = await Promise.allSettled([pool.query('SELECT 1'), clickhouse.client.ping()])
  return postgres.status === 'fulfilled' && ping.status === 'fulfilled' && ping.value.success
}
