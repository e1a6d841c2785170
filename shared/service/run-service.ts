import { EnvReader } from '../config/env-reader.ts'
import { hostToCall } from '../config/host-to-call.ts'
import { listen } from '../http/http-server.ts'
import { type Closeable, closeAll } from '../lifecycle/close-all.ts'
import { expectLostOutput } from '../lifecycle/lost-output.ts'
import { takeNoOptions } from '../lifecycle/no-options.ts'
import { stopSignal } from '../lifecycle/stop-signal.ts'
import { createLogger, type Logger, type LogLevel } from '../logging/logger.ts'
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
  /** As in `npm run gateway`. */
  name: string
  /** What the service does, as a sentence. */
  about: string
  readConfig: (read: EnvReader) => Config
  /** Opens its parts in order. */
  open: (config: Config, frame: Frame) => Promise<Running>
}

/** What a service gets to open its parts. */
interface Frame {
  /** Each part is added here once it is open. Parts are closed newest first, also after a failed start. */
  opened: Closeable[]
  metrics: Metrics
  log: Logger
}

/** A service that is running. */
interface Running extends Probes {
  /** Its address; undefined when it answers only probes. */
  address?: string
}

/** A process has ten seconds to end; it is killed shortly before. */
const STOP_MS = 9_500
/** How long an answer to a probe may take when the process ends. */
const CLOSE_PROBES_MS = 500

/**
 * Runs a service from its settings to its end: opens its parts, prints one line when it is ready, and on SIGTERM or
 * Ctrl-C closes them newest first. Probes are answered from beginning to end.
 *
 * @throws ConfigError or StartupError with what to do
 */
export async function runService<Config extends ServiceConfig>(service: Service<Config>): Promise<void> {
  const { name, about } = service
  const help = takeNoOptions(process.argv.slice(2), `npm run ${name}`, about)
  if (help !== undefined) {
    process.stdout.write(`${help}\n`)
    return
  }
  const read = new EnvReader(process.env)
  const config = service.readConfig(read)
  read.done(
    `: the ${name} is a process of its own, on servers that it shares with others; npm start runs everything in one process, on databases of its own`,
  )
  const log = createLogger(config.logLevel).child({ service: name })
  expectLostOutput()
  // Signals are handled from the start, so that a stop during the start is orderly, too.
  const stopped = stopSignal(log, STOP_MS)
  const opened: Closeable[] = []
  try {
    const probes: Probes = { isLive: () => true, isReady: () => Promise.resolve(false) }
    const metrics = openMetrics()
    const admin = await openAdminPort(config.admin, probes, metrics, log)
    opened.push(admin)
    const { isLive, isReady, address } = await service.open(config, { opened, metrics, log })
    probes.isLive = isLive
    probes.isReady = isReady
    const serves = address === undefined ? 'runs' : `serves on http://${address}`
    process.stdout.write(`Tally ${name} ${serves}, probes on http://${admin.address}\n`)
    await stopped
    probes.isReady = () => Promise.resolve(false) // at once, so that no more requests are routed here
  } finally {
    await closeAll(opened, log)
  }
}

/** @param probes read at each request, because they change while the process starts and stops */
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
