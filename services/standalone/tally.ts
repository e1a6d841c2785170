import { existsSync } from 'node:fs'
import { usageEventRepository } from '../../shared/clickhouse/usage-events.ts'
import { API_ADDRESS_FILE } from '../../shared/config/places.ts'
import { writeSecretFile } from '../../shared/config/secret-file.ts'
import { appendSettlesMs } from '../../shared/event-log/config.ts'
import { LOADER_GROUP, USAGE_TOPIC, type EventLog } from '../../shared/event-log/event-log.ts'
import { openPostgresEventLog } from '../../shared/event-log/postgres/postgres-event-log.ts'
import { closeAll, type Closeable } from '../../shared/lifecycle/close-all.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { deadLetterRepository } from '../../shared/postgres/dead-letters.ts'
import { openPool, type Pool } from '../../shared/postgres/pool.ts'
import { openSharing } from '../../shared/redis/open-sharing.ts'
import { microsecondClock } from '../../shared/time/microsecond-clock.ts'
import { Acceptance } from '../gateway/acceptance.ts'
import type { Trouble } from '../loader/activity.ts'
import { loadUsage, type Loader } from '../loader/load-usage.ts'
import { ADMIN_ADDRESS_FILE } from '../operator/ask-running.ts'
import { startAnalystEndpoint } from './analyst-endpoint.ts'
import { makeAdminApp, makeTallyApp, type Parts } from './apps.ts'
import type { StandaloneConfig } from './config.ts'
import { openDataFolder, type DataFolder } from './data-folder.ts'
import { openEngines, type Engines } from './engines.ts'
import { makeFirstCompanies, type FirstCompany } from './first-companies.ts'
import { listedUpToOf } from './listed-up-to.ts'
import { portsOf, requirePorts } from './ports.ts'
import { openServers } from './servers.ts'

/** Tally, serving. */
export interface Tally extends Closeable {
  port: number
  /** Host and port as they stand in a URL, for clients on this machine. */
  address: string
  adminPort: number
  /** Where analysts query the embedded ClickHouse; a server has a port of its own. */
  analystPort: number | undefined
  dataFolder: string
  /** The companies of a new installation, as far as the files of their keys are there. */
  firstCompanies: FirstCompany[]
}

/** Connections to PostgreSQL that reporting and loading have to themselves, so that no other request keeps them waiting. */
const LOG_CONNECTIONS = 10
const REPORT_CONNECTIONS = 10

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
    await requirePorts(config)
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
  const { connectionsMax } = config.postgres
  const pool = openOnePool('tally api', connectionsMax, config, engines, opened, log)
  const reportPool = openOnePool('tally gateway', REPORT_CONNECTIONS, config, engines, opened, log)
  const firstCompanies: FirstCompany[] = [
    { name: 'default', mode: 'live', keyFile: folder.join('api-key') },
    { name: 'sandbox', mode: 'test', keyFile: folder.join('test-api-key') },
  ]
  await makeFirstCompanies(pool, firstCompanies)
  const eventLog = await openLog(config, engines, opened, log)
  const loader = await startLoader(config, engines, eventLog, pool, opened, log)

  const clock = microsecondClock()
  const settleMs = appendSettlesMs(config.eventLog.appendDeadlineMs, config.postgres.statementTimeoutMs)
  const acceptance = new Acceptance(clock, settleMs)
  const { alone } = engines
  const stopping = new AbortController()
  const parts: Parts = {
    pool,
    reportPool,
    clickhouse: engines.clickhouse.client,
    eventLog,
    acceptance,
    clock,
    listedUpTo: listedUpToOf({ acceptance, eventLog, clock, alone, settleMs }),
    sharing: await openSharing(config.redis, reportPool, opened, log),
    isReady: () => isReady(pool, engines, loader.listTroubles(config.loader.failingMaxMs), log),
    stopping: stopping.signal,
  }
  const ports = portsOf(config)
  const servers = openServers(opened, log)
  // Before the servers close: they wait for their answers.
  opened.push({
    name: 'commands',
    close() {
      stopping.abort()
      return Promise.resolve()
    },
  })
  const adminServer = await servers.open(await makeAdminApp(parts, folder, log), ports.operators)
  await writeSecretFile(folder.join(ADMIN_ADDRESS_FILE), `127.0.0.1:${adminServer.port}\n`)
  const analystPort = await startAnalystEndpoint(config, folder, engines.clickhouse, opened, servers, log)
  // Last to open: whoever connects finds everything there.
  const server = await servers.open(makeTallyApp(parts, config, log), {
    ...ports.api,
    requestTimeoutMs: config.requestTimeoutMs,
  })
  const address = `${hostToCall(config.host)}:${server.port}`
  await writeSecretFile(folder.join(API_ADDRESS_FILE), `${address}\n`)
  return {
    name: 'Tally',
    port: server.port,
    address,
    adminPort: adminServer.port,
    analystPort,
    dataFolder: folder.path,
    firstCompanies: firstCompanies.filter(({ keyFile }) => existsSync(keyFile)),
    close: () => closeAll(opened, log),
  }
}

/** The host in a URL for clients on this machine: who listens on every address is called on that of the machine itself. */
function hostToCall(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}

function openOnePool(
  name: string,
  connectionsMax: number,
  { postgres: { statementTimeoutMs } }: StandaloneConfig,
  { databaseUrl: url }: Engines,
  opened: Closeable[],
  log: Logger,
): Pool {
  const pool = openPool({ url, name, connectionsMax, statementTimeoutMs, log })
  opened.push({ name: `${name}: PostgreSQL pool`, close: () => pool.end() })
  return pool
}

async function openLog(
  config: StandaloneConfig,
  engines: Engines,
  opened: Closeable[],
  log: Logger,
): Promise<EventLog> {
  const pool = openOnePool('tally event log', LOG_CONNECTIONS, config, engines, opened, log)
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
): Promise<Loader> {
  const usage = usageEventRepository(engines.loaderClickhouse.client)
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
  return loader
}

async function isReady(
  pool: Pool,
  { clickhouse }: Engines,
  troubles: readonly Trouble[],
  log: Logger,
): Promise<boolean> {
  for (const trouble of troubles) log.warn(trouble, 'not ready: the loader does not get on')
  const [postgres, ping] = await Promise.allSettled([pool.query('SELECT 1'), clickhouse.client.ping()])
  const enginesAnswer = postgres.status === 'fulfilled' && ping.status === 'fulfilled' && ping.value.success
  return enginesAnswer && troubles.length === 0
}
