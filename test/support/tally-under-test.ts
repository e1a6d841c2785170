import { readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { makeFirstCompanies } from '../../services/standalone/first-companies.ts'
import {
  openPoolByHand,
  runCommand,
  runProgram,
  serviceUrl,
  superuserUrl,
  type CommandResult,
} from './by-hand.ts'
import { requireKafka } from './kafka.ts'
import { LAYOUT } from './layout.ts'
import { startServices, startSharedEngines } from './start-services.ts'
import { startTally } from './start-tally.ts'
import { makeTempFolder } from './temp-folder.ts'

/** A whole Tally whose HTTP API is tested, however its services are laid out. */
export interface TallyUnderTest {
  /** Of gateway and API together. */
  url: string
  /** Of a live company, with every permission. */
  key: string
  /** Of a test company. */
  testKey: string
  /** The name of the live company. */
  company: string
  /** The port of the service that serves a path, for who needs a bare connection. */
  portOf(path: string): number
  /** The processes that serve. */
  pids: number[]
  /** Everything they wrote so far. */
  output(): string
  /** Runs a maintenance command, as `npm run COMMAND` does. */
  command(...words: string[]): Promise<CommandResult>
  /** Where its PostgreSQL is. */
  postgres: { serviceUrl: string; superuserUrl: string }
  /** Stops it, and forgets its data. */
  end(): Promise<void>
}

/**
 * One for a file alone, with the companies `default` and `sandbox`.
 *
 * @param env further settings of every process
 */
export const startTallyUnderTest = (env: Record<string, string> = {}): Promise<TallyUnderTest> =>
  LAYOUT === 'processes' ? startAsProcesses(env) : startAsOne(env)

let shared: Promise<TallyUnderTest> | undefined
let sharers = 0

/** Whoever shares it tries wrong keys from the same address. */
const OF_THE_SHARED = { RATE_LIMIT_WRONG_KEYS_PER_MIN: '100000' }

/**
 * One that files share, each with two companies of its own: for those that look at nothing but their companies, and neither
 * stop nor burden a process. It is started when the first one needs it, and ends with the test run.
 */
export async function shareTallyUnderTest(): Promise<TallyUnderTest> {
  shared ??= startTallyUnderTest(OF_THE_SHARED)
  const tally = await shared
  const folder = await makeTempFolder('keys')
  const number = ++sharers
  const [live, test] = [
    { name: `live ${number}`, mode: 'live', keyFile: path.join(folder, 'live') },
    { name: `test ${number}`, mode: 'test', keyFile: path.join(folder, 'test') },
  ] as const
  const pool = openPoolByHand(tally.postgres.serviceUrl)
  await makeFirstCompanies(pool, [live, test])
  await pool.end()
  const [key, testKey] = [await readFile(live.keyFile, 'utf8'), await readFile(test.keyFile, 'utf8')]
  await rm(folder, { recursive: true })
  return {
    ...tally,
    key: key.trim(),
    testKey: testKey.trim(),
    company: live.name,
    end: () => Promise.resolve(),
  }
}

/** Ends the one that files shared. */
export const stopSharedTally = async (): Promise<void> => (await shared)?.end()

async function startAsOne(env: Record<string, string>): Promise<TallyUnderTest> {
  const tally = await startTally({ env })
  const { url, key, testKey, dataFolder, output } = tally
  return {
    url,
    key,
    testKey,
    company: 'default',
    output,
    portOf: () => portOf(url),
    pids: [tally.process.pid ?? 0],
    command: (...words) => runCommand(dataFolder, ...words),
    postgres: { serviceUrl: await serviceUrl(dataFolder), superuserUrl: await superuserUrl(dataFolder) },
    async end() {
      await tally.stop()
      await tally.discard()
    },
  }
}

let started = 0

async function startAsProcesses(env: Record<string, string>): Promise<TallyUnderTest> {
  const engines = await startSharedEngines(`under_test_${started++}`, await requireKafka())
  const services = await startServices(engines, env)
  const { url, key, testKey, gateway, loader, api, refill, rollup } = services
  return {
    url,
    key,
    testKey,
    company: 'default',
    output: () => [gateway, loader, api, refill, rollup].map(({ output }) => output()).join(''),
    portOf: (path) => portOf((path.startsWith('/v2/events') ? gateway : api).url),
    pids: [gateway, api].map(({ process }) => process.pid ?? 0),
    command: (...words) => runProgram('operator/main', engines.env, ...words),
    postgres: engines.db,
    async end() {
      await services.stop()
      await engines.close()
    },
  }
}

const portOf = (url: string): number => Number(new URL(url).port)
