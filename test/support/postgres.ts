import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import pg from 'pg'
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../shared/postgres/embedded/embedded-postgres.ts'
import { migratePostgres, roleOf } from '../../shared/postgres/migrate.ts'
import { openPool, type Pool } from '../../shared/postgres/pool.ts'
import { testLog } from './log.ts'
import { makeTempFolder } from './temp-folder.ts'

let server: Promise<EmbeddedPostgres> | undefined
let folder: string | undefined

/** The PostgreSQL server of this test run: one for all files, started when the first one needs it. */
function startServer(): Promise<EmbeddedPostgres> {
  server ??= makeTempFolder('postgres').then((made) => {
    folder = made
    return startEmbeddedPostgres({
      dataFolder: made,
      log: testLog,
      onUnexpectedExit: (reason) => {
        throw new Error(reason)
      },
    })
  })
  return server
}

/** Ends the server, and forgets its databases unless a test failed. */
export async function stopPostgres(keepData: boolean): Promise<void> {
  if (server === undefined) return
  await (await server).close()
  if (folder !== undefined && !keepData) await rm(folder, { recursive: true, force: true })
}

export interface TestDatabase {
  name: string
  ownerUrl: string
  serviceUrl: string
  superuserUrl: string
  /** Connections of the role the services run as. */
  pool: Pool
  close(): Promise<void>
}

/** A database of its own for one test file, migrated; it is kept with the data when a test fails. */
export async function createDatabase(purpose: string): Promise<TestDatabase> {
  return createDatabaseOn(await startServer(), purpose)
}

/** The same on a server of the test's own. */
export async function createDatabaseOn(
  { superuserUrl, ownerUrl, serviceUrl }: EmbeddedPostgres,
  purpose: string,
): Promise<TestDatabase> {
  const name = `test_${purpose}_${randomBytes(4).toString('hex')}`
  const admin = new pg.Client({ connectionString: superuserUrl })
  await admin.connect()
  await admin.query(`CREATE DATABASE ${name} OWNER tally_owner`)
  await admin.end()
  const urls = {
    ownerUrl: within(ownerUrl, name),
    serviceUrl: within(serviceUrl, name),
    superuserUrl: within(superuserUrl, name),
  }
  await migratePostgres(
    { ownerUrl: urls.ownerUrl, serviceRole: await roleOf(urls.serviceUrl), log: testLog },
    () => Promise.resolve(),
  )
  const pool = openPool({
    url: urls.serviceUrl,
    name: 'test',
    connectionsMax: 10,
    statementTimeoutMs: 30_000,
    log: testLog,
  })
  return { name, ...urls, pool, close: () => pool.end() }
}

function within(url: string, database: string): string {
  const changed = new URL(url)
  changed.pathname = `/${database}`
  return changed.href
}
