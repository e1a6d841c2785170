import { type ChildProcess, spawn } from 'node:child_process'
import path from 'node:path'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { endChild } from './end-child.ts'
import { endWithUs } from './end-with-us.ts'
import { until } from './until.ts'

export type ServiceName = 'gateway' | 'loader' | 'api' | 'refill' | 'rollup'

/** A service in a separate process, as `npm run NAME` runs it. A test may end and start it several times. */
export interface RunningService {
  name: ServiceName
  /** Its URL, with another port after each start. Empty for a service without requests. */
  url: string
  /** The URL of its probes and metrics. */
  adminUrl: string
  process: ChildProcess
  /** Its output since its last start. */
  output: () => string
  /** Sends SIGTERM, and waits for its end. @returns the exit code; null when a signal ended it */
  stop(): Promise<number | null>
  /** Kills it with kill -9, and waits for its end. */
  kill9(): Promise<void>
  /**
   * Starts it again after its end, and waits until it is ready.
   *
   * @param root the folder of the Tally whose service it is now; that of the first start if it is left out
   */
  restart(env?: Record<string, string>, root?: string): Promise<void>
}

const START_MS = 60_000

/** Port 0 means a free port, so that several can run at the same time. */
const FREE_PORTS = { PORT: '0', ADMIN_PORT: '0' }

const READY = /^Tally \w+ (?:serves on (\S+)|runs), probes on (\S+)$/m

/**
 * Starts a service, and waits until it is ready. The test must end it; the test run kills remaining services at its
 * end.
 *
 * @param root the folder of the Tally whose service it is
 * @throws Error with its output when it does not start
 */
export async function startService(
  name: ServiceName,
  env: Record<string, string>,
  root = PROJECT_ROOT,
): Promise<RunningService> {
  let output = ''
  const start = async (settings: Record<string, string>, of: string) => {
    output = ''
    const child = spawnService(name, settings, of)
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
    ...(await start(env, root)),
    output: () => output,
    stop: () => endChild(running.process, 'SIGTERM'),
    kill9: async () => {
      await endChild(running.process, 'SIGKILL')
    },
    restart: async (changes = {}, of = root) => {
      Object.assign(running, await start({ ...env, ...changes }, of))
    },
  }
  return running
}

/** The files of a container image, mounted: test/image/build.sh has the services run from there, as in a container. */
const IMAGE_ROOT = process.env['TEST_IMAGE_ROOT']

function spawnService(name: ServiceName, env: Record<string, string>, root: string): ChildProcess {
  const main = `dist/services/${name}/main.js`
  const [program, ...words] =
    IMAGE_ROOT === undefined
      ? [process.execPath, '--enable-source-maps', path.join(root, main)]
      : ['chroot', '--userspec=10001:10001', IMAGE_ROOT, 'node', '--enable-source-maps', `/app/${main}`]
  const child = spawn(program, words, {
    env: {
      ...process.env,
      LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'warn',
      ...FREE_PORTS,
      // A service does not use the Redis of the test run unless the test names it.
      REDIS_URL: '',
      KAFKA_BROKERS: '',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  endWithUs(child)
  return child
}
