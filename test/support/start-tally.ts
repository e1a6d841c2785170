import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { endOrphanedServer } from '../../shared/postgres/embedded/orphan.ts'
import { testLog } from './log.ts'
import { makeTempFolder } from './temp-folder.ts'

/** A Tally in a separate process, as `npm start` runs it. */
export interface RunningTally {
  url: string
  /** The URL where analysts query ClickHouse. */
  analystUrl: string
  /** The URL of its probes and metrics. */
  adminUrl: string
  /** A key of the live company `default`, with every permission. */
  key: string
  /** A key of the test company `sandbox`. */
  testKey: string
  dataFolder: string
  process: ChildProcess
  /** All its output so far. */
  output: () => string
  /** Sends SIGINT, and waits for its end. @returns the exit code; null when a signal ended it */
  stop(): Promise<number | null>
  /**
   * Kills it with kill -9, and waits for its end. Its PostgreSQL continues until another start on the folder, or
   * `discard`, ends it.
   */
  kill9(): Promise<void>
  /** Stops all of its processes, and deletes the data. */
  discard(): Promise<void>
}

export interface StartOptions {
  /** The folder of an earlier Tally; default: a new folder. */
  dataFolder?: string
  env?: Record<string, string>
}

const MAIN = path.join(PROJECT_ROOT, 'dist/services/standalone/main.js')
const START_MS = 60_000

/** Port 0 means a free port, so that several can run at the same time. */
const FREE_PORTS = { PORT: '0', ADMIN_PORT: '0', CLICKHOUSE_HTTP_PORT: '0' }

const started = new Set<ChildProcess>()

/** Starts Tally and waits until it serves. The test must end it; the test run kills remaining processes at its end. */
export async function startTally(options: StartOptions = {}): Promise<RunningTally> {
  const dataFolder = options.dataFolder ?? path.join(await makeTempFolder('tally'), 'data')
  const child = spawn(process.execPath, ['--enable-source-maps', MAIN], {
    env: {
      ...process.env,
      UV_THREADPOOL_SIZE: '16',
      LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'warn',
      ...FREE_PORTS,
      // Only suites that ask for Redis and Kafka use those of the test run.
      REDIS_URL: '',
      KAFKA_BROKERS: '',
      DATA_DIR: dataFolder,
      ...options.env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.add(child)
  const exited = once(child, 'exit').then(([code]) => {
    started.delete(child)
    return code as number | null
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const url = await waitForUrl(child, () => output)
  const [, analystUrl = ''] = /^Analysts query ClickHouse on ([^\s;]+)/m.exec(output) ?? []
  const [, adminUrl = ''] = /^Probes and metrics are on (\S+)\.$/m.exec(output) ?? []
  const readKey = (name: string) => readFile(path.join(dataFolder, name), 'utf8').then((text) => text.trim())
  const stop = () => {
    child.kill('SIGINT')
    return exited
  }
  return {
    url,
    analystUrl,
    adminUrl,
    key: await readKey('api-key'),
    testKey: await readKey('test-api-key'),
    dataFolder,
    process: child,
    output: () => output,
    stop,
    kill9: async () => {
      child.kill('SIGKILL')
      await exited
    },
    discard: async () => {
      await stop()
      await endOrphanedServer(path.join(dataFolder, 'postgres'), testLog)
      // The parent of a given folder may contain other files, so only the folder itself is deleted.
      const made = options.dataFolder === undefined ? path.dirname(dataFolder) : dataFolder
      await rm(made, { recursive: true, force: true })
    },
  }
}

async function waitForUrl(child: ChildProcess, output: () => string): Promise<string> {
  const deadline = performance.now() + START_MS
  for (;;) {
    const [, url] = /^Tally serves on (\S+)/m.exec(output()) ?? []
    if (url !== undefined) return url
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`Tally did not start: ${output()}`)
    if (performance.now() > deadline) throw new Error(`Tally did not start in time: ${output()}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Ends every Tally that a failed test left running. */
export async function stopLeftTallies(): Promise<void> {
  await Promise.all(
    [...started].map(async (child) => {
      child.kill('SIGINT')
      await once(child, 'exit')
    }),
  )
}
