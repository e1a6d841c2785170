import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { type OpenedClickHouse, queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { migrateClickHouse } from '../../../shared/clickhouse/migrate.ts'
import { requireClickHouseSchema } from '../../../shared/clickhouse/require-schema.ts'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { VERSION } from '../../../shared/config/version.ts'
import { StartupError } from '../../../shared/errors/startup-error.ts'
import { migratePostgres, roleOf } from '../../../shared/postgres/core/migrate.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { connectAgain, createBareClickHouse, createClickHouse } from '../../support/clickhouse.ts'
import { failureOf } from '../../support/failure-of.ts'
import { testLog } from '../../support/log.ts'
import { createDatabase } from '../../support/postgres.ts'
import { makeReport } from '../../support/usage-event.ts'

describe('the migrations of ClickHouse', function () {
  this.timeout(60_000)
  const opened: OpenedClickHouse[] = []
  const open = async (opening: Promise<OpenedClickHouse>) => {
    const clickhouse = await opening
    opened.push(clickhouse)
    return clickhouse
  }
  afterEach(async () => {
    for (const clickhouse of opened.splice(0)) await clickhouse.close()
  })

  const migrationNames = async () =>
    (await readdir(path.join(PROJECT_ROOT, 'clickhouse')))
      .filter((file) => file.endsWith('.sql'))
      .map((file) => file.replace('.sql', ''))
      .sort()
  const appliedIn = ({ client }: OpenedClickHouse) =>
    queryRows<{ name: string; applied_at: string }>(
      client,
      'SELECT * FROM schema_migrations ORDER BY name',
      {},
    )
  const schemaOf = ({ client, database }: OpenedClickHouse) =>
    queryRows(
      client,
      `SELECT database, name, uuid, create_table_query FROM system.tables
        WHERE database IN ({database:String}, {analytics:String}) ORDER BY ALL`,
      { database, analytics: `${database}_analytics` },
    )
  const countOf = async ({ client }: OpenedClickHouse) =>
    (await queryRows<{ n: string }>(client, 'SELECT count() AS n FROM usage_events FINAL', {}))[0]?.n

  it('are applied once, each in its order, and another time change nothing', async () => {
    const clickhouse = await open(createClickHouse('migrated twice'))
    const [applied, schema] = [await appliedIn(clickhouse), await schemaOf(clickhouse)]
    expect(applied.map(({ name }) => name)).to.deep.equal(await migrationNames())
    await migrateClickHouse(clickhouse, testLog)
    expect(await appliedIn(clickhouse)).to.deep.equal(applied)
    expect(await schemaOf(clickhouse)).to.deep.equal(schema)
  })

  it('can each be applied again after a crash that left it unrecorded, and keep what is stored', async () => {
    const clickhouse = await open(createClickHouse('migrated after a crash'))
    await usageEventRepository(clickhouse.client).insertLines(Buffer.from(usageEventToLine(makeReport())))
    const names = await migrationNames()
    // After all together, each alone, so that no later one can make good for it.
    for (const unrecorded of [names, ...names.map((name) => [name])]) {
      await clickhouse.client.command({
        query: 'DELETE FROM schema_migrations WHERE name IN {unrecorded:Array(String)}',
        query_params: { unrecorded },
      })
      await migrateClickHouse(clickhouse, testLog)
      expect((await appliedIn(clickhouse)).map(({ name }) => name)).to.deep.equal(names)
      expect(await countOf(clickhouse)).to.equal('1')
    }
  })

  it('are applied once by many that start together, under the lock in PostgreSQL', async () => {
    const [db, clickhouse] = await Promise.all([
      createDatabase('clickhouse_race'),
      open(createBareClickHouse('migrated by many')),
    ])
    const serviceRole = await roleOf(db.serviceUrl)
    for (let n = 0; n < 4; n++) await open(connectAgain(clickhouse))
    const migrate = (own: OpenedClickHouse) =>
      migratePostgres({ ownerUrl: db.ownerUrl, serviceRole, log: testLog }, () =>
        migrateClickHouse(own, testLog),
      )
    await Promise.all(opened.map(migrate))
    expect((await appliedIn(clickhouse)).map(({ name }) => name)).to.deep.equal(await migrationNames())
    await usageEventRepository(clickhouse.client).insertLines(Buffer.from(usageEventToLine(makeReport())))
    expect(await countOf(clickhouse)).to.equal('1')
    await db.close()
  })

  it('are refused when a file was changed after it was applied, and when a newer Tally applied more', async () => {
    const clickhouse = await open(createClickHouse('changed files'))
    const { client } = clickhouse
    const name = (await appliedIn(clickhouse))[0]?.name ?? ''
    const record = (query: string) => client.command({ query, query_params: { name } })
    await record("INSERT INTO schema_migrations (name, checksum) VALUES ('9999_later', 'x')")
    await migrateClickHouse(clickhouse, testLog) // a later version has only added
    await requireClickHouseSchema(client)
    await record("DELETE FROM schema_migrations WHERE name = '9999_later'")
    await record(
      "INSERT INTO schema_migrations (name, checksum, oldest) VALUES ('9999_later', 'x', '99.0.0')",
    )
    for (const begin of [
      () => migrateClickHouse(clickhouse, testLog),
      () => requireClickHouseSchema(client),
    ]) {
      const newer = await failureOf(begin())
      expect(newer).to.be.instanceOf(StartupError)
      expect(String(newer)).to.contain(`the database needs Tally 99.0.0 or later, and this is ${VERSION}`)
    }
    await record("DELETE FROM schema_migrations WHERE name = '9999_later'")
    await record(
      "ALTER TABLE schema_migrations UPDATE checksum = 'x' WHERE name = {name:String} SETTINGS mutations_sync = 1",
    )
    const changed = await failureOf(migrateClickHouse(clickhouse, testLog))
    expect(changed).to.be.instanceOf(StartupError)
    expect(String(changed)).to.contain(`the migration ${name} was changed after it was applied`)
  })

  it('name the views of their own database alone, though one engine holds several', async () => {
    const [one, other] = [await open(createClickHouse('one')), await open(createClickHouse('other'))]
    await usageEventRepository(one.client).insertLines(Buffer.from(usageEventToLine(makeReport())))
    const eventsIn = async ({ client, database }: OpenedClickHouse) =>
      (
        await queryRows<{ events: string; days: string }>(
          client,
          `SELECT (SELECT count() FROM ${database}_analytics.events) AS events,
            (SELECT sum(events) FROM ${database}_analytics.daily_usage) AS days`,
          {},
        )
      )[0]
    expect(await eventsIn(one)).to.deep.equal({ events: '1', days: '1' })
    expect(await eventsIn(other)).to.deep.equal({ events: '0', days: '0' })
    for (const { create_table_query } of (await schemaOf(other)) as { create_table_query: string }[])
      expect(create_table_query).to.not.match(/[{}]/).and.to.not.contain(`${one.database}.`)
  })
})
