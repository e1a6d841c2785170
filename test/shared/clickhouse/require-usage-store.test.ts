import { expect } from 'chai'
import type { OpenedClickHouse } from '../../../shared/clickhouse/clickhouse.ts'
import { requireUsageStore } from '../../../shared/clickhouse/require-usage-store.ts'
import { createClickHouse } from '../../support/clickhouse.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'

describe('which ClickHouse the usage is in', function () {
  this.timeout(60_000)
  let db: TestDatabase
  const stores: OpenedClickHouse[] = []

  before(async () => {
    db = await createDatabase('usage_store')
    for (const n of [1, 2]) stores.push(await createClickHouse(`usage store ${n}`))
  })
  after(async () => {
    for (const store of stores) await store.close()
    await db.close()
  })

  const outcomes = (enters: boolean) =>
    Promise.all(
      stores.map(({ client }) =>
        requireUsageStore(client, db.pool, { enters }).then(
          () => 'let in',
          (err: unknown) => String(err),
        ),
      ),
    )

  it('is the first that is migrated beside a PostgreSQL, of two at once one, and no other', async () => {
    for (const outcome of await outcomes(false)) expect(outcome).to.match(/run npm run migrate/)
    const entered = await outcomes(true)
    expect(entered.filter((outcome) => outcome === 'let in')).to.have.length(1)
    const refusal = entered.find((outcome) => outcome !== 'let in')
    expect(refusal).to.match(
      /^StartupError: the usage of this Tally is in another ClickHouse \([0-9a-f-]{36}\)/,
    )
    for (const enters of [false, true]) expect(await outcomes(enters)).to.deep.equal(entered)
  })

  it('is nothing that a service can change', async () => {
    for (const change of ['UPDATE usage_store SET id = gen_random_uuid()', 'DELETE FROM usage_store'])
      expect(await db.pool.query(change).catch(String)).to.match(/permission denied for table usage_store/)
  })
})
