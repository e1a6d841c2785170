import { existsSync } from 'node:fs'
import path from 'node:path'
import { getsOn } from '../../shared/service/gets-on.ts'
import { API_ADDRESS_FILE } from '../../shared/config/common-settings.ts'
import { writeSecretFile } from '../../shared/config/secret-file.ts'
import { deleteNamespaces } from '../../shared/clickhouse/events/delete-namespaces.ts'
import { explainFullDisk } from '../../shared/errors/disk-full.ts'
import { makeSumsCache } from '../../shared/clickhouse/usage/sums-cache.ts'
import { listedUpToOf } from '../../shared/event-log/listed-up-to.ts'
import { openDeadLetters, openEventLog } from '../../shared/event-log/open-event-log.ts'
import { hostToCall } from '../../shared/config/host-to-call.ts'
import { openAccess } from '../../shared/http/open-access.ts'
import { openServers } from '../../shared/http/open-servers.ts'
import { closeAll, type Closeable } from '../../shared/lifecycle/close-all.ts'
import { watchDisk } from '../../shared/lifecycle/disk-space.ts'
import { stuckAfterMs } from '../../shared/lifecycle/stuck-after-ms.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { followClock } from '../../shared/postgres/core/follow-clock.ts'
import {
  LOG_CONNECTIONS,
  openRequestPool,
  openServicePool,
  REPORT_CONNECTIONS,
} from '../../shared/postgres/core/open-service-pool.ts'
import { openMetrics } from '../../shared/metrics/metrics.ts'
import { watchPools } from '../../shared/postgres/core/watch-pools.ts'
import { openTestWorlds } from '../../shared/postgres/test-worlds.ts'
import { openSharing } from '../../shared/redis/open-sharing.ts'
import { keepEmptying } from '../api/test-area/empty-retired-namespaces.ts'
import { openAcceptance } from '../gateway/open-acceptance.ts'
import { LOADER_TROUBLE, openLoader } from '../loader/open-loader.ts'
import { openRefill, REFILL_CONNECTIONS } from '../refill/open-refill.ts'
import { openRollup, ROLLUP_CONNECTIONS } from '../rollup/open-rollup.ts'
import { openCommandSocket } from '../operator/open-command-socket.ts'
import { startAnalystEndpoint } from './analyst-endpoint.ts'
import { makeAdminApp, makeCommandsApp, makeTallyApp, type Parts } from './apps.ts'
import type { StandaloneConfig } from './config.ts'
import { openDataFolder, type DataFolder } from './data-folder.ts'
import { openEngines, type Engines } from './engines.ts'
import { requireRoom } from './require-room.ts'
import { makeFirstCompanies, type FirstCompany } from './first-companies.ts'
import { portsOf, requirePorts } from './ports.ts'

/** Tally, serving. */
export interface Tally extends Closeable {
  port: number
  /** Host and port as they stand in a URL, for clients on this machine. */
  address: string
  /** The same of the port for probes and metrics. */
  adminAddress: string
  /** Where analysts query the embedded ClickHouse; a server has a port of its own. */
  analystPort: number | undefined
  dataFolder: string
  /** The companies of a new installation, as far as the files of their keys are there. */
  firstCompanies: FirstCompany[]
  /** Those of them whose files are gone. */
  missingKeys: FirstCompany[]
}

