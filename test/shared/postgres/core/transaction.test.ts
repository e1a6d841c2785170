import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { inNamespace } from '../../../../shared/postgres/core/transaction.ts'
import { createDatabase, type TestDatabase } from '../../../support/postgres.ts'
import { until } from '../../../support/until.ts'

describe('a transaction in a namespace', () => {
  let db: TestDatabase

  before(async () => {
    db = await createDatabase('transactions')
  })
  after(() => db.close())

  it('is run again when PostgreSQL ends it because it and another one wait for each other', async () => {
    const holding = new Set<number>()
    let attempts = 0
    const takeBoth = (first: number, second: number) =>
      inNamespace(db.pool, randomUUID(), async (client) => {
        attempts++
        await client.query('SELECT pg_advisory_xact_lock($1)', [first])
        holding.add(first)
        await until(() => Promise.resolve(holding.size === 2))
        await client.query('SELECT pg_advisory_xact_lock($1)', [second])
        return first
      })
    expect(await Promise.all([takeBoth(1, 2), takeBoth(2, 1)])).to.deep.equal([1, 2])
    expect(attempts).to.equal(3)
  })

  it('is run once when it fails for another reason', async () => {
    let attempts = 0
    const failing = inNamespace(db.pool, randomUUID(), () => {
      attempts++
      return Promise.reject(new Error('no'))
    })
    expect(await failing.catch(String)).to.equal('Error: no')
    expect(attempts).to.equal(1)
  })
})
