import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import pg from 'pg'
import { migratePostgres, roleOf } from '../../shared/postgres/core/migrate.ts'
import { openPool, type Pool } from '../../shared/postgres/core/pool.ts'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../shared/postgres/embedded/embedded-postgres.ts'
import { askRun, isInRun } from '../run/ask-run.ts'
import { testLog } from './log.ts'
import { makeTempFolder } from './temp-folder.ts'

/** A server with databases of tests. */
interface Server extends Pick<EmbeddedPostgres, 'superuserUrl' | 'ownerUrl' | 'serviceUrl'> {
  /** A migrated database, if there is one. To copy it takes less time than to migrate another. */
  template?: string
}

/** A server for many databases. */
export type TestServer = EmbeddedPostgres & Required<Server>

/** Enough for several files at once, some of them with many processes. */
const CONNECTIONS_MAX = 300

const TEMPLATE = 'test_template'

let own: Promise<TestServer> | undefined

/** The server of the test run, or without a run one of this process. */
function findServer(): Promise<Server> {
  if (isInRun()) return askRun('postgres')
  own ??= startPostgresServer()
  return own
}

/** Starts a PostgreSQL server for tests. Its data are deleted when it closes, and it ends with this process. */
export async function startPostgresServer(): Promise<TestServer> {
  const dataFolder = await makeTempFolder('postgres')
  const server = await startEmbeddedPostgres({
    dataFolder,
    connectionsMax: CONNECTIONS_MAX,
    log: testLog,
    onUnexpectedExit: (reason) => {
      throw new Error(reason)
    },
  })
  const kill = () => {
    const [pid] = readFileSync(path.join(dataFolder, 'postgres/postmaster.pid'), 'utf8').split('\n')
    process.kill(Number(pid), 'SIGQUIT')
  }
  process.once('exit', kill)
  await makeDatabase(server, TEMPLATE)
  await migrate(urlsOf(server, TEMPLATE))
  return {
    ...server,
    template: TEMPLATE,
    async close() {
      await server.close()
      process.off('exit', kill)
      if (!isInRun()) await rm(dataFolder, { recursive: true, force: true })
    },
  }
}

/** Ends the server of this process, if it has one. */
export async function stopPostgres(): Promise<void> {
  await (await own)?.close()
}

export interface TestDatabase {
  name: string
  ownerUrl: string
  serviceUrl: string
  superuserUrl: string
  /** Connections with the role of the services. */
  pool: Pool
  close(): Promise<void>
}

/** Makes a separate, migrated database for a test file. It is deleted with the server. */
export async function createDatabase(purpose: string): Promise<TestDatabase> {
  return createDatabaseOn(await findServer(), purpose)
}

/** Makes a migrated database on the test's own server. */
export async function createDatabaseOn(server: Server, purpose: string): Promise<TestDatabase> {
  const name = `test_${purpose}_${randomBytes(4).toString('hex')}`
  await makeDatabase(server, name, server.template)
  const urls = urlsOf(server, name)
  if (server.template === undefined) await migrate(urls)
  const pool = openPool({
    url: urls.serviceUrl,
    name: 'test',
    connectionsMax: 10,
    statementTimeoutMs: 30_000,
    log: testLog,
  })
  return { name, ...urls, pool, close: () => pool.end() }
}

async function makeDatabase({ superuserUrl }: Server, name: string, template = 'template1'): Promise<void> {
  const admin = new pg.Client({ connectionString: superuserUrl })
  await admin.connect()
  await admin.query(`CREATE DATABASE ${name} OWNER tally_owner TEMPLATE ${template}`)
  await admin.end()
}

type DatabaseUrls = Pick<TestDatabase, 'ownerUrl' | 'serviceUrl' | 'superuserUrl'>

const urlsOf = ({ ownerUrl, serviceUrl, superuserUrl }: Server, name: string): DatabaseUrls => ({
  ownerUrl: within(ownerUrl, name),
  serviceUrl: within(serviceUrl, name),
  superuserUrl: within(superuserUrl, name),
})

const migrate = async ({ ownerUrl, serviceUrl }: DatabaseUrls): Promise<void> =>
  migratePostgres({ ownerUrl, serviceRole: await roleOf(serviceUrl), log: testLog }, () => Promise.resolve())

function within(url: string, database: string): string {
  const changed = new URL(url)
  changed.pathname = `/${database}`
  return changed.href
}
