import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import pg from 'pg'
import { runDimensionAudit } from '../../../services/operator/audit/run-dimension-audit.ts'
import type { OpenedClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { newId } from '../../../shared/domain/ids.ts'
import { createClickHouse } from '../../support/clickhouse.ts'
import {
  auditCopies,
  type DimensionWorld,
  makeDimensionWorld,
  openCopier,
} from '../../support/dimension-stage.ts'
import { testLog } from '../../support/log.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'

describe('npm run audit -- --dimensions', function () {
  this.timeout(60_000)
  let db: TestDatabase
  let clickhouse: OpenedClickHouse
  let world: DimensionWorld

  before(async () => {
    db = await createDatabase('audit_dimensions')
    clickhouse = await createClickHouse('audit of dimensions')
  })
  beforeEach(async () => {
    world = await makeDimensionWorld(db.pool)
    await openCopier(db.pool, clickhouse.client).copyAll()
    await expectNothing()
  })
  afterEach(async () => {
    await clickhouse.client.command({ query: 'TRUNCATE TABLE dimension_accounts' })
    await clickhouse.client.command({ query: 'TRUNCATE TABLE dimension_event_revisions' })
    await clickhouse.client.command({ query: 'TRUNCATE TABLE dimension_copies' })
  })
  after(async () => {
    await clickhouse.close()
    await db.close()
  })

  const find = async (lagMaxMs = 0) => {
    const { findings } = await auditCopies(db.pool, clickhouse.client, lagMaxMs)
    return findings.map(({ kind, table, id }) => `${kind}: ${table} ${id ?? '(all)'}`)
  }
  const expectNothing = async () => {
    expect(await find()).to.deep.equal([])
  }
  const change = (query: string) => clickhouse.client.command({ query })
  const rename = (name: string) => world.run('UPDATE accounts SET name = $2 WHERE namespace_id = $1', [name])
  /** The account's row in ClickHouse, with a column changed. */
  const overwrite = (changed: string) =>
    change(`INSERT INTO dimension_accounts SELECT * REPLACE (${changed}) FROM dimension_accounts FINAL
      WHERE account_id = '${world.account}'`)

  it('finds a copy that says something else', async () => {
    await overwrite(`'another' AS name, version + 0 AS version`)
    expect(await find()).to.deep.equal([`altered: accounts ${world.account}`])
  })

  it('tells a NULL from an empty text, and one column from the next', async () => {
    for (const changed of [
      `'' AS external_id`,
      `name || ifNull(external_id, '') AS name`,
      `'-' AS description`,
    ]) {
      await overwrite(changed)
      const isSame = changed.startsWith('name')
      expect(await find(), changed).to.deep.equal(isSame ? [] : [`altered: accounts ${world.account}`])
      await overwrite('NULL AS external_id, NULL AS description')
      await expectNothing()
    }
  })

  it('finds a copy that is missing, and one that is too many', async () => {
    await change(`DELETE FROM dimension_accounts WHERE account_id = '${world.account}'`)
    expect(await find()).to.deep.equal([`missing: accounts ${world.account}`])
    await change(
      `INSERT INTO dimension_event_revisions (namespace_id, event_id, revision) VALUES ('${world.namespaceId}', '${world.event}', 3)`,
    )
    expect(await find()).to.deep.equal([
      `missing: accounts ${world.account}`,
      `too many: event_revisions ${world.event} 3`,
    ])
  })

  it('finds copies of a namespace that is not there', async () => {
    await change(`INSERT INTO dimension_accounts (namespace_id, account_id) VALUES ('${randomUUID()}', 'x')`)
    expect(await find()).to.deep.equal(['too many: accounts (all)'])
  })

  it('finds a change that was not copied, and waits for one that is', async () => {
    await rename('not copied')
    expect(await find()).to.deep.equal([`older: accounts ${world.account}`])
    const copier = openCopier(db.pool, clickhouse.client)
    const [found] = await Promise.all([
      find(10_000),
      new Promise((later) => setTimeout(later, 700)).then(() => copier.copyAll()),
    ])
    expect(found).to.deep.equal([])
  })

  it('finds a copy of a later state than PostgreSQL has', async () => {
    await overwrite('version + 1000000 AS version')
    expect(await find()).to.deep.equal([`newer: accounts ${world.account}`])
  })

  it('finds a row whose change nobody noted', async () => {
    const client = new pg.Client({ connectionString: db.superuserUrl, options: '-c search_path=tally' })
    await client.connect()
    const id = newId('account')
    await client.query(`SET session_replication_role = replica`)
    await client.query(
      `INSERT INTO accounts (namespace_id, account_id, name, sort_name, customer_sort_name, created_at, updated_at)
        VALUES ($1, $2, '', '', '1', now(), now())`,
      [world.namespaceId, id],
    )
    await openCopier(db.pool, clickhouse.client).copyAll()
    expect(await find()).to.deep.equal([`not noted: accounts ${id}`])
    await client.query('DELETE FROM accounts WHERE account_id = $1', [id])
    await client.end()
  })

  it('prints rows and digests, and ends with 1 where something differs', async () => {
    const run = async () => {
      const lines: string[] = []
      const context = {
        print: (line: string) => lines.push(line),
        showProgress: () => undefined,
        log: testLog,
        signal: new AbortController().signal,
      }
      return { code: await runDimensionAudit(db.pool, clickhouse.client, context), lines }
    }
    const well = await run()
    expect(well.code, well.lines.join('\n')).to.equal(0)
    expect(well.lines.at(-1)).to.equal('the copies are equal')
    expect(well.lines[1]).to.match(/^accounts +\d+ rows, digest [0-9a-f]{16}$/)
    await overwrite(`'another' AS name`)
    const badly = await run()
    expect(badly.code).to.equal(1)
    expect(badly.lines[1]).to.match(
      /^accounts +(\d+) rows, digest (\w+); in ClickHouse \1 rows, digest (?!\2)\w+$/,
    )
    expect(badly.lines.slice(-2)).to.deep.equal([
      `ALTERED: accounts ${world.account} of namespace ${world.namespaceId}`,
      '1 finding: docs/operations.md says what to do',
    ])
  })
})
