import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import pg from 'pg'
import { accountRepository } from '../../../../shared/postgres/accounts.ts'
import { companyRepository } from '../../../../shared/postgres/companies.ts'
import { migratePostgres, roleOf } from '../../../../shared/postgres/core/migrate.ts'
import { requireHarmlessRole } from '../../../../shared/postgres/core/require-harmless-role.ts'
import { inNamespace, withTransaction } from '../../../../shared/postgres/core/transaction.ts'
import { testLog } from '../../../support/log.ts'
import { createDatabase, type TestDatabase } from '../../../support/postgres.ts'

describe('the schema in PostgreSQL', () => {
  let db: TestDatabase

  before(async () => {
    db = await createDatabase('schema')
  })
  after(() => db.close())

  const asOwner = async <T extends pg.QueryResultRow>(text: string): Promise<T[]> => {
    const client = new pg.Client({ connectionString: db.ownerUrl })
    await client.connect()
    try {
      return (await client.query<T>(text)).rows
    } finally {
      await client.end()
    }
  }

  const refusalOf = async (work: Promise<unknown>): Promise<string> => {
    let refusal: unknown
    await work.catch((err: unknown) => (refusal = err))
    return String(refusal)
  }

  it('is migrated once by many processes that start together', async () => {
    const fresh = await createDatabase('race')
    await asOwner('SELECT 1')
    const client = new pg.Client({ connectionString: fresh.ownerUrl })
    await client.connect()
    await client.query('DROP SCHEMA tally CASCADE')
    const serviceRole = await roleOf(fresh.serviceUrl)
    let others = 0
    let most = 0
    const andThen = async () => {
      most = Math.max(most, ++others)
      await new Promise((resolve) => setTimeout(resolve, 20))
      others--
    }
    const migrate = () => migratePostgres({ ownerUrl: fresh.ownerUrl, serviceRole, log: testLog }, andThen)
    await Promise.all([migrate(), migrate(), migrate(), migrate()])
    expect(most).to.equal(1) // later steps hold the same lock
    const { rows } = await client.query<{ n: string }>('SELECT count(*) AS n FROM tally.schema_migrations')
    expect(Number(rows[0]?.n)).to.be.greaterThan(5)
    await client.end()
    await fresh.close()
  })

  it('guards every table that holds a namespace with row level security, for its owner too', async () => {
    const tables = await asOwner<{ relname: string; guarded: boolean; policies: string[] }>(`
      SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity AS guarded,
        array(SELECT concat(p.polname, ' ', p.polcmd) FROM pg_policy p WHERE p.polrelid = c.oid ORDER BY 1) AS policies
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'namespace_id' AND NOT a.attisdropped
      WHERE n.nspname = 'tally' AND c.relkind IN ('r', 'p') AND c.relname <> 'namespaces'`)
    expect(tables.map(({ relname }) => relname)).to.include.members([
      'accounts',
      'grants',
      'metrics',
      'customers',
    ])
    for (const { relname, guarded, policies } of tables) {
      expect(guarded, relname).to.equal(true)
      // The tables that services read for all companies may be read for all of them, but not written.
      const isForAll = ['dimension_changes', 'event_revisions', 'usage_counts'].includes(relname)
      const further = isForAll ? ['of_maintenance r'] : []
      expect(policies, relname).to.deep.equal([...further, 'of_namespace *'])
    }
  })

  it('shows and takes rows of one namespace only, whatever a statement asks for', async () => {
    const [mine, theirs] = [randomUUID(), randomUUID()]
    for (const [name, namespaceId] of [
      ['mine', mine],
      ['theirs', theirs],
    ] as const)
      await withTransaction(db.pool, (client) =>
        companyRepository(client).insert({ id: randomUUID(), name, mode: 'live', namespaceId }),
      )
    const account = (n: number) => ({
      id: `account_${String(n).repeat(32)}`,
      name: 'x',
      externalId: null,
      customerId: null,
      description: null,
    })
    await inNamespace(db.pool, mine, (client) => accountRepository(client).insert(mine, account(1)))
    await inNamespace(db.pool, theirs, (client) => accountRepository(client).insert(theirs, account(2)))
    const everything = 'SELECT account_id FROM accounts'
    const seen = await inNamespace(db.pool, mine, (client) =>
      client.query<{ account_id: string }>(everything),
    )
    expect(seen.rows).to.deep.equal([{ account_id: account(1).id }])
    expect((await db.pool.query(everything)).rowCount).to.equal(0) // no namespace, no rows
    const intrusion = inNamespace(db.pool, mine, (client) =>
      accountRepository(client).insert(theirs, account(3)),
    )
    expect(await refusalOf(intrusion)).to.match(/row-level security/)
    const seizure = inNamespace(db.pool, mine, (client) =>
      client.query(`UPDATE accounts SET name = 'seized'`),
    )
    expect((await seizure).rowCount).to.equal(1)
  })

  it('gives the services’ role no way to delete what money hangs on, or to change the schema', async () => {
    for (const statement of [
      'DELETE FROM grants',
      'DELETE FROM idempotency_keys',
      'DELETE FROM event_revisions',
      'UPDATE event_revisions SET quantity = 1',
      'UPDATE event_revisions SET voided = false',
      'TRUNCATE accounts',
      'DROP TABLE accounts',
      'ALTER TABLE accounts DISABLE ROW LEVEL SECURITY',
      "INSERT INTO schema_migrations (name, checksum) VALUES ('x', 'y')",
      'CREATE TABLE tally.mine (n integer)',
    ])
      expect(await refusalOf(db.pool.query(statement)), statement).to.match(/permission denied|must be owner/)
  })

  it('is not served as a superuser or an owner', async () => {
    await requireHarmlessRole(db.serviceUrl)
    expect(await refusalOf(requireHarmlessRole(db.superuserUrl))).to.match(/is a superuser/)
    expect(await refusalOf(requireHarmlessRole(db.ownerUrl))).to.match(/owns the tables/)
  })
})
