import { randomUUID } from 'node:crypto'
import { apiApp } from '../../services/api/app.ts'
import { type ClickHouse, openClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { readClickHouseServerConfig } from '../../shared/clickhouse/config.ts'
import { occurredEvents } from '../../shared/clickhouse/events/occurred-events.ts'
import { usageEventRepository } from '../../shared/clickhouse/events/usage-events.ts'
import { groupedUsageReader } from '../../shared/clickhouse/usage/grouped-usage.ts'
import { knownUsageReader } from '../../shared/clickhouse/usage/known-usage.ts'
import { ratedUsageReader } from '../../shared/clickhouse/usage/rated-usage.ts'
import { rawReadSemaphore } from '../../shared/clickhouse/usage/raw-read-semaphore.ts'
import { simulatedUsageReader } from '../../shared/clickhouse/usage/simulated-usage.ts'
import { usageThroughRollups } from '../../shared/clickhouse/usage/usage-through-rollups.ts'
import { EnvReader } from '../../shared/config/env-reader.ts'
import { type Caller, digestOfApiKey, newApiKey } from '../../shared/domain/api-key.ts'
import type { UsageEvent } from '../../shared/domain/usage-event.ts'
import { readEventLogConfig } from '../../shared/event-log/config.ts'
import { LOADER_GROUP } from '../../shared/event-log/event-log.ts'
import { openEventLog } from '../../shared/event-log/open-event-log.ts'
import { partitionOfAccount } from '../../shared/event-log/partition.ts'
import { listen } from '../../shared/http/http-server.ts'
import { companyRepository } from '../../shared/postgres/companies.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { withTransaction } from '../../shared/postgres/core/transaction.ts'
import { testWorlds } from '../../shared/postgres/test-worlds.ts'
import { openRateLimits } from '../../shared/rate-limit/rate-limits.ts'
import { openPurges } from '../../shared/redis/purges.ts'
import { usageEventToLine } from '../../shared/usage-lines/log-line.ts'
import { askRun, type RunApi } from '../run/ask-run.ts'
import type { Shared } from '../run/shared-engine.ts'
import { ApiClient } from './api-client.ts'
import { openPoolByHand } from './by-hand.ts'
import { createClickHouse } from './clickhouse.ts'
import { countingClickHouse, countingPool, QueryCounts } from './count-queries.ts'
import { insertKey } from './insert-key.ts'
import { requireKafka } from './kafka.ts'
import { LAYOUT } from './layout.ts'
import { testLog } from './log.ts'
import { createDatabase } from './postgres.ts'
import { startService } from './start-service.ts'
import { migrateEngines, startSharedEngines } from './start-services.ts'
import { until } from './until.ts'

/** A separate company, and a client with its key. */
export interface TestCaller {
  api: ApiClient
  /** The company's key, with every permission for data. */
  key: string
  namespaceId: string
}

/** Parts that are available only if the API runs in this process. */
interface InsideApi {
  /** The queries that the API sent to the databases. */
  counts: QueryCounts
  /** The end of the list of events, in Unix seconds; at first far in the future. */
  listedUpTo: { second: number }
}

/** An API whose events the test stores itself. */
export interface RunningApi {
  /** Connections with the role of the services, which is enough to change rows in the caller's namespace. */
  pool: Pool
  clickhouse: ClickHouse
  /** Undefined if the API is a separate process. */
  inside: InsideApi | undefined
  newCaller(): Promise<TestCaller>
  /**
   * Loads events: in one insert like the loader, or through Kafka and a loader. They count when the promise resolves.
   */
  store(events: readonly UsageEvent[]): Promise<void>
  stop(): Promise<void>
}

const FAR_FUTURE_S = 2 ** 32 - 1

/**
 * Starts the API without gateway and loader. Tests store events themselves, with any times and versions. A separate
 * process belongs to the test run, and all files share it, each with its own companies.
 *
 * @param purpose names the databases: letters, digits and underscores
 */
export const startApi = (purpose: string): Promise<RunningApi> =>
  LAYOUT === 'processes' ? reachRunApi() : startApiHere(purpose)

async function startApiHere(purpose: string): Promise<RunningApi> {
  const database = await createDatabase(purpose)
  const opened = await createClickHouse(purpose)
  const counts = new QueryCounts()
  const callers = new Map<string, Caller>()
  const listedUpTo = { second: FAR_FUTURE_S }
  const clickhouse = countingClickHouse(opened.client, counts)
  const rawReads = rawReadSemaphore()
  const app = apiApp(
    {
      pool: countingPool(database.pool, counts),
      clickhouse,
      usage: usageThroughRollups(clickhouse),
      groupedUsage: groupedUsageReader(clickhouse, rawReads),
      ratedUsage: ratedUsageReader(clickhouse, rawReads),
      simulatedUsage: simulatedUsageReader(clickhouse, rawReads),
      knownUsage: knownUsageReader(clickhouse, rawReads),
      occurredEvents: occurredEvents(clickhouse, rawReads),
      listedUpTo: () => Promise.resolve(listedUpTo.second * 1_000_000),
      drain: () => Promise.resolve(true),
      untilLoaded: () => Promise.resolve(), // stored events count at once
      purges: openPurges(undefined),
    },
    {
      findCaller: (digest) => Promise.resolve(callers.get(digest.toString('hex'))),
      worlds: testWorlds(database.pool, 5_000),
      log: testLog,
      bodyBytesMax: 256 * 1_024,
      limits: openRateLimits({
        eventsPerS: 1e9,
        requestsPerS: 1e9,
        accountRequestsPerS: 1e9,
        wrongKeysPerMin: 1e9,
        trustedProxies: [],
      }),
      requestTimeoutMs: 30_000,
    },
  )
  const server = await listen(app, {
    name: 'the API under test',
    host: '127.0.0.1',
    port: 0,
    portSetting: 'none',
    closeTimeoutMs: 1_000,
  })
  const url = `http://127.0.0.1:${server.port}`
  const events = usageEventRepository(opened.client)
  return {
    pool: database.pool,
    clickhouse: opened.client,
    inside: { counts, listedUpTo },
    async newCaller() {
      const { companyId, namespaceId, key } = await makeCompany(database.pool)
      callers.set(digestOfApiKey(key).toString('hex'), {
        keyId: randomUUID(),
        companyId,
        namespaceId,
        mode: 'test',
        permissions: ['read:all', 'write:all'],
      })
      return { api: new ApiClient(url, key), key, namespaceId }
    },
    store: (stored) => events.insertLines(Buffer.from(stored.map(usageEventToLine).join('\n'))),
    async stop() {
      await server.close()
      await opened.close()
      await database.close()
    },
  }
}

async function makeCompany(pool: Pool): Promise<{ companyId: string; namespaceId: string; key: string }> {
  const [companyId, namespaceId, key] = [randomUUID(), randomUUID(), newApiKey('test')]
  await withTransaction(pool, (db) =>
    companyRepository(db).insert({ id: companyId, name: companyId, mode: 'test', namespaceId }),
  )
  return { companyId, namespaceId, key }
}

/** Limits that no test reaches. */
const NO_LIMITS = { RATE_LIMIT_REQUESTS_PER_S: '1000000', RATE_LIMIT_WRONG_KEYS_PER_MIN: '1000000' }

/** Starts the API, a loader and a rollup service as processes, which the files of a test run share. */
export async function startRunApi(): Promise<Shared<RunApi>> {
  const engines = await startSharedEngines('api', await requireKafka())
  await migrateEngines(engines)
  const env = { ...engines.env, ...NO_LIMITS }
  const [loader, api, rollup] = await Promise.all([
    startService('loader', env),
    startService('api', env),
    startService('rollup', env),
  ])
  return {
    facts: { url: api.url, env: engines.env },
    async end() {
      await Promise.all([loader.stop(), api.stop(), rollup.stop()])
      await engines.close()
    },
  }
}

async function reachRunApi(): Promise<RunningApi> {
  const { url: apiUrl, env } = await askRun('api')
  const read = new EnvReader(env)
  const pool = openPoolByHand(env['DATABASE_URL'] ?? '')
  const { database, queryTimeoutS, url } = readClickHouseServerConfig(read)
  const clickhouse = await openClickHouse({ database, queryTimeoutS, url, connections: 2 })
  const log = await openEventLog(readEventLogConfig(read), {
    pool,
    alone: false,
    housekeeping: false,
    log: testLog,
  })
  return {
    pool,
    clickhouse: clickhouse.client,
    inside: undefined,
    async newCaller() {
      const { companyId, namespaceId, key } = await makeCompany(pool)
      await insertKey(pool, { companyId, key })
      return { api: new ApiClient(apiUrl, key), key, namespaceId }
    },
    async store(stored) {
      await log.append(
        stored.map((event) => ({
          partition: partitionOfAccount(event.accountId, log.partitions),
          acceptedAt: event.acceptedAt,
          value: Buffer.from(usageEventToLine(event)),
        })),
      )
      await until(async () => (await log.lag(LOADER_GROUP)).every(({ committed, end }) => committed === end))
    },
    async stop() {
      await log.close()
      await clickhouse.close()
      await pool.end()
    },
  }
}
