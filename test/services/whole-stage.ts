import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { openApi } from '../../services/api/open-api.ts'
import { Acceptance } from '../../services/gateway/acceptance.ts'
import type { GatewayPoint } from '../../services/gateway/crash-points.ts'
import { openGateway } from '../../services/gateway/open-gateway.ts'
import { openLoader } from '../../services/loader/open-loader.ts'
import { dispatch } from '../../services/standalone/dispatch.ts'
import type { ClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { makeLatestSums } from '../../shared/clickhouse/usage/latest-sums.ts'
import { type Mode, newApiKey, PERMISSIONS } from '../../shared/domain/api-key.ts'
import { LOADER_GROUP, type NewRecord, USAGE_TOPIC } from '../../shared/event-log/event-log.ts'
import { listedUpToOf } from '../../shared/event-log/listed-up-to.ts'
import { openPostgresEventLog } from '../../shared/event-log/postgres/postgres-event-log.ts'
import { listen } from '../../shared/http/http-server.ts'
import { openAccess } from '../../shared/http/open-access.ts'
import { requestMetrics } from '../../shared/http/request-metrics.ts'
import { type Closeable, closeAll } from '../../shared/lifecycle/close-all.ts'
import type { Reached } from '../../shared/lifecycle/crash-at.ts'
import { openMetrics } from '../../shared/metrics/metrics.ts'
import { companyRepository } from '../../shared/postgres/companies.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { withTransaction } from '../../shared/postgres/core/transaction.ts'
import { testWorlds } from '../../shared/postgres/test-worlds.ts'
import { openPurges } from '../../shared/redis/purges.ts'
import { microsecondClock } from '../../shared/time/microsecond-clock.ts'
import { risingClock } from '../../shared/time/rising-clock.ts'
import { ApiClient } from '../support/api-client.ts'
import { connectAgain, createClickHouse } from '../support/clickhouse.ts'
import { insertKey } from '../support/insert-key.ts'
import { testLog } from '../support/log.ts'
import { asking } from '../support/pausing.ts'
import { createDatabase } from '../support/postgres.ts'
import { setSlotLength } from '../support/rollup-stage.ts'
import { until } from '../support/until.ts'

export type WholeStage = Awaited<ReturnType<typeof startWholeStage>>

const LOADER = {
  failingMaxMs: 30_000,
  batchRowsMax: 50_000,
  batchBytesMax: 32_000_000,
  lateMarginS: 15,
  flushMs: 20,
}

interface StageOptions {
  lookUpTimeoutMs?: number
  slotS?: number
  /** Called at the crash points of reports and corrections; an error from it ends them there. */
  reached?: Reached<GatewayPoint>
  /** Makes the connections of the API. */
  poolOfApi?: (pool: Pool) => Pool
}

/**
 * Starts gateway, loader and API in this process, with separate databases and connected like the services. A test can
 * make the log refuse appends, stop the loader, and change the order of lines.
 *
 * @param purpose names the databases: letters, digits and underscores
 */
export async function startWholeStage(purpose: string, options: StageOptions = {}) {
  const { lookUpTimeoutMs = 5_000, slotS = 300, reached, poolOfApi = (given: Pool) => given } = options
  const db = await createDatabase(purpose)
  const clickhouse = await createClickHouse(purpose)
  const computing = await connectAgain(clickhouse)
  await setSlotLength(clickhouse.client, slotS)
  const { pool } = db
  const metrics = openMetrics()
  const eventLog = await openPostgresEventLog({
    pool,
    topic: USAGE_TOPIC,
    partitions: 3,
    log: testLog,
    appendDeadlineMs: 5_000,
    appendsWaitingMax: 1_000,
    appendsWaitingBytesMax: 1e9,
    leaseMs: 60_000,
    segmentBytesMax: 1e12,
    segmentAgeMaxMs: 1e12,
    retentionMs: 1e12,
    housekeepingMs: 0,
    alone: true,
  })
  /** The log of the gateways, in which tests cause faults. */
  const log = {
    partitions: eventLog.partitions,
    append: (records: readonly NewRecord[]) => eventLog.append(records),
    lag: (group: string) => eventLog.lag(group),
  }
  const sharing = { redis: undefined, purges: openPurges(undefined) }
  const opened: Closeable[] = []
  const apiPool = poolOfApi(pool)
  const access = openAccess(
    { pool: apiPool, worlds: testWorlds(apiPool, 1_000), sharing },
    {
      eventsPerS: 1e9,
      requestsPerS: 1e9,
      accountRequestsPerS: 1e9,
      wrongKeysPerMin: 1e9,
      trustedProxies: [],
    },
    opened,
    testLog,
  )
  const requests = requestMetrics(metrics)
  const timeouts = { requestTimeoutMs: 30_000, lookUpTimeoutMs }
  const clock = microsecondClock()
  const acceptance = new Acceptance(risingClock(clock), 1_000)
  const listedUpTo = listedUpToOf({ lowestUnderWay: () => acceptance.lowest(), eventLog })
  const common = { pool, clickhouse: clickhouse.client, access, requests, metrics, log: testLog }
  const { handler: gateway, relay } = openGateway(
    {
      ...common,
      eventLog: {
        partitions: log.partitions,
        append: (records) => log.append(records),
        lag: (group) => log.lag(group),
      },
      acceptance,
      watch: { mayBeBehind: false },
      clock,
      purges: sharing.purges,
      ...(reached === undefined ? {} : { reached }),
    },
    {
      ...timeouts,
      gateway: { bodyBytesMax: 4 * 1_024 * 1_024, existingIdsMax: 10_000 },
    },
  )
  const warming = { accountsMax: 1_000, everyMs: 1_000, wokenAfterMs: 1_000 }
  const latestSums = makeLatestSums(0)
  const apiOn = (client: ClickHouse, cache?: typeof latestSums): RequestListener => {
    const api = openApi(
      {
        ...common,
        pool: apiPool,
        metrics: openMetrics(),
        clickhouse: client,
        latestSums: cache,
        eventLog,
        listedUpTo,
        purges: sharing.purges,
      },
      {
        ...timeouts,
        api: {
          bodyBytesMax: 262_144,
          servesConsole: false,
          browserOrigins: new Set(),
          emptyEveryMs: 60_000,
          warming,
        },
      },
    )
    opened.push(api.warming)
    return api.handler
  }
  const serve = (name: string, handler: RequestListener) =>
    listen(handler, { name, host: '127.0.0.1', port: 0, portSetting: 'none', closeTimeoutMs: 1_000 })
  const server = await serve('the stage', dispatch(gateway, apiOn(clickhouse.client, latestSums)))
  const rawServer = await serve('the stage without rollups', apiOn(withoutRollups(clickhouse.client)))
  const [url, rawUrl] = [server, rawServer].map(({ port }) => `http://127.0.0.1:${port}`) as [string, string]
  const openOwnLoader = () =>
    openLoader(
      {
        pool,
        clickhouse: clickhouse.client,
        latestSums,
        eventLog,
        deadLetterTopic: undefined,
        metrics: openMetrics(),
        log: testLog,
      },
      LOADER,
    )
  let loader: Awaited<ReturnType<typeof openOwnLoader>> | undefined = await openOwnLoader()

  return {
    url,
    db,
    clickhouse: clickhouse.client,
    /** The cache of sums, which must know the accounts whose usage bypasses the loader. */
    latestSums,
    /** The connections for rollups. */
    computing: computing.client,
    eventLog,
    /** The log of the gateway, whose functions a test may replace. */
    log,
    listedUpTo,
    /** Makes a company, with clients of the API and of an API without rollups. */
    async newCaller(mode: Mode = 'live') {
      const [companyId, namespaceId, keyId, key] = [randomUUID(), randomUUID(), randomUUID(), newApiKey(mode)]
      await withTransaction(pool, async (client) => {
        await companyRepository(client).insert({ id: companyId, name: companyId, mode, namespaceId })
        await insertKey(client, { id: keyId, companyId, key, permissions: [...PERMISSIONS] })
      })
      return {
        api: new ApiClient(url, key),
        rawApi: new ApiClient(rawUrl, key),
        companyId,
        namespaceId,
        keyId,
      }
    },
    /** Stops loading until the loader is released. */
    async holdLoader() {
      await loader?.close()
      loader = undefined
    },
    async letLoaderGoOn() {
      loader ??= await openOwnLoader()
    },
    loaded: () =>
      until(async () => (await eventLog.lag(LOADER_GROUP)).every(({ committed, end }) => committed === end)),
    /** Reads all lines of the log, partition by partition. */
    async readLines(): Promise<string[]> {
      const lines: string[] = []
      for (const { partition, end } of await eventLog.lag(LOADER_GROUP))
        for (let offset = 0; offset < end;)
          for (const record of await eventLog.read({ partition, offset }, 1_000_000)) {
            lines.push(...record.value.toString().trim().split('\n'))
            offset = record.offset + 1
          }
      return lines
    },
    async close() {
      await server.close()
      await rawServer.close()
      await relay.close()
      await loader?.close()
      await closeAll(opened, testLog)
      await eventLog.close()
      await computing.close()
      await clickhouse.close()
      await db.close()
    },
  }
}

/** A client that sees no rollups. */
const withoutRollups = (client: ClickHouse): ClickHouse =>
  asking(client, (given, query) => {
    if (/FROM usage_by_\w+ FINAL/.test(given.query)) throw new Error(`reads rollups: ${given.query}`)
    return query({ ...given, query: given.query.replace('FROM rollup_epochs', 'FROM rollup_epochs WHERE 0') })
  })
