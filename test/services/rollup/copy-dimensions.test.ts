import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import pg from 'pg'
import { randomInteger, seededRandom } from '../../../clients/reporter/simulate/seeded-random.ts'
import { ROLLUP_POINTS, type RollupPoint } from '../../../services/rollup/crash-points.ts'
import { type OpenedClickHouse, queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { copyOf, dimensionRepository } from '../../../shared/clickhouse/dimensions.ts'
import { deleteNamespaces } from '../../../shared/clickhouse/events/delete-namespaces.ts'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { DIMENSION_TABLES } from '../../../shared/domain/dimension-table.ts'
import { newId } from '../../../shared/domain/ids.ts'
import { inEveryNamespace } from '../../../shared/postgres/core/transaction.ts'
import { dimensionChangeRepository } from '../../../shared/postgres/dimension-changes.ts'
import { retiredNamespaceRepository } from '../../../shared/postgres/retired-namespaces.ts'
import { createClickHouse } from '../../support/clickhouse.ts'
import {
  auditCopies,
  type DimensionWorld,
  listCopies,
  makeDimensionWorld,
  openCopier,
  TRICKY_TEXT,
} from '../../support/dimension-stage.ts'
import { failureOf } from '../../support/failure-of.ts'
import { SEED } from '../../support/fault-seed.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'

const never = new AbortController().signal

describe('the copies of dimension tables', function () {
  this.timeout(60_000)
  let db: TestDatabase
  let clickhouse: OpenedClickHouse
  let world: DimensionWorld

  before(async () => {
    db = await createDatabase('dimensions')
    clickhouse = await createClickHouse('dimensions')
  })
  beforeEach(async () => {
    world = await makeDimensionWorld(db.pool)
  })
  after(async () => {
    await clickhouse.close()
    await db.close()
  })

  const copier = (reached?: (point: RollupPoint) => void) => openCopier(db.pool, clickhouse.client, reached)
  const expectEqual = async () => {
    const { totals, findings } = await auditCopies(db.pool, clickhouse.client)
    expect(findings).to.deep.equal([])
    for (const { table, postgres, clickhouse: copied } of totals) {
      expect(postgres.rows, table).to.be.above(0)
      expect(copied, table).to.deep.equal(postgres)
    }
  }
  const nameOf = async (account: string) =>
    (
      await listCopies<{ account_id: string; name: string }>(clickhouse.client, 'accounts', world.namespaceId)
    ).find(({ account_id }) => account_id === account)?.name
  const rename = (name: string, account = world.account) =>
    world.run('UPDATE accounts SET name = $2 WHERE namespace_id = $1 AND account_id = $3', [name, account])
  const newAccount = async (name = 'new') => {
    const id = newId('account')
    await world.run(
      `INSERT INTO accounts (namespace_id, account_id, name, sort_name, customer_sort_name, created_at, updated_at)
        VALUES ($1, $2, $3, '', '1', now(), now())`,
      [id, name],
    )
    return id
  }
  /** A transaction in the namespace that stays open. */
  const begin = async () => {
    const client = await db.pool.connect()
    await client.query(`BEGIN; SET LOCAL tally.namespace_id = '${world.namespaceId}'`)
    return {
      run: (statement: string, values: readonly unknown[]) =>
        client.query(statement, [world.namespaceId, ...values]),
      async end(how: 'COMMIT' | 'ROLLBACK') {
        await client.query(how)
        client.release()
      },
    }
  }
  const asSuperuser = async <T>(work: (client: pg.Client) => Promise<T>): Promise<T> => {
    const client = new pg.Client({ connectionString: db.superuserUrl, options: '-c search_path=tally' })
    await client.connect()
    return work(client).finally(() => client.end())
  }

  it('have every row and every digit', async () => {
    await copier().copyAll()
    await expectEqual()
    const of = <Row>(table: string) => listCopies<Row>(clickhouse.client, table, world.namespaceId)
    const [grant] = await of<Record<string, unknown>>('grants')
    expect(grant).to.include({
      grant_id: world.grant,
      amount: '-99999999999999999999.999999999999999999',
      currency: null,
      effective_at: '0',
      expires_at: String(Date.parse('9999-12-31T23:59:59Z') * 1_000),
    })
    const [customer] = await of<Record<string, unknown>>('customers')
    expect(customer).to.include({
      customer_id: world.customer,
      name: TRICKY_TEXT,
      created_at: String(Date.parse('2026-01-02T03:04:05Z') * 1_000 + 678_901),
    })
    const [rate] = await of<{ prices: string; filters: string }>('rates')
    expect(JSON.parse(rate?.prices ?? '')).to.deep.equal([
      { value: TRICKY_TEXT, price_id: world.price },
      { value: null, price_id: world.price },
    ])
    const [line] = await of<{ overrides: string; discount_percent: string }>('contract_lines')
    expect(line?.discount_percent).to.equal('12.5')
    expect(JSON.parse(line?.overrides ?? '')).to.deep.equal([
      { product_id: world.product, has_value: false, value: null, price_id: world.price },
    ])
    const revisions = await of<{ revision: number; quantity: string; corrected_at: string | null }>(
      'event_revisions',
    )
    expect(revisions.map(({ revision }) => revision)).to.deep.equal([0, 1, 2, 10])
    expect(revisions[0]).to.include({ quantity: '0.000000000000000001', corrected_at: null })
  })

  it('are what the views show, with times that ClickHouse can show', async () => {
    await copier().copyAll()
    const read = async (columns: string, view: string) => {
      const query = `SELECT ${columns} FROM ${clickhouse.database}_analytics.${view}
        WHERE namespace_id = {namespaceId:String} ORDER BY ALL LIMIT 1`
      const [row] = await queryRows(clickhouse.client, query, { namespaceId: world.namespaceId })
      return row
    }
    expect(await read('amount, amount_38, effective_at, expires_at, voided_at', 'grants')).to.deep.equal({
      amount: '-99999999999999999999.999999999999999999',
      amount_38: '-99999999999999999999.999999999999999999',
      effective_at: '1970-01-01 00:00:00.000000',
      expires_at: '2299-12-31 23:59:59.999999',
      voided_at: null,
    })
    expect(await read('name, created_at', 'customers')).to.deep.equal({
      name: TRICKY_TEXT,
      created_at: '2026-01-02 03:04:05.678901',
    })
    expect(await read('ends_at, cancel_at', 'contracts')).to.deep.equal({
      ends_at: '2299-12-31 23:59:59.999999',
      cancel_at: null,
    })
    expect(await read('kind, discount_percent, quantity', 'contract_lines')).to.deep.equal({
      kind: 'card',
      discount_percent: '12.5',
      quantity: null,
    })
    expect(await read('model', 'prices')).to.deep.equal({ model: 'flat' })
    expect(
      await read('revision, quantity, occurred_at, is_void, accepted_at, corrected_at', 'event_revisions'),
    ).to.deep.equal({
      revision: 0,
      quantity: '0.000000000000000001',
      occurred_at: '2024-06-10 02:35:18',
      is_void: false,
      accepted_at: '2023-11-14 22:13:20.123456',
      corrected_at: null,
    })
  })

  it('have the columns that are copied, and those that tell versions apart', async () => {
    for (const table of DIMENSION_TABLES) {
      const columns = await queryRows<{ name: string }>(
        clickhouse.client,
        'SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {table:String} ORDER BY position',
        { table: copyOf(table) },
      )
      const expected = [...table.key, ...table.columns].map(({ name }) => name)
      expect(
        columns.map(({ name }) => name),
        table.name,
      ).to.deep.equal(['namespace_id', ...expected, 'version', 'is_deleted'])
    }
  })

  it('follow names, archiving, voiding and deletion', async () => {
    const gone = await newAccount()
    const copy = copier()
    await copy.copyAll()
    await rename('renamed')
    await rename('renamed twice')
    await world.run('UPDATE grants SET voided_at = now() WHERE namespace_id = $1')
    await world.run('UPDATE metrics SET archived_at = now() WHERE namespace_id = $1')
    await asSuperuser((client) => client.query('DELETE FROM accounts WHERE account_id = $1', [gone]))
    expect(await copy.copyAll()).to.equal(4)
    expect(await nameOf(world.account)).to.equal('renamed twice')
    expect(await nameOf(gone)).to.equal(undefined)
    await expectEqual()
    await world.run('UPDATE contract_lines SET next_credit_at = NULL WHERE namespace_id = $1')
    await copy.copyAll()
    await expectEqual()
  })

  it('cost nothing more while nothing changes', async () => {
    const copy = copier()
    await copy.copyAll()
    const { client } = clickhouse
    const notes = () =>
      queryRows(
        client,
        'SELECT fill, max(position), max(complete_up_to) FROM dimension_copies GROUP BY fill',
        {},
      )
    const before = await notes()
    for (let i = 0; i < 5; i++) expect(await copy.round()).to.deep.equal({ rows: 0, isComplete: true })
    expect(await notes()).to.deep.equal(before)
  })

  it('miss nothing of a transaction that commits after later changes were copied', async () => {
    const other = await newAccount()
    const copy = copier()
    await copy.copyAll()
    for (const end of ['COMMIT', 'ROLLBACK'] as const) {
      const late = await begin()
      await late.run('UPDATE accounts SET name = $2 WHERE namespace_id = $1 AND account_id = $3', [
        `late ${end}`,
        world.account,
      ])
      await rename(`early ${end}`, other)
      expect(await copy.round()).to.deep.equal({ rows: 0, isComplete: false })
      await late.end(end)
      await copy.copyAll()
      expect(await nameOf(world.account)).to.equal('late COMMIT')
      expect(await nameOf(other)).to.equal(`early ${end}`)
    }
    await expectEqual()
  })

  it('wait for no transaction that only reads', async () => {
    const copy = copier()
    await copy.copyAll()
    const early = await begin()
    await early.run('SELECT $1::uuid', [])
    await rename('not waited for')
    await copy.copyAll()
    expect(await nameOf(world.account)).to.equal('not waited for')
    await early.end('COMMIT')
  })

  for (const point of ROLLUP_POINTS.filter((name) => name.startsWith('dimensions-')))
    it(`are equal after a crash (${point})`, async () => {
      await copier().copyAll()
      const isRefill = point === 'dimensions-emptied'
      for (const times of [1, 2, 3]) {
        await newAccount()
        await rename(`renamed before crash ${times}`)
        await world.run('UPDATE grants SET archived_at = now() WHERE namespace_id = $1')
        if (isRefill) await goBack()
        let left = isRefill ? 1 : times
        const crashing = copier((at) => {
          if (at === point && --left === 0) throw new Error('crashed')
        })
        const failed = await failureOf(crashing.copyAll())
        if (failed === undefined) expect(times, 'times it was reached').to.be.above(1)
        await copier().copyAll()
        expect(await nameOf(world.account)).to.equal(`renamed before crash ${times}`)
        await expectEqual()
      }
    })

  /** As when PostgreSQL is an older copy of itself. */
  const goBack = () => asSuperuser((client) => client.query('UPDATE dimension_copy SET reached = 1'))

  it('are called complete at no time between the emptying and the last row', async () => {
    const completeUpTo = async () => {
      const [row] = await queryRows<{ at: string | null }>(
        clickhouse.client,
        `SELECT toString(max(complete_up_to)) AS at FROM ${clickhouse.database}_analytics.freshness
          WHERE view = 'accounts'`,
        {},
      )
      return row?.at ?? null
    }
    await copier().copyAll()
    expect(await completeUpTo()).to.be.a('string')
    await goBack()
    // It crashes when only the first tables are empty, and the next one when all are.
    const [first] = DIMENSION_TABLES
    const crashes: (string | null)[] = []
    for (const stopAfter of [first?.name, DIMENSION_TABLES.at(-1)?.name]) {
      const copies = dimensionRepository(clickhouse.client)
      const crashing = openCopier(db.pool, clickhouse.client, undefined, {
        ...copies,
        async empty(table) {
          if (table.name !== 'accounts') await copies.empty(table)
          if (table.name === stopAfter) throw new Error('crashed')
        },
      })
      expect(await failureOf(crashing.copyAll())).to.have.property('message', 'crashed')
      crashes.push(await completeUpTo())
    }
    expect(crashes).to.deep.equal([null, null])
    const refilling = copier((at) => {
      if (at === 'dimensions-stored') throw new Error('crashed')
    })
    expect(await failureOf(refilling.copyAll())).to.have.property('message', 'crashed')
    expect(await completeUpTo()).to.equal(null)
    await copier().copyAll()
    expect(await completeUpTo()).to.be.a('string')
    await expectEqual()
  })

  it('have a row that changes between the look at the changes and their list', async () => {
    const copy = copier()
    await copy.copyAll()
    await rename('committed before the look')
    const changes = dimensionChangeRepository(db.pool)
    let looks = 0
    const between = openCopier(db.pool, clickhouse.client, undefined, undefined, {
      ...changes,
      async look() {
        const state = await changes.look()
        looks++
        await rename(`changed after look ${looks}`)
        return state
      },
    })
    // However often it changes, each round has it as it was at the look or later.
    for (let round = 1; round <= 3; round++) {
      await between.copyAll()
      expect(await nameOf(world.account)).to.equal(`changed after look ${looks}`)
    }
    await copier().copyAll()
    await expectEqual()
  })

  it('are the same by several copiers at once, while rows change', async () => {
    const random = seededRandom(`dimension copies ${SEED}`)
    const accounts = [world.account, await newAccount(), await newAccount(), await newAccount()]
    const copiers = [copier(), copier(), copier()]
    let isDone = false
    const copying = copiers.map(async (copy) => {
      while (!isDone) await copy.round()
    })
    const changing = Array.from({ length: 4 }, async (_, worker) => {
      for (let n = 0; n < 40; n++) {
        const tx = await begin()
        const some = accounts.filter(() => randomInteger(random, 2) === 0).sort()
        for (const account of some)
          await tx.run('UPDATE accounts SET name = $2 WHERE namespace_id = $1 AND account_id = $3', [
            `${worker} ${n}`,
            account,
          ])
        await tx.run('UPDATE metrics SET name = $2 WHERE namespace_id = $1', [`${worker} ${n}`])
        await tx.end(randomInteger(random, 3) === 0 ? 'ROLLBACK' : 'COMMIT')
      }
    })
    await Promise.all(changing)
    isDone = true
    await Promise.all(copying)
    await copiers[0]?.copyAll()
    await expectEqual()
  })

  it('are made in another ClickHouse, and completed in an older one', async () => {
    await copier().copyAll()
    const other = await createClickHouse('dimensions of another')
    try {
      const fresh = openCopier(db.pool, other.client)
      await fresh.copyAll()
      expect((await auditCopies(db.pool, other.client)).findings).to.deep.equal([])
      // The other one now is the older backup.
      await rename('while it was away')
      await copier().copyAll()
      expect(await openCopier(db.pool, other.client).copyAll()).to.equal(1)
      expect((await auditCopies(db.pool, other.client)).findings).to.deep.equal([])
    } finally {
      await other.close()
    }
  })

  it('begin again when PostgreSQL went back to an earlier state', async () => {
    const older = await createDatabase('dimensions_older')
    const later = await createClickHouse('dimensions of a later state')
    try {
      const namespaceId = randomUUID()
      // Of the same rows, one database has more changes than the other: a row of it is not there, a name is another.
      const now = await makeDimensionWorld(older.pool, 'live', namespaceId)
      const lost = await makeDimensionWorld(db.pool, 'live', namespaceId)
      await openCopier(db.pool, later.client).copyAll()
      const copy = openCopier(older.pool, later.client)
      const [audit] = (await auditCopies(older.pool, later.client)).findings.filter(
        ({ id }) => id === lost.account,
      )
      expect(audit?.kind).to.equal('too many')
      await copy.copyAll()
      expect(copy.refills).to.have.length(1)
      expect((await auditCopies(older.pool, later.client)).findings).to.deep.equal([])
      const rows = await listCopies<{ account_id: string }>(later.client, 'accounts', namespaceId)
      expect(rows.map(({ account_id }) => account_id)).to.deep.equal([now.account])
      await now.run(`UPDATE accounts SET name = 'after' WHERE namespace_id = $1`)
      await copy.copyAll()
      expect(copy.refills).to.have.length(1)
      expect((await auditCopies(older.pool, later.client)).findings).to.deep.equal([])
    } finally {
      await later.close()
      await older.close()
    }
  })

  it('of a test company that was reset go with its usage', async () => {
    const test = await makeDimensionWorld(db.pool, 'test')
    const copy = copier()
    await copy.copyAll()
    await test.run('UPDATE accounts SET name = $2 WHERE namespace_id = $1', ['last'])
    await db.pool.query('UPDATE namespaces SET retired_at = now() WHERE namespace_id = $1', [
      test.namespaceId,
    ])
    const retired = retiredNamespaceRepository(db.pool)
    while ((await retired.removeRows(test.namespaceId, 1_000)) > 0);
    await deleteNamespaces(clickhouse.client)([test.namespaceId], never)
    await copy.copyAll()
    const { rows } = await inEveryNamespace(db.pool, (client) =>
      client.query('SELECT * FROM dimension_changes WHERE namespace_id = $1', [test.namespaceId]),
    )
    expect(rows).to.deep.equal([])
    for (const { name } of DIMENSION_TABLES)
      expect(await listCopies(clickhouse.client, name, test.namespaceId), name).to.deep.equal([])
    await expectEqual()
  })

  it('are noted for rows that were there before', async () => {
    const sql = await readFile(
      path.join(PROJECT_ROOT, 'shared/postgres/migrations/0025_dimension_changes.sql'),
      'utf8',
    )
    const before = await createDatabase('dimensions_before')
    const upgraded = await createClickHouse('dimensions of an upgrade')
    const owner = new pg.Client({ connectionString: before.ownerUrl, options: '-c search_path=tally' })
    await owner.connect()
    try {
      for (let i = 0; i < 2; i++) await makeDimensionWorld(before.pool)
      await owner.query(`DO $$ DECLARE name text; BEGIN
        FOR name IN SELECT proname FROM pg_proc WHERE proname ~ '^note_(changed|deleted)_' LOOP
          EXECUTE format('DROP FUNCTION %I CASCADE', name);
        END LOOP; END $$;
        DROP TABLE dimension_changes, dimension_copy`)
      await owner.query(sql)
      await owner.query(`GRANT SELECT, INSERT, UPDATE ON dimension_changes, dimension_copy TO PUBLIC`)
      const copy = openCopier(before.pool, upgraded.client)
      expect(await copy.copyAll()).to.equal(2 * (DIMENSION_TABLES.length + 3))
      const { findings, totals } = await auditCopies(before.pool, upgraded.client)
      expect(findings).to.deep.equal([])
      expect(totals.find(({ table }) => table === 'accounts')?.postgres.rows).to.equal(2)
    } finally {
      await owner.end()
      await upgraded.close()
      await before.close()
    }
  })

  it('say up to when they are complete', async () => {
    const before = Date.now()
    await rename('complete')
    await copier().copyAll()
    const [row] = await queryRows<{ at: string }>(
      clickhouse.client,
      'SELECT toString(toUnixTimestamp64Milli(max(complete_up_to))) AS at FROM dimension_copies',
      {},
    )
    expect(Number(row?.at)).to.be.within(before, Date.now())
  })

  it('do not notice a number twice, however a position is noted', async () => {
    const copies = dimensionRepository(clickhouse.client)
    await copier().copyAll()
    const at = await copies.current()
    await copies.note({ ...at, position: at.position - 1 })
    expect(await copies.current()).to.deep.equal(at)
  })
})
