import { expect } from 'chai'
import { type OpenedClickHouse, queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { loggableError } from '../../../shared/logging/loggable-error.ts'
import { createBareClickHouse } from '../../support/clickhouse.ts'
import { failureOf } from '../../support/failure-of.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'

describe('what is logged of an error', () => {
  let clickhouse: OpenedClickHouse
  let db: TestDatabase

  before(async () => {
    ;[clickhouse, db] = await Promise.all([
      createBareClickHouse('loggable errors'),
      createDatabase('loggable'),
    ])
  })
  after(() => Promise.all([clickhouse.close(), db.close()]))

  it('is the code and its name where ClickHouse quotes a row', async () => {
    const err = await failureOf(queryRows(clickhouse.client, "SELECT toUInt8('a secret of a customer')", {}))
    expect(String(err)).to.contain('a secret of a customer')
    expect(loggableError(err)).to.deep.equal({ code: '6', type: 'CANNOT_PARSE_TEXT' })
  })

  it('is the error itself where it is another’s', async () => {
    const ofPostgres = await failureOf(db.pool.query('SELECT 1 / 0'))
    for (const err of [
      ofPostgres,
      new Error('plain'),
      Object.assign(new Error('of Kafka'), { code: 3, type: 'X' }),
    ])
      expect(loggableError(err)).to.equal(err)
  })
})
