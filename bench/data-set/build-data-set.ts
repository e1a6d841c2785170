import { mkdir, readdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ClickHouse, queryRows } from '../../shared/clickhouse/clickhouse.ts'
import { buildEpoch } from '../../shared/clickhouse/rollups/build-epoch.ts'
import { rollupEpochRepository } from '../../shared/clickhouse/rollups/rollup-epochs.ts'
import { rollupTables } from '../../shared/clickhouse/rollups/rollup-tables.ts'
import { newId } from '../../shared/domain/ids.ts'
import { StartupError } from '../../shared/errors/startup-error.ts'
import { companyRepository } from '../../shared/postgres/companies.ts'
import { openPool } from '../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../shared/postgres/core/transaction.ts'
import { startEmbeddedPostgres } from '../../shared/postgres/embedded/embedded-postgres.ts'
import { testLog } from '../../test/support/log.ts'
import { startTally } from '../../test/support/start-tally.ts'
import { type DataSet, findDataSet, noteDataSet, openUsage } from './data-set.ts'
import { accountId, ACCOUNTS, CURRENCY, insertMadeUpEvents, type MadeUpEvents } from './made-up-events.ts'

const DAY_S = 86_400
const DAYS = 90
/** The rows of an insert, about as many as a loader stores at once. */
const ROWS_AT_ONCE = 50_000
const TELL_EVERY_MS = 5_000
/** Seconds after its end at which a slot is closed. */
const GRACE_S = 10
const STATEMENT_TIMEOUT_S = 3_600
const MERGED_AFTER_MS = 5_000
const MERGED_WITHIN_MS = 3_600_000

const INSERT_ACCOUNTS = `
  INSERT INTO accounts (namespace_id, account_id, name, sort_name, customer_sort_name, created_at, updated_at)
  SELECT $1, id, 'made up', 'made up', '1', at, at FROM unnest($2::text[]) AS id CROSS JOIN clock_timestamp() AS at`
const INSERT_METRICS = `
  INSERT INTO metrics (namespace_id, metric_id, name, description, measurement_units, created_at, updated_at)
  SELECT $1, id, 'made up', '', '', at, at
  FROM unnest($2::text[]) AS id CROSS JOIN clock_timestamp() AS at`
const INSERT_GRANTS = `
  INSERT INTO grants (namespace_id, grant_id, account_id, metric_id, currency, amount, effective_at, accepted_at, created_at, updated_at)
  SELECT $1, 'grant_' || md5(account || coalesce(metric, $4)), account, metric, CASE WHEN metric IS NULL THEN $4 END,
    1000000, at, at, at, at
  FROM unnest($2::text[]) AS account CROSS JOIN unnest($3::text[] || NULL::text) AS metric CROSS JOIN clock_timestamp() AS at`

/**
 * Makes a data folder with 10,000 accounts, their grants of three sources, and their usage of the last 90 days. The
 * usage is stored in order of time, in batches like a loader's, with its rollups. A complete folder with as many events
 * is used unchanged.
 */
export async function buildDataSet(
  folder: string,
  events: number,
  print: (line: string) => void,
): Promise<DataSet> {
  const found = await findDataSet(folder)
  if (found?.events === events) {
    await migrate(folder)
    return found
  }
  await mkdir(folder, { recursive: true, mode: 0o755 })
  if ((await readdir(folder)).length > 0)
    throw new StartupError(`${folder} holds something else, or was never finished: remove it`)
  await migrate(folder)
  const metrics = [newId('metric'), newId('metric')]
  const namespaceId = await makeResources(folder, metrics)
  const opened = await openUsage(folder)
  try {
    const endAt = Math.floor(Date.now() / 1_000)
    const madeUp = { namespaceId, metrics, events, startAt: endAt - DAYS * DAY_S, endAt }
    const insertS = await insertAll(opened.client, madeUp, print)
    const rollupsS = await buildRollups(opened.client, print)
    await untilMerged(opened.client, print)
    const dataSet = { ...madeUp, folder, insertS, rollupsS }
    await noteDataSet(dataSet)
    return dataSet
  } finally {
    await opened.close()
  }
}

