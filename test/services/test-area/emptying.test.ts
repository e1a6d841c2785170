import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import pg from 'pg'
import {
  emptyRetiredNamespaces,
  keepEmptying,
} from '../../../services/api/test-area/empty-retired-namespaces.ts'
import { seedNamespace } from '../../../services/gateway/seed/seed-namespace.ts'
import { type OpenedClickHouse, queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { deleteNamespaces } from '../../../shared/clickhouse/events/delete-namespaces.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { dirtySlotRepository } from '../../../shared/clickhouse/rollups/dirty-slots.ts'
import { ROLLUP_TABLES } from '../../../shared/clickhouse/rollups/rollup-table-names.ts'
import { accountRepository } from '../../../shared/postgres/accounts.ts'
import { companyRepository } from '../../../shared/postgres/companies.ts'
import { inNamespace, withTransaction } from '../../../shared/postgres/core/transaction.ts'
import { idempotencyKeyRepository } from '../../../shared/postgres/idempotency-keys.ts'
import { namespaceClockRepository } from '../../../shared/postgres/namespace-clocks.ts'
import { retiredNamespaceRepository } from '../../../shared/postgres/retired-namespaces.ts'
import { testWorlds } from '../../../shared/postgres/test-worlds.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { createClickHouse } from '../../support/clickhouse.ts'
import { testLog } from '../../support/log.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'
import { makeReport } from '../../support/usage-event.ts'

const keyed = (key: string) => ({ route: 'POST /v2/accounts', key, digest: Buffer.alloc(32) })

describe('emptying what was reset', function () {
  this.timeout(120_000)
  let database: TestDatabase
  let clickhouse: OpenedClickHouse
  let superuser: pg.Client
  let loadedUpTo: number
  let company: { id: string; namespaceId: string }
  let bystander: { id: string; namespaceId: string }

  before(async () => {
    database = await createDatabase('emptying')
    clickhouse = await createClickHouse('emptying')
    superuser = new pg.Client({ connectionString: database.superuserUrl })
    await superuser.connect()
    await superuser.query('SET search_path = tally')
  })
  beforeEach(async () => {
    loadedUpTo = Infinity
    company = await makeCompany()
    bystander = await makeCompany()
  })
  after(async () => {
    await superuser.end()
    await clickhouse.close()
    await database.close()
  })

  async function makeCompany() {
    const made = { id: randomUUID(), namespaceId: randomUUID() }
    await withTransaction(database.pool, (db) =>
      companyRepository(db).insert({ ...made, name: made.id, mode: 'test' }),
    )
    return made
  }

  const deps = () => ({
    pool: database.pool,
    deleteNamespaces: deleteNamespaces(clickhouse.client),
    listedUpTo: () => Promise.resolve(loadedUpTo),
  })
  const empty = () => emptyRetiredNamespaces(deps(), 60_000, new AbortController().signal)
  const reset = ({ id }: { id: string }) =>
    testWorlds(database.pool, 5_000).move(id, (db) =>
      companyRepository(db).replaceNamespace(id, randomUUID()),
    )
  const isDueAgain = () =>
    superuser.query(
      "UPDATE namespaces SET empty_again_at = now() - interval '1 second' WHERE retired_at IS NOT NULL",
    )

  /** Fills every table. */
  async function fill({ namespaceId }: { namespaceId: string }): Promise<void> {
    await seedNamespace(database.pool, () => Promise.resolve([]))({ namespaceId }, 0, 1)
    await inNamespace(database.pool, namespaceId, async (db) => {
      await idempotencyKeyRepository(db).use(namespaceId, keyed('k'))
      await namespaceClockRepository(db).setAhead(namespaceId, 1_000)
      for (let n = 0; n < 30; n++)
        await accountRepository(db).insert(namespaceId, {
          id: `account_${randomUUID().replaceAll('-', '')}`,
          name: 'a',
          externalId: null,
          customerId: null,
          description: null,
        })
    })
    await store(namespaceId)
  }

  /** Stores events of several months like a loader. */
  async function store(namespaceId: string): Promise<void> {
    const lines = [1_690_000_000, 1_695_000_000, 1_700_000_000].map((occurredAt) =>
      usageEventToLine(makeReport({ namespaceId, source: 'usd', occurredAt })),
    )
    await usageEventRepository(clickhouse.client).insertLines(Buffer.from(lines.join('\n')))
  }

  /** Makes rollups of two epochs and two months, and marks of late usage, like the rollup service and loaders. */
  async function rollUp(namespaceId: string): Promise<void> {
    const rows = (table: string, columns: string, values: string) =>
      clickhouse.client.command({
        query: `INSERT INTO ${table} (epoch, namespace_id, source, ${columns})
          SELECT arrayJoin([1, 2]), {namespaceId:String}, 'usd', ${values}`,
        query_params: { namespaceId },
      })
    await rows('usage_by_slot', 'account_id, slot', "'a', toStartOfDay(now()) + arrayJoin([0, 300])")
    await rows('usage_by_slot_total', 'slot', 'toStartOfDay(now()) + arrayJoin([0, 300])')
    await rows('usage_by_day', 'account_id, day', "'a', arrayJoin([today() - 40, today()])")
    await rows(
      'usage_by_month',
      'account_id, month',
      "'a', toStartOfMonth(arrayJoin([today() - 400, today()]))",
    )
    await rows('usage_by_day_total', 'day', 'arrayJoin([today() - 40, today()])')
    const dirty = dirtySlotRepository(clickhouse.client)
    const slots = [{ namespaceId, accountId: '', slot: 1_690_070_400, kind: 'day' as const }]
    await dirty.placePending(slots, '1', 1_700_000_000)
    await dirty.placeReady(slots, '2', 1_700_000_000)
  }

  /** Counts rows in all tables. */
  async function rowsOf(namespaceId: string): Promise<Record<string, number>> {
    const counts: Record<string, number> = {}
    const { rows: tables } = await superuser.query<{ name: string }>(
      "SELECT table_name AS name FROM information_schema.columns WHERE table_schema = 'tally' AND column_name = 'namespace_id' AND table_name <> 'namespaces'",
    )
    for (const { name } of tables) {
      const { rows } = await superuser.query<{ n: number }>(
        `SELECT count(*)::integer AS n FROM ${name} WHERE namespace_id = $1`,
        [namespaceId],
      )
      counts[name] = rows[0]?.n ?? -1
    }
    const stored = await queryRows<{ name: string }>(
      clickhouse.client,
      "SELECT DISTINCT c.table AS name FROM system.columns AS c JOIN system.tables AS t ON t.database = c.database AND t.name = c.table WHERE c.database = currentDatabase() AND c.name = 'namespace_id' AND t.engine LIKE '%MergeTree'",
      {},
    )
    for (const { name } of stored) {
      const [row] = await queryRows<{ n: string }>(
        clickhouse.client,
        `SELECT count() AS n FROM ${name} WHERE namespace_id = {namespaceId:String}`,
        { namespaceId },
      )
      counts[name] = Number(row?.n ?? -1)
    }
    return counts
  }

  const sum = (counts: Record<string, number>) => Object.values(counts).reduce((all, n) => all + n, 0)

  it('goes on with the others when one cannot be emptied', async () => {
    const put = (namespaceId: string) =>
      inNamespace(database.pool, namespaceId, (db) =>
        idempotencyKeyRepository(db).use(namespaceId, keyed('a')),
      )
    for (const one of [company, bystander]) {
      await put(one.namespaceId)
      await reset(one)
    }
    await superuser.query(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'stuck'; END $$;
      CREATE TRIGGER stuck BEFORE DELETE ON idempotency_keys FOR EACH ROW
        WHEN (OLD.namespace_id = '${company.namespaceId}') EXECUTE FUNCTION refuse()`)
    const err: unknown = await empty().catch((thrown: unknown) => thrown)
    await superuser.query('DROP TRIGGER stuck ON idempotency_keys; DROP FUNCTION refuse')
    expect(err).to.be.instanceOf(Error).with.property('message', 'stuck')
    const emptied = await superuser.query(
      'SELECT namespace_id FROM namespaces WHERE emptied_at IS NOT NULL AND namespace_id = ANY ($1)',
      [[company.namespaceId, bystander.namespaceId]],
    )
    expect(emptied.rows).to.deep.equal([{ namespace_id: bystander.namespaceId }])
    await empty()
  })

  it('leaves nothing of it in any table, and everything of others', async () => {
    for (const one of [company, bystander]) {
      await fill(one)
      await rollUp(one.namespaceId)
    }
    const before = await rowsOf(company.namespaceId)
    for (const table of [
      'accounts',
      'customers',
      'metrics',
      'grants',
      'refill_configurations',
      'idempotency_keys',
      'namespace_clocks',
      'namespace_seeds',
      'usage_events',
      'usage_events_by_acceptance',
      'reported_currencies',
      ...ROLLUP_TABLES,
      'usage_dirty_slots',
    ])
      expect(before[table], table).to.be.above(0)
    await reset(company)
    expect(await empty()).to.equal(1)
    expect(sum(await rowsOf(company.namespaceId))).to.equal(0)
    expect(await rowsOf(bystander.namespaceId)).to.deep.equal(before)
  })

  it('takes as many transactions as it needs', async () => {
    await fill(company)
    await reset(company)
    const retired = retiredNamespaceRepository(database.pool)
    let gone = 0
    for (let some = 1; some > 0; gone += some) {
      some = await retired.removeRows(company.namespaceId, 7)
      expect(some).to.be.at.most(7)
    }
    expect(gone).to.be.above(50)
    const left = await rowsOf(company.namespaceId)
    expect(left['accounts']).to.equal(0)
    await empty()
  })

  it('comes again while something may be on its way, and then less and less often', async () => {
    await fill(company)
    await reset(company)
    loadedUpTo = Date.now() * 1_000
    const dueIn = async () => {
      const { rows } = await superuser.query<{ s: number }>(
        'SELECT extract(epoch FROM empty_again_at - now())::float8 AS s FROM namespaces WHERE namespace_id = $1',
        [company.namespaceId],
      )
      return rows[0]?.s ?? -1
    }
    await empty()
    expect(await dueIn()).to.be.within(50, 61)
    expect(await empty(), 'not due yet').to.equal(0)
    await store(company.namespaceId)
    expect(sum(await rowsOf(company.namespaceId))).to.be.above(0)
    await isDueAgain()
    loadedUpTo = Infinity
    expect(await empty()).to.be.at.least(1)
    expect(sum(await rowsOf(company.namespaceId))).to.equal(0)
    expect(await dueIn()).to.be.within(86_390, 86_520)
    await store(company.namespaceId)
    await isDueAgain()
    await superuser.query(
      "UPDATE namespaces SET retired_at = now() - interval '9 days' WHERE namespace_id = $1",
      [company.namespaceId],
    )
    await empty()
    expect(sum(await rowsOf(company.namespaceId)), 'what came a day later').to.equal(0)
    expect(await dueIn()).to.be.within(9 * 86_400 - 10, 9 * 86_400 + 120)
  })

  it('is done by one process at a time, however many try, and ends when it is told to', async () => {
    await fill(company)
    await reset(company)
    const jobs = [1, 2, 3].map(() => keepEmptying(deps(), 20, testLog))
    await until(async () => sum(await rowsOf(company.namespaceId)) === 0)
    await Promise.all(jobs.map((job) => job.close()))
  })

  it('begins again where it was cut short', async () => {
    await fill(company)
    await reset(company)
    const failing = {
      ...deps(),
      deleteNamespaces: () => Promise.reject(new Error('ClickHouse is away')),
    }
    const failure = await emptyRetiredNamespaces(failing, 60_000, new AbortController().signal).catch(
      (err: unknown) => err,
    )
    expect(failure).to.be.instanceOf(Error)
    expect((await rowsOf(company.namespaceId))['usage_events']).to.equal(3)
    const stopped = await emptyRetiredNamespaces(deps(), 60_000, AbortSignal.abort()).catch(
      (err: unknown) => err,
    )
    expect(stopped).to.be.instanceOf(Error)
    expect(await empty()).to.be.at.least(1)
    expect(sum(await rowsOf(company.namespaceId))).to.equal(0)
  })

  it('touches nothing that a company still has, whoever asks', async () => {
    await fill(company)
    const retired = retiredNamespaceRepository(database.pool)
    const refusal = await retired.removeRows(company.namespaceId, 10).catch((err: unknown) => String(err))
    expect(refusal).to.match(/was not reset/)
    const id = randomUUID()
    const live = { id, namespaceId: randomUUID(), name: id, mode: 'live' as const }
    await withTransaction(database.pool, (db) => companyRepository(db).insert(live))
    const moved = await reset(live).catch((err: unknown) => String(err))
    expect(moved).to.match(/only a test company/)
    await superuser.query('UPDATE namespaces SET retired_at = now() WHERE namespace_id = $1', [
      live.namespaceId,
    ])
    const kept = await retired.removeRows(live.namespaceId, 10).catch((err: unknown) => String(err))
    expect(kept).to.match(/was not reset/)
  })
})