/**
 * Starts everything in one process, on embedded engines where no server is set. When a step fails, what was opened
 * before it is closed.
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
    throw explainFullDisk(err, path.resolve(config.dataDir))
  }
}

async function serve(
  config: StandaloneConfig,
  folder: DataFolder,
  engines: Engines,
  opened: Closeable[],
  log: Logger,
): Promise<Tally> {
  const { connectionsMax, statementTimeoutMs } = config.postgres
  const postgres = { url: engines.databaseUrl, statementTimeoutMs }
  const pool = openRequestPool('api', connectionsMax, postgres, opened, log)
  const reportPool = openRequestPool('gateway', REPORT_CONNECTIONS, postgres, opened, log)
  const firstCompanies: FirstCompany[] = [
    { name: 'default', mode: 'live', keyFile: folder.join('api-key') },
    { name: 'sandbox', mode: 'test', keyFile: folder.join('test-api-key') },
  ]
  await makeFirstCompanies(pool, firstCompanies)
  const { alone } = engines
  const metrics = openMetrics()
  const { acceptance, clock, watch, lowestUnderWay } = await openAcceptance(
    { pool: reportPool, alone, metrics, log },
    { eventLog: config.eventLog, statementTimeoutMs, ...config.gateway },
    opened,
  )
  const logPool = openServicePool('event log', LOG_CONNECTIONS, postgres, opened, log)
  const eventLog = await openEventLog(config.eventLog, { pool: logPool, alone, housekeeping: true, log })
  opened.push(eventLog)
  const deadLetterTopic = openDeadLetters(config.eventLog, log)
  if (deadLetterTopic !== undefined) opened.push(deadLetterTopic)
  const worlds = openTestWorlds(postgres, config.requestTimeoutMs, opened, log)
  const refillPool = openServicePool('refill', REFILL_CONNECTIONS, postgres, opened, log)
  const rollupPool = openServicePool('rollup', ROLLUP_CONNECTIONS, postgres, opened, log)
  watchPools(metrics, {
    api: pool,
    gateway: reportPool,
    event_log: logPool,
    test_companies: worlds.pool,
    refill: refillPool,
    rollup: rollupPool,
  })
  const isEmbedded = alone || engines.clickhouse.engine !== undefined
  const disk = isEmbedded ? await watchDisk(folder.path, { metrics, log }) : undefined
  if (disk !== undefined) opened.push(disk)
  const room = requireRoom(disk, alone)
  const sumsCache = engines.clickhouse.engine === undefined ? undefined : makeSumsCache()
  const loaderParts = {
    pool,
    clickhouse: engines.loaderClickhouse.client,
    sumsCache,
    eventLog,
    deadLetterTopic,
    hasRoom: room.forLoading,
    metrics,
    log,
  }
  const loader = await openLoader(loaderParts, config.loader)
  opened.push(loader)
  const listedUpTo = listedUpToOf({ lowestUnderWay, eventLog })
  const clickhouse = engines.clickhouse.client
  const rollupParts = { pool: rollupPool, clickhouse: engines.rollupClickhouse.client, metrics, log }
  opened.push(openRollup(rollupParts, config.rollup))
  opened.push(
    openRefill({ pool: refillPool, clickhouse, sumsCache, listedUpTo, metrics, log }, config.refill),
  )

  const stuckMs = stuckAfterMs({ statementTimeoutMs, ...config.clickhouse })
  let serving = false
  const sharing = await openSharing(config.redis, opened, log)
  const stopping = new AbortController()
  const databaseClock = await followClock(pool, log)
  opened.push(databaseClock)
  const parts: Parts = {
    pool,
    reportPool,
    clickhouse,
    rollupClickhouse: engines.rollupClickhouse.client,
    sumsCache,
    eventLog,
    acceptance,
    clock,
    watch,
    listedUpTo,
    room,
    nowMs: databaseClock.nowMs,
    isLive: () => !loader.isStuck(stuckMs),
    isReady: async () =>
      serving &&
      acceptance.isOpen &&
      (await getsOn({
        work: loader,
        pool,
        clickhouse,
        failingMaxMs: config.loader.failingMaxMs,
        trouble: LOADER_TROUBLE,
        log,
      })),
    metrics,
    purges: sharing.purges,
    access: openAccess(reportPool, worlds, config.rateLimits, sharing, opened, log),
    stopping: stopping.signal,
  }
  opened.push(
    keepEmptying(
      { pool, deleteNamespaces: deleteNamespaces(clickhouse), listedUpTo },
      config.api.emptyEveryMs,
      log,
    ),
  )
  opened.push(await openCommandSocket(makeCommandsApp(parts, config, folder, log), folder.path))
  const ports = portsOf(config)
  const servers = openServers(opened, log)
  // First of all: their socket waits for their answers when it closes.
  opened.push({
    name: 'commands',
    close() {
      stopping.abort()
      return Promise.resolve()
    },
  })
  const adminServer = await servers.open(makeAdminApp(parts, config, log), ports.admin)
  const analystPort = await startAnalystEndpoint(config, folder, engines.clickhouse, opened, servers, {
    ...parts,
    log,
  })
  const { handler, relay, warming } = makeTallyApp(parts, config, log)
  opened.push(relay, warming)
  // Last to open: whoever connects finds everything there.
  const server = await servers.open(handler, {
    ...ports.api,
    requestTimeoutMs: config.requestTimeoutMs,
  })
  serving = true
  const address = `${hostToCall(config.host)}:${server.port}`
  await writeSecretFile(folder.join(API_ADDRESS_FILE), `${address}\n`)
  return {
    name: 'Tally',
    port: server.port,
    address,
    adminAddress: `${hostToCall(config.admin.host)}:${adminServer.port}`,
    analystPort,
    dataFolder: folder.path,
    firstCompanies: firstCompanies.filter(({ keyFile }) => existsSync(keyFile)),
    missingKeys: firstCompanies.filter(({ keyFile }) => !existsSync(keyFile)),
    close: () => closeAll(opened, log),
  }
}
