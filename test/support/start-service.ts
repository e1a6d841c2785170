import { type ChildProcess, spawn } from 'node:child_process'
import path from 'node:path'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { endChild } from './end-child.ts'
import { endWithUs } from './end-with-us.ts'
import { until } from './until.ts'

export type ServiceName = 'gateway' | 'loader' | 'api' | 'refill' | 'rollup'

/**
 * A service in a process of its own, as `npm run NAME` runs it. It may be ended and started again as often as one
 * likes.
 */
export interface RunningService {
  name: ServiceName
  /** Where it serves; another port after each start. Empty for those that serve nobody. */
  url: string
  /** Where it answers probes and shows its metrics. */
  adminUrl: string
  process: ChildProcess
  /** Everything it wrote since it was last started. */
  output: () => string
  /** SIGTERM, and waits for the end. @returns the exit code, null when a signal ended it */
  stop(): Promise<number | null>
  /** kill -9, and waits for the end. */
  kill9(): Promise<void>
  /** Starts it again once it has ended, and waits until it says that it is ready. */
  restart(env?: Record<string, string>): Promise<void>
}

const START_MS = 60_000

/** Ports 0 are free ones, so that several may run side by side. */
const FREE_PORTS = { PORT: '0', ADMIN_PORT: '0' }

const READY = /^Tally \w+ (?:serves on (\S+)|runs), probes on (\S+)$/m

/**
 * Starts a service, and waits until it says that it is ready. Tests end what they start; what is left is killed when
 * the test run ends.
 *
 * @throws Error with its output when it does not start
 */
export async function startService(name: ServiceName, env: Record<string, string>): Promise<RunningService> {
  let output = ''
  const start = async (settings: Record<string, string>) => {
    output = ''
    const child = spawnService(name, settings)
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => (output += chunk.toString()))
    await until(() => {
      if (READY.test(output)) return Promise.resolve(true)
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${name} ended: ${output}`)
      return Promise.resolve(false)
    }, START_MS)
    const [, url = '', adminUrl = ''] = READY.exec(output) ?? []
    return { process: child, url, adminUrl }
  }
  const running: RunningService = {
    name,
    ...(await start(env)),
    output: () => output,
    stop: () => endChild(running.process, 'SIGTERM'),
    kill9: async () => {
      await endChild(running.process, 'SIGKILL')
    },
    restart: async (changes = {}) => {
      Object.assign(running, await start({ ...env, ...changes }))
    },
  }
  return running
}

function spawnService(name: ServiceName, env: Record<string, string>): ChildProcess {
  const main = path.join(PROJECT_ROOT, `dist/services/${name}/main.js`)
  const child = spawn(process.execPath, ['--enable-source-maps', main], {
    env: {
      ...process.env,
      LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'warn',
      ...FREE_PORTS,
      // Those of the test run are not for every Tally in it.
      REDIS_URL: '',
      KAFKA_BROKERS: '',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  endWithUs(child)
  return child
}
