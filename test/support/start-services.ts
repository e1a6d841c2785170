import { randomBytes } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { makeFirstCompanies } from '../../services/standalone/first-companies.ts'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { runMain } from './by-hand.ts'
import { dispatchingProxy } from './dispatching-proxy.ts'
import { createDatabase, type TestDatabase } from './postgres.ts'
import { type AnalystHost, startAnalystHost } from './start-analyst-host.ts'
import { type RunningService, type ServiceName, startService } from './start-service.ts'
import { makeTempFolder } from './temp-folder.ts'

/** Servers that several processes share: PostgreSQL with a separate database, and ClickHouse over HTTP. */
export interface SharedEngines {
  db: TestDatabase
  clickhouse: AnalystHost
  /** The settings that name them, including that of the owner. */
  env: Record<string, string>
  /** Ends them and deletes their data. The PostgreSQL server belongs to the test run and continues. */
  close(): Promise<void>
}

/** All services as separate processes, one of each. */
export interface RunningServices extends Record<ServiceName, RunningService> {
  /** One base URL for gateway and API, as of a proxy in production. It does not change when services restart. */
  url: string
  /** A key of the live company `default`, with every permission. */
  key: string
  /** A key of the test company `sandbox`. */
  testKey: string
  /** Ends the services that still run. @returns their exit codes */
  stop(): Promise<Record<ServiceName, number | null>>
}

/**
 * @param purpose names the database: letters, digits and underscores
 * @param brokers of the Kafka for the event log, in separate topics; without it the log is a table in PostgreSQL
 * @param makeDatabase makes the database, if it is not on the PostgreSQL server of the test run
 */
export async function startSharedEngines(
  purpose: string,
  brokers?: string,
  makeDatabase: () => Promise<TestDatabase> = () => createDatabase(purpose),
): Promise<SharedEngines> {
  const [db, clickhouse] = await Promise.all([makeDatabase(), startAnalystHost({ bare: true })])
  const url = new URL(clickhouse.url)
  url.username = 'trial'
  url.password = 'a secret of trials'
  return {
    db,
    clickhouse,
    env: {
      DATABASE_URL: db.serviceUrl,
      DATABASE_OWNER_URL: db.ownerUrl,
      CLICKHOUSE_URL: url.href,
      ...(brokers === undefined ? {} : kafkaSettings(purpose, brokers)),
    },
    async close() {
      await clickhouse.stop()
      await db.close()
    },
  }
}

const kafkaSettings = (purpose: string, brokers: string): Record<string, string> => ({
  KAFKA_BROKERS: brokers,
  KAFKA_TOPIC_PREFIX: `${purpose}-${randomBytes(4).toString('hex')}-`,
  KAFKA_REPLICATION: '1',
  KAFKA_MIN_INSYNC_REPLICAS: '1',
})

/**
 * Migrates the servers with `npm run migrate`, like an operator.
 *
 * @param root the folder of the Tally whose command it is
 */
export async function migrateEngines(
  { env }: Pick<SharedEngines, 'env'>,
  root = PROJECT_ROOT,
): Promise<void> {
  const folder = await makeTempFolder('migrate')
  const { code, output } = await runMain(path.join(root, 'dist/services/standalone/migrate.main.js'), {
    ...env,
    DATA_DIR: path.join(folder, 'data'),
  })
  await rm(folder, { recursive: true, force: true })
  if (code !== 0) throw new Error(`the migration failed: ${output}`)
}

/**
 * Migrates the servers, makes the companies of a new installation and starts the services.
 *
 * @param env further settings of all services
 * @param envOf further settings of single services
 * @param prepare changes the servers before the services start
 */
export async function startServices(
  engines: SharedEngines,
  env: Record<string, string> = {},
  envOf: Partial<Record<ServiceName, Record<string, string>>> = {},
  prepare: () => Promise<void> = () => Promise.resolve(),
): Promise<RunningServices> {
  await migrateEngines(engines)
  await prepare()
  const { key, testKey } = await makeCompanies(engines.db)
  const forServices = envOfServices(engines)
  const start = (name: ServiceName) => startService(name, { ...forServices, ...env, ...envOf[name] })
  const [gateway, loader, api, refill, rollup] = await Promise.all([
    start('gateway'),
    start('loader'),
    start('api'),
    start('refill'),
    start('rollup'),
  ])
  const proxy = await dispatchingProxy(
    () => gateway.url,
    () => api.url,
  )
  return {
    gateway,
    loader,
    api,
    refill,
    rollup,
    key,
    testKey,
    url: proxy.url,
    async stop() {
      const codes = {
        gateway: await gateway.stop(),
        loader: await loader.stop(),
        api: await api.stop(),
        refill: await refill.stop(),
        rollup: await rollup.stop(),
      }
      await proxy.close()
      return codes
    },
  }
}

/** The settings of services: all except the owner of the tables. */
export const envOfServices = ({ env }: Pick<SharedEngines, 'env'>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => name !== 'DATABASE_OWNER_URL'))

/** Makes the companies of a new installation. @returns a key of each */
export async function makeCompanies(db: TestDatabase): Promise<{ key: string; testKey: string }> {
  const folder = await makeTempFolder('keys')
  const [keyFile, testKeyFile] = [path.join(folder, 'live'), path.join(folder, 'test')]
  await makeFirstCompanies(db.pool, [
    { name: 'default', mode: 'live', keyFile },
    { name: 'sandbox', mode: 'test', keyFile: testKeyFile },
  ])
  const [key, testKey] = await Promise.all([keyFile, testKeyFile].map((file) => readFile(file, 'utf8')))
  await rm(folder, { recursive: true, force: true })
  return { key: (key ?? '').trim(), testKey: (testKey ?? '').trim() }
}
