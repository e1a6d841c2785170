import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { endOrphanedServer } from '../../shared/postgres/embedded/orphan.ts'
import { testLog } from './log.ts'
import { makeTempFolder } from './temp-folder.ts'

/** A Tally of its own: everything in one process, as `npm start` runs it. */
export interface StartedTally {
  /** Without a slash at its end. */
  url: string
  /** Keys of the first live and the first test company; they may do everything. */
  key: string
  testKey: string
  dataFolder: string
  pid: number
  /** Ends it in good order, and forgets its data unless told otherwise. */
  stop(options?: { keepData?: boolean }): Promise<void>
  /** Kills it on the spot, as a crash would; start another one on its data folder, or stop() to tidy up. */
  kill9(): Promise<void>
}

export interface StartTallyOptions {
  /** A data folder of before; a new one unless given. */
  dataFolder?: string
  /** Settings on top of our own. */
  env?: Record<string, string>
}

const MAIN = path.resolve(import.meta.dirname, '../../services/standalone/main.js')
const START_MS = 60_000

/**
 * Starts Tally as a process on free ports, and waits until it serves.
 *
 * @throws Error with what it wrote when it does not
 */
export async function startTally(options: StartTallyOptions = {}): Promise<StartedTally> {
  const dataFolder = options.dataFolder ?? (await makeTempFolder('data'))
  const child = spawn(process.execPath, ['--enable-source-maps', MAIN], {
    env: {
      ...process.env,
      UV_THREADPOOL_SIZE: '16',
      LOG_LEVEL: 'warn',
      ...options.env,
      DATA_DIR: dataFolder,
      PORT: '0',
      ADMIN_PORT: '0',
      CLICKHOUSE_HTTP_PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const endWithUs = () => child.kill('SIGTERM')
  process.once('exit', endWithUs)
  const exited = once(child, 'exit').then(() => process.off('exit', endWithUs))
  const url = await urlOf(child)
  const readKey = async (name: string) => (await readFile(path.join(dataFolder, name), 'utf8')).trim()
  return {
    url,
    key: await readKey('api-key'),
    testKey: await readKey('test-api-key'),
    dataFolder,
    pid: child.pid ?? 0,
    stop: async ({ keepData = false } = {}) => {
      child.kill('SIGTERM')
      await exited
      await endOrphanedServer(path.join(dataFolder, 'postgres'), testLog) // after kill9 it runs on
      if (!keepData) await rm(dataFolder, { recursive: true, force: true })
    },
    kill9: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** Waits for the line `Tally serves on http://127.0.0.1:40123 (ready in …`. */
async function urlOf(child: ChildProcess): Promise<string> {
  let errors = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-10_000)
  })
  if (child.stdout === null) throw new Error('Tally was started without a standard output')
  const lines = createInterface({ input: child.stdout })
  const served = new Promise<string>((resolve) => {
    lines.on('line', (line) => {
      const url = /^Tally serves on (http:\/\/\S+)/.exec(line)?.[1]
      if (url !== undefined) resolve(url)
    })
  })
  let late: NodeJS.Timeout | undefined
  const gaveUp = new Promise<undefined>((resolve) => {
    late = setTimeout(resolve, START_MS, undefined)
    child.once('exit', () => {
      resolve(undefined)
    })
  })
  const url = await Promise.race([served, gaveUp])
  clearTimeout(late)
  if (url !== undefined) return url
  child.kill('SIGKILL')
  throw new Error(`Tally did not start: ${errors}`)
}
