import { readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { makeFirstCompanies } from '../../services/standalone/first-companies.ts'
import { askRun, outputOf, type RunTally } from '../run/ask-run.ts'
import type { Shared } from '../run/shared-engine.ts'
import { type CommandResult, openPoolByHand, runProgram, serviceUrl, superuserUrl } from './by-hand.ts'
import { findFreePort } from './free-port.ts'
import { requireKafka } from './kafka.ts'
import { LAYOUT } from './layout.ts'
import { hasNginx, type Nginx, startNginx } from './nginx.ts'
import { startOwnPostgres } from './own-postgres.ts'
import { createDatabaseOn } from './postgres.ts'
import { startServices, startSharedEngines } from './start-services.ts'
import { startTally } from './start-tally.ts'
import { makeTempFolder } from './temp-folder.ts'

/** A whole Tally whose HTTP API is tested, with either layout of its services. */
export interface TallyUnderTest {
  /** The URL of gateway and API together. */
  url: string
  /** The URL at which a browser finds the console: that of nginx where the services are apart. */
  consoleUrl: string
  /** A key of a live company, with every permission. */
  key: string
  /** A key of a test company. */
  testKey: string
  /** The name of the live company. */
  company: string
  /** The name of the test company. */
  testCompany: string
  /** The port of the service that serves a path, for tests that need a bare connection. */
  portOf(path: string): number
  /** The origin of a web page that may call it with an account key; empty unless its settings name one. */
  pageOrigin: string
  /** The processes that serve. */
  pids: number[]
  /** All their output so far. */
  output(): Promise<string>
  /** Runs a maintenance command, as `npm run COMMAND` does. */
  command(...words: string[]): Promise<CommandResult>
  /** The URLs of its PostgreSQL. */
  postgres: { serviceUrl: string; superuserUrl: string }
  /** Stops it, and deletes its data. */
  end(): Promise<void>
}

/**
 * Starts a Tally for one file, with the companies `default` and `sandbox`. The file must say why it cannot share one.
 *
 * @param env further settings of every process
 */
export async function startTallyUnderTest(env: Record<string, string> = {}): Promise<TallyUnderTest> {
  const { facts, output, end } = await start(env)
  return {
    ...underTest(facts),
    company: 'default',
    testCompany: 'sandbox',
    output: () => Promise.resolve(output()),
    end,
  }
}

let sharers = 0

/**
 * Returns the Tally that files share, with two new companies. It is for files that read only their own companies, and
 * neither stop nor load a process. It starts when the first file needs it, and ends with the test run.
 */
export async function shareTallyUnderTest(): Promise<TallyUnderTest> {
  const tally = await askRun('tally')
  const folder = await makeTempFolder('keys')
  const number = `${process.pid} ${++sharers}`
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
    ...underTest(tally),
    key: key.trim(),
    testKey: testKey.trim(),
    company: live.name,
    testCompany: test.name,
    output: () => outputOf('tally'),
    end: () => Promise.resolve(),
  }
}

/** A high limit, because all files that share the Tally send wrong keys from one address. */
const OF_THE_SHARED = { RATE_LIMIT_WRONG_KEYS_PER_MIN: '100000' }

/** Starts the Tally that the files of a test run share. */
export async function startRunTally(): Promise<Shared<RunTally>> {
  const pageOrigin = `http://127.0.0.1:${await findFreePort()}`
  return start({ ...OF_THE_SHARED, BROWSER_ORIGINS: pageOrigin })
}

const underTest = ({ gatewayUrl, apiUrl, commandEnv, ...facts }: RunTally) => ({
  ...facts,
  portOf: (path: string) => Number(new URL(path.startsWith('/v2/events') ? gatewayUrl : apiUrl).port),
  command: (...words: string[]) => runProgram('operator/main', commandEnv, ...words),
})

type Started = Required<Shared<RunTally>>

const start = (env: Record<string, string>): Promise<Started> =>
  LAYOUT === 'processes' ? startAsProcesses(env) : startAsOne(env)

async function startAsOne(env: Record<string, string>): Promise<Started> {
  const tally = await startTally({ env })
  const { url, key, testKey, dataFolder, output } = tally
  return {
    facts: {
      url,
      consoleUrl: url,
      gatewayUrl: url,
      apiUrl: url,
      key,
      testKey,
      pageOrigin: env['BROWSER_ORIGINS'] ?? '',
      pids: [tally.process.pid ?? 0],
      commandEnv: { DATA_DIR: dataFolder },
      postgres: { serviceUrl: await serviceUrl(dataFolder), superuserUrl: await superuserUrl(dataFolder) },
    },
    output,
    async end() {
      await tally.stop()
      await tally.discard()
    },
  }
}

/**
 * Starts the services as processes, with a separate PostgreSQL server, because roles and their right to connect belong
 * to a whole server.
 */
async function startAsProcesses(env: Record<string, string>): Promise<Started> {
  const postgres = await startOwnPostgres()
  const engines = await startSharedEngines('under_test', await requireKafka(), () =>
    createDatabaseOn(postgres.server, 'under_test'),
  )
  const services = await startServices(engines, env)
  const { url, key, testKey, gateway, loader, api, refill, rollup } = services
  const nginx = await nginxBefore(gateway.url, api.url)
  return {
    facts: {
      url,
      consoleUrl: nginx?.url ?? url,
      gatewayUrl: gateway.url,
      apiUrl: api.url,
      key,
      testKey,
      pageOrigin: env['BROWSER_ORIGINS'] ?? '',
      pids: [gateway, api].map(({ process }) => process.pid ?? 0),
      commandEnv: engines.env,
      postgres: { serviceUrl: engines.db.serviceUrl, superuserUrl: engines.db.superuserUrl },
    },
    output: () => [gateway, loader, api, refill, rollup].map(({ output }) => output()).join(''),
    async end() {
      await nginx?.stop()
      await services.stop()
      await engines.close()
      await postgres.stop()
    },
  }
}

/** An nginx as deploy/nginx has it. Without one, browsers go through the proxy of the tests. */
const nginxBefore = (gateway: string, api: string): Promise<Nginx> | undefined =>
  hasNginx() || process.env['REQUIRE_NGINX'] === '1' ? startNginx(gateway, api) : undefined
