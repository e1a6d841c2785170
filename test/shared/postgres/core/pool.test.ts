import { expect } from 'chai'
import pg from 'pg'
import { withTransaction } from '../../../../shared/postgres/core/transaction.ts'
import { createDatabase, type TestDatabase } from '../../../support/postgres.ts'

describe('a pool of connections to PostgreSQL', function () {
  this.timeout(30_000)
  let database: TestDatabase
  let admin: pg.Client

  before(async () => {
    database = await createDatabase('pool')
    admin = new pg.Client({ connectionString: database.superuserUrl })
    await admin.connect()
  })
  after(async () => {
    await admin.end()
    await database.close()
  })

  it('survives the loss of a connection within a transaction, idle or not', async () => {
    for (const wait of [0, 200]) {
      let failed: unknown
      await withTransaction(database.pool, async (db) => {
        const { rows } = await db.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
        const busy = wait === 0 ? db.query('SELECT pg_sleep(10)') : undefined
        await admin.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid])
        await busy
        await new Promise((resolve) => setTimeout(resolve, wait)) // the loss is noticed while nothing runs
        await db.query('SELECT 1')
      }).catch((err: unknown) => (failed = err))
      expect(failed).to.be.instanceOf(Error)
      const { rows } = await database.pool.query<{ one: number }>('SELECT 1 AS one')
      expect(rows[0]?.one).to.equal(1)
    }
  })
})
