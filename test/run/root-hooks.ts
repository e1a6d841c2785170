import { stopClickHouse } from '../support/clickhouse.ts'
import { stopLeftBrokers } from '../support/kafka.ts'
import { stopLeftTallies } from '../support/start-tally.ts'
import { fileOf, noteTime, readProcessorMs, startClock } from './file-times.ts'
import { hasFailed } from './has-failed.ts'
import { type Run, serveRun } from './serve-run.ts'

/** Whether this process is one of several workers that run the files. */
const IS_WORKER = process.env['MOCHA_WORKER_ID'] !== undefined

let run: Run | undefined
let timeOfFile = startClock()

/** Runs in the main process before the workers get any file. */
export async function mochaGlobalSetup(): Promise<void> {
  run = await serveRun()
}

/** Runs in the main process after all files. */
export async function mochaGlobalTeardown(): Promise<void> {
  if (hasFailed()) process.stdout.write(`what the tests stored is kept in ${run?.folder ?? ''}\n`)
  const engines = (await run?.end(hasFailed())) ?? []
  const seconds = (ms: number) => `${Math.round(ms / 1_000)} s`
  const shared = engines.map(([name, ms]) => `, ${name} ${seconds(ms)}`).join('')
  process.stdout.write(`processor time: ${seconds(readProcessorMs())}${shared}\n`)
}

/** These hooks run around each file in a worker, and without workers around all files. */
export const mochaHooks = {
  beforeAll(): void {
    timeOfFile = startClock()
  },
  async afterAll(this: Mocha.Context): Promise<void> {
    await stopLeftTallies()
    await stopLeftBrokers()
    if (!IS_WORKER) await stopClickHouse()
    else await noteTime(fileOf(this.test?.parent), timeOfFile())
  },
}
