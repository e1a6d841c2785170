import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { readLoaderConfig } from '../../services/loader/config.ts'
import { openLoader } from '../../services/loader/open-loader.ts'
import { recoverUsage } from '../../services/operator/backup/recover-usage.ts'
import { takeBackup } from '../../services/operator/backup/take-backup.ts'
import { readRollupConfig } from '../../services/rollup/config.ts'
import { queryRows } from '../../shared/clickhouse/clickhouse.ts'
import { restoreDatabase } from '../../shared/clickhouse/database-backup.ts'
import { usageCompleteRepository } from '../../shared/clickhouse/events/usage-complete.ts'
import { requireUsageStore } from '../../shared/clickhouse/require-usage-store.ts'
import { buildEpoch } from '../../shared/clickhouse/rollups/build-epoch.ts'
import { rollupEpochRepository } from '../../shared/clickhouse/rollups/rollup-epochs.ts'
import { ROLLUP_TABLES } from '../../shared/clickhouse/rollups/rollup-table-names.ts'
import { rollupTables } from '../../shared/clickhouse/rollups/rollup-tables.ts'
import { usageThroughRollups } from '../../shared/clickhouse/usage/usage-through-rollups.ts'
import { EnvReader } from '../../shared/config/env-reader.ts'
import type { UsageEvent } from '../../shared/domain/usage-event.ts'
import { readEventLogConfig } from '../../shared/event-log/config.ts'
import { LOADER_GROUP } from '../../shared/event-log/event-log.ts'
import { openEventLog, prepareEventLog } from '../../shared/event-log/open-event-log.ts'
import { tidy } from '../../shared/event-log/postgres/housekeeping.ts'
import { openMetrics } from '../../shared/metrics/metrics.ts'
import { readClock } from '../../shared/postgres/core/clock.ts'
import { MICROS_PER_MS } from '../../shared/time/microsecond-clock.ts'
import { usageEventToLine } from '../../shared/usage-lines/log-line.ts'
import { createClickHouse } from '../support/clickhouse.ts'
import { findKafka } from '../support/kafka.ts'
import { testLog } from '../support/log.ts'
import { createDatabase } from '../support/postgres.ts'
import { openKeeper } from '../support/rollup-keeper.ts'
import { countMarks } from '../support/rollup-stage.ts'
import { makeTempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'
import { ACCOUNT, makeCorrection, makeReport, NAMESPACE } from '../support/usage-event.ts'

const DAY_S = 86_400
const NOW = Math.floor(Date.now() / 1_000)
/** The reports that waited in the log when the backup began. */
const WAITING = 10_000

const DAYS = 40

/** Reports of the last 40 days, each of them so many hours before the time of day now. */
const reports = (count: number, hours = 1): UsageEvent[] =>
  Array.from({ length: count }, (_, n) =>
    makeReport({ occurredAt: NOW - (n % DAYS) * DAY_S - hours * 3_600 }),
  )

/** Makes a log, a ClickHouse and a loader. @param brokers undefined for the log on PostgreSQL */
async function makeStage(brokers: string | undefined) {
  const db = await createDatabase('recover')
  const clickhouse = await createClickHouse('recover')
  const { client } = clickhouse
  await requireUsageStore(client, db.pool, { enters: true })
  const kafka = brokers === undefined ? {} : kafkaSettings(brokers)
  const config = readEventLogConfig(new EnvReader({ EVENT_LOG_PARTITIONS: '2', ...kafka }))
  await prepareEventLog(config, db.pool, testLog)
  const log = await openEventLog(config, { pool: db.pool, alone: false, housekeeping: false, log: testLog })
  const folder = await makeTempFolder('recover')
  const startLoader = () =>
    openLoader(
      {
        pool: db.pool,
        clickhouse: client,
        eventLog: log,
        deadLetterTopic: undefined,
        metrics: openMetrics(),
        log: testLog,
      },
      readLoaderConfig(new EnvReader({})),
    )
  const load = async () => {
    const loader = await startLoader()
    await until(
      async () => (await log.lag(LOADER_GROUP)).every(({ committed, end }) => committed === end),
      30_000,
    )
    await loader.close()
  }
  const epochs = rollupEpochRepository(client)
  return {
    db,
    client,
    log,
    startLoader,
    load,
    append: async (events: readonly UsageEvent[]) => {
      for (let from = 0; from < events.length; from += 1_000)
        await log.append(
          [0, 1].map((partition) => ({
            partition,
            acceptedAt: Date.now() * 1_000,
            value: Buffer.from(
              events
                .slice(from, from + 1_000)
                .filter((_, n) => n % 2 === partition)
                .map(usageEventToLine)
                .join('\n'),
            ),
          })),
        )
    },
    build: () => buildEpoch({ client, epochs, tables: rollupTables(client, 30) }, 10),
    /** Recomputes late usage until no slot is marked. */
    async recompute() {
      const settings = { ROLLUP_PAUSE_MS: '50', ROLLUP_LATE_AFTER_S: '0' }
      const keeper = openKeeper(client, readRollupConfig(new EnvReader(settings)))
      await until(async () => (await countMarks(client)) === 0)
      await keeper.close()
    },
    backUp: () =>
      takeBackup(path.join(folder, 'backup'), {
        pool: db.pool,
        clickhouse: client,
        log,
        database: clickhouse.database,
        dataFolder: path.join(folder, 'data'),
        superuserUrl: undefined,
        files: [],
        showProgress: () => undefined,
        signal: new AbortController().signal,
      }),
    /** Deletes ClickHouse's database, and restores the backup. */
    async loseAndRestore({ clickhouse: part }: Awaited<ReturnType<typeof takeBackup>>) {
      const { database } = clickhouse
      for (const query of [`DROP DATABASE ${database} SYNC`, `CREATE DATABASE ${database}`])
        await client.command({ query })
      const at = (name: string) => path.join(folder, 'backup', name)
      const base = part.base === null ? undefined : at(part.base)
      await restoreDatabase(client, database, { from: at(part.path), base, saved: part.database })
    },
    recover: (beganAt: string | number, acceptsGaps = false) =>
      recoverUsage(
        { pool: db.pool, clickhouse: client, log },
        new Date(beganAt).getTime() * MICROS_PER_MS,
        acceptsGaps,
      ),
    /** Usage as readers read it, and the number of stored events, each once. */
    async counted() {
      const selection = { range: { startAt: NOW - 50 * DAY_S, endAt: NOW + 60 }, accountId: ACCOUNT }
      // A new reader has cached no epoch.
      const usage = (await usageThroughRollups(client).aggregate(NAMESPACE, selection)).get('usd')
      const [row] = await queryRows<{ n: number }>(
        client,
        'SELECT toUInt32(count()) AS n FROM usage_events FINAL',
        {},
      )
      return { events: row?.n, count: Number(usage?.count), sum: usage?.sum?.toFixed() }
    },
    async close() {
      await log.close()
      await clickhouse.close()
      await db.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const kafkaSettings = (brokers: string) => ({
  KAFKA_BROKERS: brokers,
  KAFKA_TOPIC_PREFIX: `recover-${randomBytes(4).toString('hex')}-`,
  KAFKA_REPLICATION: '1',
  KAFKA_MIN_INSYNC_REPLICAS: '1',
})

for (const name of ['PostgreSQL', 'Kafka'] as const)
  describe(`a ClickHouse that was restored, beside a log on ${name}`, function () {
    this.timeout(120_000)
    let stage: Awaited<ReturnType<typeof makeStage>>

    before(async function () {
      stage = await makeStage(name === 'Kafka' ? await findKafka(this) : undefined)
    })
    after(async () => {
      await (stage as typeof stage | undefined)?.close()
    })

    it('has every event once, also those that waited in the log when the backup began', async () => {
      // given: rollups, and a backup of before, which the next one builds on
      const early = reports(2_000, 3)
      await stage.append(early)
      await stage.load()
      await stage.backUp()
      await stage.build()
      await stage.recompute()
      // when
      const waiting = reports(WAITING)
      await stage.append(waiting)
      const backup = await stage.backUp()
      // Corrections in one slot: they mark it, and the other slots of the early reports are read from rollups.
      const corrected = early
        .filter((_, n) => n % DAYS === 0)
        .map((event) => makeCorrection(event, { quantity: '3' }))
      const late = reports(500)
      await stage.append([...late, ...corrected, ...waiting.slice(0, 100)])
      await stage.load()
      await usageCompleteRepository(stage.client).note(Date.now() * 1_000)
      const meant = {
        events: early.length + waiting.length + late.length,
        count: early.length + waiting.length + late.length,
        sum: String(early.length + waiting.length + late.length + 2 * corrected.length),
      }
      expect(await stage.counted()).to.deep.equal(meant)
      await stage.loseAndRestore(backup)
      // Tables of one backup are of different moments: these were copied before their rows were computed.
      for (const table of ROLLUP_TABLES) await stage.client.command({ query: `TRUNCATE TABLE ${table}` })
      const { gaps } = await stage.recover(backup.clickhouse.beganAt)
      // then
      expect(gaps).to.deep.equal([])
      expect(await queryRows(stage.client, 'SELECT 1 FROM usage_complete', {})).to.deep.equal([])
      await stage.load()
      expect(await stage.counted()).to.deep.equal(meant)
      await stage.build()
      expect(await stage.counted()).to.deep.equal(meant)
    })

    it('is not touched while a loader lives', async () => {
      const loader = await stage.startLoader()
      const before = [await stage.log.lag(LOADER_GROUP), await rollupEpochRepository(stage.client).list()]
      const refused = await stage.recover(Date.now()).catch((err: unknown) => String(err))
      expect(refused).to.contain('a loader still reads the event log')
      expect([
        await stage.log.lag(LOADER_GROUP),
        await rollupEpochRepository(stage.client).list(),
      ]).to.deep.equal(before)
      await loader.close()
    })

    it('does not believe after a recovery what was loaded before it', async () => {
      await stage.load()
      await stage.backUp() // makes a checkpoint at the end of the log
      const [{ end } = { end: 0 }] = await stage.log.lag(LOADER_GROUP)
      await stage.recover('2020-01-01T00:00:00Z')
      // A backup of a ClickHouse into which nothing was loaded yet
      const now = (await readClock(stage.db.pool)).getTime() + 1
      const { from } = await stage.recover(now)
      expect(end).to.be.greaterThan(0)
      expect(from.map(({ offset }) => offset)).to.deep.equal([0, 0])
      await stage.load()
    })
  })

describe('a log that does not reach back', function () {
  this.timeout(60_000)

  it('is refused, with what would be lost, unless that is accepted', async () => {
    const stage = await makeStage(undefined)
    await stage.append(reports(10))
    await stage.load()
    const housekeeping = {
      pool: stage.db.pool,
      topic: 'usage-events',
      segmentBytesMax: 1e9,
      segmentAgeMaxMs: 0,
      retentionMs: 0,
      housekeepingMs: 0,
      log: testLog,
    }
    for (let n = 0; n < 2; n++) await tidy(housekeeping)
    const before = await stage.log.lag(LOADER_GROUP)
    const refused = await stage.recover('2020-01-01T00:00:00Z').catch((err: unknown) => String(err))
    expect(refused).to.contain('the event log does not reach back to that time')
    expect(refused).to.contain('partition 1: the records from offset 0 to 0')
    expect(await stage.log.lag(LOADER_GROUP)).to.deep.equal(before)
    const { from, gaps } = await stage.recover('2020-01-01T00:00:00Z', true)
    expect(gaps).to.have.length(2)
    expect(from.map(({ offset }) => offset)).to.deep.equal([1, 1])
    await stage.close()
  })
})
