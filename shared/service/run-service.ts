import { setTimeout as sleep } from 'node:timers/promises'
import type { EnvReader } from '../config/env-reader.ts'
import { hostToCall } from '../config/host-to-call.ts'
import { listen } from '../http/http-server.ts'
import { type Closeable, closeAll } from '../lifecycle/close-all.ts'
import { expectLostOutput } from '../lifecycle/lost-output.ts'
import { readSettings } from '../lifecycle/read-settings.ts'
import { stopSignal } from '../lifecycle/stop-signal.ts'
import { createLogger, type Logger, type LogLevel } from '../logging/logger.ts'
import { showBuildInfo } from '../metrics/build-info.ts'
import { type Metrics, openMetrics } from '../metrics/metrics.ts'
import { adminApp } from './admin-app.ts'
import type { AdminConfig } from './admin-config.ts'
import type { Probes } from './probes.ts'

/** The settings of every service. */
export interface ServiceConfig {
  admin: AdminConfig
  logLevel: LogLevel
}

/** A part of Tally in a process of its own. */
export interface Service<Config extends ServiceConfig> {
  /** The name in its command, as in `npm run gateway`. */
  name: string
  /** A sentence that says what the service does. */
  about: string
  readConfig: (read: EnvReader) => Config
  /** Opens the service's parts, in order. */
  open: (config: Config, frame: Frame) => Promise<Running>
}

/** The objects that runService passes to a service, to open its parts. */
interface Frame {
  /** The service adds each part here once it is open. Parts are closed newest first, also after a failed start. */
  opened: Closeable[]
  metrics: Metrics
  log: Logger
}

/** A service that is running. */
interface Running extends Probes {
  /** The service's address; undefined if it answers only probes. */
  address?: string
  /** Called when the service must end but still serves: from now on each answer ends its connection. */
  drain?: () => void
}

/** A process must end within ten seconds. It kills itself shortly before. */
const STOP_MS = 9_500
/** The longest time that an answer to a probe may take when the process ends. */
const CLOSE_PROBES_MS = 500

/**
 * Runs a service: reads its settings, opens its parts, and prints one line when they are open. On SIGTERM or Ctrl-C, it
 * serves for the delay of its settings, and then closes the parts, newest first. It answers probes during the whole
 * time.
 *
 * @throws ConfigError or StartupError, whose message says what to do
 */
export async function runService<Config extends ServiceConfig>(service: Service<Config>): Promise<void> {
  const { name, about, readConfig } = service
  const config = readSettings(process.argv.slice(2), {
    command: `npm run ${name}`,
    about,
    readConfig,
    advice: `: the ${name} is a process of its own, on servers that it shares with others; npm start runs everything in one process, on databases of its own`,
  })
  if (config === undefined) return
  const log = createLogger(config.logLevel).child({ service: name })
  expectLostOutput()
  // Signals are handled from the start, so that a stop during the start is orderly, too.
  const { shutdownDelayMs } = config.admin
  const stopped = stopSignal(log, STOP_MS, shutdownDelayMs)
  const opened: Closeable[] = []
  try {
    const probes: Probes = { isLive: () => true, isReady: () => Promise.resolve(false) }
    const metrics = openMetrics()
    showBuildInfo(metrics, name)
    const admin = await openAdminPort(config.admin, probes, metrics, log)
    opened.push(admin)
    const { isLive, isReady, address, drain } = await service.open(config, { opened, metrics, log })
    probes.isLive = isLive
    probes.isReady = isReady
    const serves = address === undefined ? 'runs' : `serves on http://${address}`
    process.stdout.write(`Tally ${name} ${serves}, probes on http://${admin.address}\n`)
    await stopped
    probes.isReady = () => Promise.resolve(false) // first, so that no more requests are routed here
    drain?.()
    await sleep(shutdownDelayMs)
  } finally {
    await closeAll(opened, log)
  }
}

/** @param probes its functions are looked up at each request, because they change while the process starts and stops */
async function openAdminPort(
  { host, port }: AdminConfig,
  probes: Probes,
  metrics: Metrics,
  log: Logger,
): Promise<Closeable & { address: string }> {
  const app = adminApp({ probes, metrics, host, log })
  const server = await listen(app, {
    name: 'the admin port',
    host,
    port,
    portSetting: 'ADMIN_PORT',
    hostSetting: 'ADMIN_HOST',
    closeTimeoutMs: CLOSE_PROBES_MS,
  })
  return { ...server, address: `${hostToCall(host)}:${server.port}` }
}
