import { expect } from 'chai'
import { commentOf, makeAnalystViews } from '../../../shared/clickhouse/analyst-views.ts'
import { type OpenedClickHouse, queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { copyOf } from '../../../shared/clickhouse/dimensions.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { migrateClickHouse } from '../../../shared/clickhouse/migrate.ts'
import { propertyToken } from '../../../shared/clickhouse/usage/property-token.ts'
import { readViewsContract, type ViewColumn } from '../../../shared/clickhouse/views-contract.ts'
import { DIMENSION_TABLES } from '../../../shared/domain/dimension-table.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { createClickHouse } from '../../support/clickhouse.ts'
import { testLog } from '../../support/log.ts'
import { makeReport, NAMESPACE } from '../../support/usage-event.ts'
import { findBroken, PROMISED } from './promised-views.ts'

const OTHER_NAMESPACE = '018cc251-f400-7000-8000-000000000002'

describe('the views of analysts and their contract', () => {
  const { namespaceColumn, views } = readViewsContract()
  let clickhouse: OpenedClickHouse
  let database: string
  let ofAll: string
  let ofOne: string
  before(async () => {
    clickhouse = await createClickHouse('analyst views')
    database = clickhouse.database
    ofAll = `${database}_analytics`
    ofOne = `${database}_company_1`
  })
  after(() => clickhouse.close())

  const rowsOf = <Row>(query: string) => queryRows<Row>(clickhouse.client, query, {})
  const make = (namespaceId = NAMESPACE) =>
    makeAnalystViews(clickhouse.client, { database, into: ofOne, namespaceId })
  const run = (query: string) => clickhouse.client.command({ query })
  const uuids = (into: string) =>
    rowsOf(`SELECT name, uuid FROM system.tables WHERE database = '${into}' ORDER BY name`)

  const requireContract = async (
    into: string,
    columnsOf: (columns: readonly ViewColumn[]) => ViewColumn[],
  ) => {
    const found = await rowsOf(
      `SELECT table, name, type, comment FROM system.columns WHERE database = '${into}' ORDER BY table, position`,
    )
    const sorted = [...views].sort((a, b) => (a.name < b.name ? -1 : 1))
    expect(found).to.deep.equal(
      sorted.flatMap(({ name: table, columns }) =>
        columnsOf(columns).map((one) => ({ table, name: one.name, type: one.type, comment: commentOf(one) })),
      ),
    )
    expect(
      await rowsOf(
        `SELECT name, engine, comment FROM system.tables WHERE database = '${into}' ORDER BY name`,
      ),
    ).to.deep.equal(sorted.map(({ name, meaning }) => ({ name, engine: 'View', comment: meaning })))
  }

  it('are in ClickHouse as the contract says: columns, types, order and comments', async () => {
    await requireContract(ofAll, (columns) => [namespaceColumn, ...columns])
    await make()
    await requireContract(ofOne, (columns) => [...columns])
  })

  it('select what the contract says, so that nothing is converted', async () => {
    for (const { name, columns } of views) {
      const [view] = await rowsOf<{ as_select: string }>(
        `SELECT as_select FROM system.tables WHERE database = '${ofAll}' AND name = '${name}'`,
      )
      const described = await rowsOf<{ name: string; type: string }>(
        `DESCRIBE TABLE (${view?.as_select ?? ''})`,
      )
      expect(
        described.map((one) => `${one.name} ${one.type}`),
        name,
      ).to.deep.equal([namespaceColumn, ...columns].map((one) => `${one.name} ${one.type}`))
    }
  })

  it('keep what was promised', () => {
    expect(findBroken(PROMISED, views)).to.deep.equal([])
  })

  it('break a promise when a column is renamed, moved, removed or has another type, but not by one more', () => {
    const promised = { v: { key: ['a'], columns: ['a String', 'b Date'] } }
    const column = (name: string, type: string): ViewColumn => ({
      name,
      type,
      meaning: '',
      unit: undefined,
      neverNull: true,
      since: '',
    })
    const [a, b, c] = [column('a', 'String'), column('b', 'Date'), column('c', 'Date')]
    const broken = (columns: ViewColumn[], key = ['a']) => findBroken(promised, [{ name: 'v', key, columns }])
    expect(broken([a, b])).to.deep.equal([])
    expect(broken([a, b, c])).to.deep.equal([])
    expect(broken([a, c])).to.deep.equal(['v has no more: b Date'])
    expect(broken([a, c, b])).to.deep.equal(['v has no more: b Date'])
    expect(broken([a])).to.deep.equal(['v has no more: b Date'])
    expect(broken([column('a', 'UUID'), b])).to.deep.equal(['v has no more: a String'])
    expect(broken([a, b], ['b'])).to.deep.equal(['v has no more: key a'])
    expect(findBroken(promised, [])).to.deep.equal(['there is no view v'])
  })

  it('promise a value exactly where the type has no NULL, and a key of own columns', () => {
    for (const { name, key, columns } of views) {
      for (const column of columns)
        expect(column.neverNull, `${name}.${column.name}`).to.equal(!column.type.includes('Nullable'))
      const names = columns.map((column) => column.name)
      expect(new Set(names).size, name).to.equal(names.length)
      expect(names, name).to.include.members([...key])
    }
  })

  it('are made once, and again when the namespace is another one or a crash left them half made', async () => {
    await make()
    const before = await uuids(ofOne)
    expect(await make()).to.equal(false)
    expect(await uuids(ofOne)).to.deep.equal(before)
    expect(await make(OTHER_NAMESPACE)).to.equal(true)
    expect(await uuids(ofOne)).to.not.deep.equal(before)
    await run(`DROP VIEW ${ofOne}.events`)
    await run(`ALTER DATABASE ${ofOne} MODIFY COMMENT ''`)
    expect(await make(OTHER_NAMESPACE)).to.equal(true)
    expect(await uuids(ofOne)).to.have.length(views.length)
    await run(`DROP DATABASE ${ofOne}`)
    expect(await make()).to.equal(true)
    expect(await uuids(ofOne)).to.have.length(views.length)
  })

  it('take the place of the views that an earlier version made', async () => {
    // As migrations of that version left it.
    await run(`ALTER DATABASE ${ofAll} MODIFY COMMENT ''`)
    for (const { name } of views) await run(`DROP VIEW ${ofAll}.${name}`)
    for (const name of ['events', 'daily_usage'])
      await run(
        `CREATE VIEW ${ofAll}.${name} AS SELECT namespace_id, 1 AS earlier FROM ${database}.usage_events`,
      )
    for (const name of ['0005_events_view', '0023_daily_usage_from_rollups'])
      await run(
        `INSERT INTO ${database}.schema_migrations (name, checksum) VALUES ('${name}', 'of that version')`,
      )
    await migrateClickHouse(clickhouse, testLog)
    await requireContract(ofAll, (columns) => [namespaceColumn, ...columns])
  })

  it('have the function for tokens again when it is missing or another one', async () => {
    const token = async () =>
      (await rowsOf<{ token: string }>("SELECT lower(hex(property('model', 'large'))) AS token"))[0]?.token
    for (const change of [
      'DROP FUNCTION property',
      'CREATE OR REPLACE FUNCTION property AS (name, value) -> concat(name, value)',
    ]) {
      await run(change)
      await migrateClickHouse(clickhouse, testLog)
      expect(await token(), change).to.equal(propertyToken('model', 'large'))
    }
  })

  it('of one company look for its namespace in the index of each table', async () => {
    await make()
    await usageEventRepository(clickhouse.client).insertLines(
      Buffer.from(
        [makeReport(), makeReport({ namespaceId: OTHER_NAMESPACE })].map(usageEventToLine).join('\n'),
      ),
    )
    for (const table of [...DIMENSION_TABLES.map(copyOf), 'rated_periods', 'rating_runs'])
      for (const namespaceId of [NAMESPACE, OTHER_NAMESPACE])
        await run(`INSERT INTO ${database}.${table} (namespace_id) VALUES ('${namespaceId}')`)
    for (const { name } of views) {
      const plan = await rowsOf<{ explain: string }>(`EXPLAIN indexes = 1 SELECT * FROM ${ofOne}.${name}`)
      const text = plan.map(({ explain }) => explain).join('\n')
      const reads = text.split('ReadFromMergeTree').slice(1)
      expect(reads.length, name).to.be.greaterThan(0)
      for (const read of reads)
        expect(read, name).to.contain(`namespace_id in ['${NAMESPACE}', '${NAMESPACE}']`)
    }
  })
})
