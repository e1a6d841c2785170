import { requireWholeTables } from '../../shared/clickhouse/broken-data-parts.ts'
import { openClickHouse, type OpenedClickHouse } from '../../shared/clickhouse/clickhouse.ts'
import { makeAllCompanyViews } from '../../shared/clickhouse/company-views.ts'
import { LOADER_CONNECTIONS, ROLLUP_CLICKHOUSE_CONNECTIONS } from '../../shared/clickhouse/config.ts'
import { migrateClickHouse } from '../../shared/clickhouse/migrate.ts'
import { requireUsageStore } from '../../shared/clickhouse/require-usage-store.ts'
import { reach } from '../../shared/errors/reach.ts'
import { prepareEventLog } from '../../shared/event-log/open-event-log.ts'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { migratePostgres, roleOf } from '../../shared/postgres/core/migrate.ts'
import { openPool } from '../../shared/postgres/core/pool.ts'
import { requireHarmlessRole } from '../../shared/postgres/core/require-harmless-role.ts'
import { startEmbeddedPostgres } from '../../shared/postgres/embedded/embedded-postgres.ts'
import type { StandaloneConfig } from './config.ts'
import type { DataFolder } from './data-folder.ts'

/** One connection more than the rollups need. Only npm run rebuild uses it. */
const REBUILD_CONNECTIONS = 1

/** Both databases, opened and migrated. If the event log is in Kafka, its topics exist. */
export interface Engines {
  /** The URL of PostgreSQL for the services' role. */
  databaseUrl: string
  /** The URL of the embedded PostgreSQL's superuser; undefined when PostgreSQL is a server. */
  superuserUrl: string | undefined
  clickhouse: OpenedClickHouse
  /** The loader's own connections. */
  loaderClickhouse: OpenedClickHouse
  /** The rollups' own connections, because their statements may take longer than others are allowed to. */
  rollupClickhouse: OpenedClickHouse
  /** Whether only this process takes usage and changes resources, because PostgreSQL is embedded. */
  alone: boolean
}

/** Long, because a migration may fill one table from another. */
const MIGRATION_TIMEOUT_S = 86_400

/**
 * Opens the databases and migrates them. A database for which no server is set is embedded. Each opened part is added
 * to `opened` at once, so that it is closed when a later step fails.
 *
 * @param isAlone whether no process of an earlier version runs beside this one. Then it also removes what only those
 *   use. Beside an embedded PostgreSQL, none can run
 * @throws StartupError when a server is out of reach
 */
export async function openEngines(
  config: StandaloneConfig,
  folder: DataFolder,
  opened: Closeable[],
  log: Logger,
  onUnexpectedExit: (reason: string) => void,
  isAlone = false,
): Promise<Engines> {
  const { postgres, clickhouse: ch } = config
  const urls =
    postgres.server === undefined
      ? await startOwn(folder, opened, log, onUnexpectedExit)
      : { ...postgres.server, superuserUrl: undefined }
  const { database, queryTimeoutS, connections, url } = ch
  const place = url === undefined ? { folder: folder.join('clickhouse') } : { url }
  const clickhouse = await openClickHouse({ database, queryTimeoutS, connections, ...place })
  opened.push(clickhouse)
  const own = postgres.server === undefined
  const which = { contract: own || isAlone }
  const name = (setting: string) => (own ? 'the embedded PostgreSQL' : `PostgreSQL (${setting})`)
  const serviceRole = await reach(name('DATABASE_URL'), () => roleOf(urls.url))
  await reach(name('DATABASE_OWNER_URL'), () =>
    migratePostgres({ ownerUrl: urls.ownerUrl, serviceRole, log, ...which }, () =>
      reach('ClickHouse (CLICKHOUSE_URL)', async () => {
        if (url === undefined) return migrateClickHouse(clickhouse, log, which)
        const patient = await openClickHouse({
          database,
          queryTimeoutS: MIGRATION_TIMEOUT_S,
          connections: 1,
          url,
        })
        await migrateClickHouse(patient, log, which).finally(() => patient.close())
      }),
    ),
  )
  await requireHarmlessRole(urls.url)
  await enterPlaces(config, urls.url, clickhouse, log)
  await requireWholeTables(clickhouse.client, log)
  const loaderClickhouse = await openClickHouse({
    database,
    queryTimeoutS,
    connections: LOADER_CONNECTIONS,
    ...place,
  })
  opened.push({ ...loaderClickhouse, name: 'ClickHouse of the loader' })
  const rollupClickhouse = await openClickHouse({
    database,
    queryTimeoutS: config.rollup.queryTimeoutS,
    connections: ROLLUP_CLICKHOUSE_CONNECTIONS + REBUILD_CONNECTIONS,
    ...place,
  })
  opened.push({ ...rollupClickhouse, name: 'ClickHouse of the rollups' })
  return {
    databaseUrl: urls.url,
    superuserUrl: urls.superuserUrl,
    clickhouse,
    loaderClickhouse,
    rollupClickhouse,
    alone: own,
  }
}

/**
 * Records in PostgreSQL which event log and which ClickHouse belong to it. If this is recorded already, checks that
 * they are the recorded ones. Then it makes the views of companies in that ClickHouse.
 */
async function enterPlaces(
  { postgres, eventLog }: StandaloneConfig,
  url: string,
  { client: clickhouse, database }: OpenedClickHouse,
  log: Logger,
): Promise<void> {
  const { statementTimeoutMs } = postgres
  const pool = openPool({ url, name: 'tally migrate', connectionsMax: 2, statementTimeoutMs, log })
  try {
    await prepareEventLog(eventLog, pool, log)
    await requireUsageStore(clickhouse, pool, { enters: true })
    await makeAllCompanyViews({ pool, clickhouse, database })
  } finally {
    await pool.end()
  }
}

async function startOwn(
  folder: DataFolder,
  opened: Closeable[],
  log: Logger,
  onUnexpectedExit: (reason: string) => void,
): Promise<{ url: string; ownerUrl: string; superuserUrl: string }> {
  const server = await startEmbeddedPostgres({ dataFolder: folder.path, log, onUnexpectedExit })
  opened.push(server)
  return { url: server.serviceUrl, ownerUrl: server.ownerUrl, superuserUrl: server.superuserUrl }
}