/** Makes databases and companies, or migrates those of an earlier version. */
async function migrate(folder: string): Promise<void> {
  await (await startTally({ dataFolder: folder })).stop()
}

/**
 * Writes accounts, metrics and grants directly to PostgreSQL.
 * @returns their namespace
 */
async function makeResources(folder: string, metrics: readonly string[]): Promise<string> {
  const server = await startEmbeddedPostgres({
    dataFolder: folder,
    log: testLog,
    onUnexpectedExit: (reason) => {
      throw new Error(reason)
    },
  })
  const pool = openPool({
    url: server.serviceUrl,
    name: 'bench',
    connectionsMax: 1,
    statementTimeoutMs: 300_000,
    log: testLog,
  })
  try {
    const company = await companyRepository(pool).findByName('default')
    if (company === undefined) throw new Error('a new Tally has made no company')
    const { namespaceId } = company
    const accounts = Array.from({ length: ACCOUNTS }, (_, n) => accountId(n))
    await inNamespace(pool, namespaceId, async (db) => {
      await db.query(INSERT_ACCOUNTS, [namespaceId, accounts])
      await db.query(INSERT_METRICS, [namespaceId, metrics])
      await db.query(INSERT_GRANTS, [namespaceId, accounts, metrics, CURRENCY])
    })
    return namespaceId
  } finally {
    await pool.end()
    await server.close()
  }
}

/** @returns how many seconds it took */
async function insertAll(
  client: ClickHouse,
  madeUp: MadeUpEvents,
  print: (line: string) => void,
): Promise<number> {
  const tell = everyNow(print)
  const { events } = madeUp
  const startedAt = performance.now()
  for (let first = 0; first < events; first += ROWS_AT_ONCE) {
    await insertMadeUpEvents(client, madeUp, first, ROWS_AT_ONCE)
    const done = Math.min(events, first + ROWS_AT_ONCE)
    const seconds = (performance.now() - startedAt) / 1_000
    const left = (seconds / done) * (events - done)
    tell(`stored ${done} of ${events} events in ${seconds.toFixed(0)} s, ${left.toFixed(0)} s left`)
  }
  return (performance.now() - startedAt) / 1_000
}

async function buildRollups(client: ClickHouse, print: (line: string) => void): Promise<number> {
  const tell = everyNow(print)
  const startedAt = performance.now()
  const deps = {
    client,
    epochs: rollupEpochRepository(client),
    tables: rollupTables(client, STATEMENT_TIMEOUT_S),
    onProgress: (done: number, of: number) => {
      tell(`computed rollups of ${done} of ${of} days`)
    },
  }
  await buildEpoch(deps, GRACE_S)
  return (performance.now() - startedAt) / 1_000
}

/** Waits until ClickHouse has no more data parts to merge. */
export async function untilMerged(client: ClickHouse, print: (line: string) => void): Promise<void> {
  const tell = everyNow(print)
  const deadline = performance.now() + MERGED_WITHIN_MS
  let quietSince = performance.now()
  while (performance.now() - quietSince < MERGED_AFTER_MS) {
    const [row] = await queryRows<{ merges: string }>(
      client,
      'SELECT toString(count()) AS merges FROM system.merges WHERE database = currentDatabase()',
      {},
    )
    if (row?.merges !== '0') quietSince = performance.now()
    if (performance.now() > deadline) throw new Error('ClickHouse goes on merging for more than an hour')
    tell(`waiting for ${row?.merges ?? '?'} merges`)
    await sleep(250)
  }
}

/** Prints at most one line in five seconds. */
function everyNow(print: (line: string) => void): (line: string) => void {
  let printedAt = performance.now()
  return (line) => {
    if (performance.now() - printedAt < TELL_EVERY_MS) return
    printedAt = performance.now()
    print(line)
  }
}
