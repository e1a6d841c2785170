import { rm } from 'node:fs/promises'
import { openClickHouse, type OpenedClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { readClickHouseServerConfig } from '../../shared/clickhouse/config.ts'
import { EnvReader } from '../../shared/config/env-reader.ts'
import { readEventLogConfig } from '../../shared/event-log/config.ts'
import { type EventLog, LOADER_GROUP } from '../../shared/event-log/event-log.ts'
import { openEventLog } from '../../shared/event-log/open-event-log.ts'
import { partitionOfAccount } from '../../shared/event-log/partition.ts'
import { openPool, type Pool } from '../../shared/postgres/core/pool.ts'
import { ApiClient } from '../support/api-client.ts'
import { SEED, tell } from '../support/fault-seed.ts'
import { testLog } from '../support/log.ts'
import type { OwnPostgres } from '../support/own-postgres.ts'
import { createDatabase, createDatabaseOn } from '../support/postgres.ts'
import { setSlotLength } from '../support/rollup-stage.ts'
import { type RunningService, startService } from '../support/start-service.ts'
import {
  envOfServices,
  type RunningServices,
  type SharedEngines,
  startServices,
  startSharedEngines,
} from '../support/start-services.ts'
import { makeTempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'
import { Ledger, type LedgerOptions } from './ledger.ts'
import { type TcpProxy, tcpProxy } from './tcp-proxy.ts'

export interface FaultStageOptions {
  /** The brokers of the Kafka for the event log; default: a table in PostgreSQL. */
  brokers?: string
  /** A PostgreSQL server that the test may kill; default: that of the test run. */
  postgres?: OwnPostgres
  /** Further settings of all services. */
  env?: Record<string, string>
  load?: Partial<Pick<LedgerOptions, 'workers' | 'batchMax' | 'pauseMs' | 'corrects' | 'spanS'>>
}

/**
 * Gateway, loader and API in separate processes, reporters with a ledger, and proxies between all of them. Files cannot
 * share a stage, because each file breaks its processes.
 */
export interface FaultStage {
  services: RunningServices
  engines: SharedEngines
  ledger: Ledger
  api: ApiClient
  pool: Pool
  /** The event log, opened like a further process. */
  eventLog: EventLog
  /** The settings of every service. */
  env: Record<string, string>
  /** The settings of commands. */
  commandEnv: Record<string, string>
  accounts: string[]
  /** The proxy between reporters and gateway. */
  toGateway: TcpProxy
  /** The proxy between services and PostgreSQL. */
  toPostgres: TcpProxy
  /** The proxy between services and ClickHouse. */
  toClickHouse: TcpProxy
  /** Starts another loader; it ends with the stage unless the test ends it. */
  addLoader(env?: Record<string, string>): Promise<RunningService>
  /** Starts a service again, behind the same proxy. */
  restart(name: 'gateway' | 'loader' | 'rollup', env?: Record<string, string>): Promise<void>
  /** Waits until the loaders have loaded the whole log. @returns the duration */
  drained(withinMs?: number): Promise<number>
  close(): Promise<void>
}

/** The deadline of a report, in the fault suite. */
export const APPEND_TIMEOUT_MS = 3_000

/** After this time a silent loader has lost its partitions. */
export const LEASE_MS = 1_000

const SETTINGS = {
  EVENT_LOG_APPEND_TIMEOUT_MS: String(APPEND_TIMEOUT_MS),
  EVENT_LOG_LEASE_MS: String(LEASE_MS),
  KAFKA_REQUEST_TIMEOUT_MS: '1500',
  DATABASE_STATEMENT_TIMEOUT_MS: '5000',
  CLICKHOUSE_QUERY_TIMEOUT_S: '5',
  LOADER_FLUSH_MS: '400',
  LOADER_FAILING_MAX_S: '2',
  LOADER_LATE_MARGIN_S: '3',
  ROLLUP_PAUSE_MS: '1500',
  ROLLUP_GRACE_S: '2',
  ROLLUP_LATE_AFTER_S: '4',
  ROLLUP_ORPHAN_S: '10', // above the time a query may take
  GATEWAY_WITHOUT_POSTGRES_MAX_S: '5', // the list of events waits this long after a crash of a gateway
}

/**
 * Settings for tests of the rollup service, which then hardly pauses. Other tests do not use them, because they take
 * half of the machine (1.4 cores of load instead of 0.8).
 */
export const BUSY_ROLLUPS = {
  ROLLUP_PAUSE_MS: '250',
  ROLLUP_LATE_AFTER_S: '1',
}

/** The length of time slots in seconds, so short that some end during every test. */
const SLOT_S = 5

const ACCOUNTS = 5

/** @param purpose names database and topics: letters, digits and underscores */
export async function startFaultStage(purpose: string, options: FaultStageOptions = {}): Promise<FaultStage> {
  tell(`seed ${SEED}, FAULT_SEED=${SEED} runs it again`)
  const { brokers, postgres, load } = options
  const made = await startSharedEngines(purpose, brokers, () =>
    postgres === undefined ? createDatabase(purpose) : createDatabaseOn(postgres.server, purpose),
  )
  const toPostgres = await tcpProxy(Number(new URL(made.db.serviceUrl).port))
  const toClickHouse = await tcpProxy(made.clickhouse.port)
  const engines: SharedEngines = {
    ...made,
    env: {
      ...made.env,
      DATABASE_URL: withPort(made.db.serviceUrl, toPostgres.port),
      DATABASE_OWNER_URL: withPort(made.db.ownerUrl, toPostgres.port),
      CLICKHOUSE_URL: withPort(made.env['CLICKHOUSE_URL'] ?? '', toClickHouse.port),
    },
  }
  const settings = { ...SETTINGS, ...options.env }
  const env = { ...envOfServices(engines), ...settings }
  const services = await startServices(engines, settings, {}, () => shortenSlots(env))
  const toGateway = await tcpProxy(Number(new URL(services.gateway.url).port))
  const pool = openPool({
    url: engines.env['DATABASE_URL'] ?? '',
    name: 'test',
    connectionsMax: 4,
    statementTimeoutMs: 10_000,
    log: testLog,
  })
  const config = { ...readEventLogConfig(new EnvReader(env)), housekeepingMs: 0 }
  const eventLog = await openEventLog(config, { pool, alone: false, housekeeping: false, log: testLog })
  const api = new ApiClient(services.api.url, services.key)
  const { accounts, sources } = await makeAccounts(api)
  const ledger = new Ledger({
    url: () => `http://127.0.0.1:${toGateway.port}`,
    key: services.key,
    accounts,
    sources,
    seed: `${purpose} ${SEED}`,
    workers: 4,
    batchMax: 20,
    pauseMs: 60,
    ...load,
  })
  const more: RunningService[] = []
  const folder = await makeTempFolder('fault-commands')
  return {
    services,
    engines,
    ledger,
    api,
    pool,
    eventLog,
    env,
    commandEnv: { ...engines.env, ...settings, DATA_DIR: `${folder}/data` },
    accounts,
    toGateway,
    toPostgres,
    toClickHouse,
    async addLoader(further = {}) {
      const loader = await startService('loader', { ...env, ...further })
      more.push(loader)
      return loader
    },
    async restart(name, further) {
      await services[name].restart(further)
      if (name === 'gateway') toGateway.target = Number(new URL(services.gateway.url).port)
    },
    async drained(withinMs = 90_000) {
      const startedAt = performance.now()
      await until(async () => {
        const lags = await eventLog.lag(LOADER_GROUP).catch(() => [])
        return lags.length > 0 && lags.every(({ committed, end }) => committed >= end)
      }, withinMs)
      return performance.now() - startedAt
    },
    async close() {
      for (const loader of more) {
        loader.process.kill('SIGCONT')
        await loader.stop()
      }
      await services.stop()
      await eventLog.close()
      await pool.end()
      for (const proxy of [toGateway, toPostgres, toClickHouse]) await proxy.close()
      await engines.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function shortenSlots(env: Record<string, string>): Promise<void> {
  const { client } = await openServerOf(env)
  await setSlotLength(client, SLOT_S)
  await client.close()
}

/** Opens the ClickHouse of the services. */
export function openServerOf(env: Record<string, string>): Promise<OpenedClickHouse> {
  const { url, database } = readClickHouseServerConfig(new EnvReader(env))
  return openClickHouse({ url, database, queryTimeoutS: 60, connections: 2 })
}

function withPort(url: string, port: number): string {
  const changed = new URL(url)
  changed.port = String(port)
  return changed.href
}

/** Makes accounts, and the sources of their usage. */
export async function makeAccounts(api: ApiClient): Promise<{ accounts: string[]; sources: string[] }> {
  const accounts: string[] = []
  // Each of two loaders must have usage to load. Partitions are assigned in turn, and one in 16 sets of five accounts
  // has all in the partitions of one loader.
  const partitions = () => new Set(accounts.map((id) => partitionOfAccount(id, 2)))
  while (accounts.length < ACCOUNTS || partitions().size < 2)
    accounts.push(
      (await api.create<{ id: string }>('/v2/accounts', { name: `account ${accounts.length}` })).id,
    )
  const metrics: string[] = []
  for (const name of ['tokens', 'calls'])
    metrics.push((await api.create<{ id: string }>('/v2/metrics', { name })).id)
  return { accounts, sources: [...metrics, 'usd', 'eur'] }
}
