import { appendFile } from 'node:fs/promises'
import path from 'node:path'
import { stopClickHouse } from '../support/clickhouse.ts'
import { stopLeftBrokers } from '../support/kafka.ts'
import { stopLeftTallies } from '../support/start-tally.ts'
import { RUN_FOLDER } from './ask-run.ts'
import { fileOf, TIMES_FILE } from './file-times.ts'
import { hasFailed } from './has-failed.ts'
import { type Run, serveRun } from './serve-run.ts'

/** Whether this process is one of several workers that run the files. */
const IS_WORKER = process.env['MOCHA_WORKER_ID'] !== undefined

let run: Run | undefined
let startedAt = 0

/** Runs in the main process before the workers get any file. */
export async function mochaGlobalSetup(): Promise<void> {
  run = await serveRun()
}

/** Runs in the main process after all files. */
export async function mochaGlobalTeardown(): Promise<void> {
  if (hasFailed()) process.stdout.write(`what the tests stored is kept in ${run?.folder ?? ''}\n`)
  await run?.end(hasFailed())
}

/** These hooks run around each file in a worker, and without workers around all files. */
export const mochaHooks = {
  beforeAll(): void {
    startedAt = performance.now()
  },
  async afterAll(this: Mocha.Context): Promise<void> {
    await stopLeftTallies()
    await stopLeftBrokers()
    if (!IS_WORKER) await stopClickHouse()
    else await noteTime(fileOf(this.test?.parent), performance.now() - startedAt)
  },
}

/** Writes the time to a file, because a worker cannot call the reporter. */
const noteTime = (file: string, ms: number): Promise<void> =>
  appendFile(path.join(process.env[RUN_FOLDER] ?? '', TIMES_FILE), `${file}\t${Math.round(ms)}\n`)
