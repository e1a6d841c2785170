import { randomUUID } from 'node:crypto'
import { apiApp } from '../../services/api/app.ts'
import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { usageEventRepository } from '../../shared/clickhouse/usage-events.ts'
import { digestOfApiKey, newApiKey, type Caller } from '../../shared/domain/api-key.ts'
import { usageEventToLine } from '../../shared/domain/usage-event-line.ts'
import type { UsageEvent } from '../../shared/domain/usage-event.ts'
import { listen } from '../../shared/http/http-server.ts'
import { companyRepository } from '../../shared/postgres/companies.ts'
import type { Pool } from '../../shared/postgres/pool.ts'
import { withTransaction } from '../../shared/postgres/transaction.ts'
import { ApiClient } from './api-client.ts'
import { createClickHouse } from './clickhouse.ts'
import { countingClickHouse, countingPool, QueryCounts } from './count-queries.ts'
import { openRateLimits } from '../../shared/rate-limit/rate-limits.ts'
import { testLog } from './log.ts'
import { createDatabase } from './postgres.ts'

/** A company of its own, and a client with its key. */
export interface TestCaller {
  api: ApiClient
  namespaceId: string
}

/** The API in this process, on the test run's engines. */
export interface RunningApi {
  /** The role that owns the tables is not needed: rows are changed in the caller's namespace. */
  pool: Pool
  clickhouse: ClickHouse
  /** What the API asked of the databases. */
  counts: QueryCounts
  /** Where the list of events ends: Unix seconds; the far future at first. */
  listedUpTo: { second: number }
  newCaller(): Promise<TestCaller>
  /** Loads events as the loader does, in one insert. */
  store(events: readonly UsageEvent[]): Promise<void>
  stop(): Promise<void>
}

const FAR_FUTURE_S = 2 ** 32 - 1

/**
 * Starts the API without gateway and loader: tests store events themselves, with any times and versions.
 *
 * @param purpose names the databases: letters, digits and underscores
 */
export async function startApi(purpose: string): Promise<RunningApi> {
  const database = await createDatabase(purpose)
  const opened = await createClickHouse(purpose)
  const counts = new QueryCounts()
  const callers = new Map<string, Caller>()
  const listedUpTo = { second: FAR_FUTURE_S }
  const app = apiApp(
    {
      pool: countingPool(database.pool, counts),
      clickhouse: countingClickHouse(opened.client, counts),
      listedUpTo: () => Promise.resolve(listedUpTo.second * 1_000_000),
    },
    {
      findCaller: (digest) => Promise.resolve(callers.get(digest.toString('hex'))),
      log: testLog,
      bodyBytesMax: 256 * 1_024,
      limits: openRateLimits({ eventsPerS: 1e9, requestsPerS: 1e9, wrongKeysPerMin: 1e9 }),
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
    counts,
    listedUpTo,
    async newCaller() {
      const [companyId, namespaceId, key] = [randomUUID(), randomUUID(), newApiKey('test')]
      await withTransaction(database.pool, (db) =>
        companyRepository(db).insert({ id: companyId, name: companyId, mode: 'test', namespaceId }),
      )
      callers.set(digestOfApiKey(key).toString('hex'), {
        keyId: randomUUID(),
        companyId,
        namespaceId,
        mode: 'test',
        permissions: ['read:all', 'write:all'],
      })
      return { api: new ApiClient(url, key), namespaceId }
    },
    store: (stored) => events.insertLines(Buffer.from(stored.map(usageEventToLine).join('\n'))),
    async stop() {
      await server.close()
      await opened.close()
      await database.close()
    },
  }
}
