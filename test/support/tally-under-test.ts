import { runCommand, runProgram, serviceUrl, superuserUrl, type CommandResult } from './by-hand.ts'
import { requireKafka } from './kafka.ts'
import { LAYOUT } from './layout.ts'
import { startServices, startSharedEngines } from './start-services.ts'
import { startTally } from './start-tally.ts'

/** A whole Tally whose HTTP API is tested, however its services are laid out. */
export interface TallyUnderTest {
  /** Of gateway and API together. */
  url: string
  /** Of the live company `default`, with every permission. */
  key: string
  /** Of the test company `sandbox`. */
  testKey: string
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

/** @param env further settings of every process */
export const startTallyUnderTest = (env: Record<string, string> = {}): Promise<TallyUnderTest> =>
  LAYOUT === 'processes' ? startAsProcesses(env) : startAsOne(env)

async function startAsOne(env: Record<string, string>): Promise<TallyUnderTest> {
  const tally = await startTally({ env })
  const { url, key, testKey, dataFolder, output } = tally
  return {
    url,
    key,
    testKey,
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
  const { url, key, testKey, gateway, loader, api, refill } = services
  return {
    url,
    key,
    testKey,
    output: () => [gateway, loader, api, refill].map(({ output }) => output()).join(''),
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
