import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { takeTurns } from '../../../../shared/postgres/core/pool-turns.ts'
import { inNamespace } from '../../../../shared/postgres/core/transaction.ts'
import { createDatabase, type TestDatabase } from '../../../support/postgres.ts'
import { until } from '../../../support/until.ts'

/** The number of connections in the pool of a test's database. */
const CONNECTIONS = 10

describe('connections to PostgreSQL that requests share', () => {
  let db: TestDatabase

  before(async () => {
    db = await createDatabase('pool_turns')
    takeTurns(db.pool, CONNECTIONS)
  })
  after(() => db.close())

  it('are half of them one company’s at most: another finds the others free', async () => {
    const [greedy, other] = [randomUUID(), randomUUID()]
    let goOn: () => void = () => undefined
    const may = new Promise<void>((resolve) => (goOn = resolve))
    let atWork = 0
    const held = Array.from({ length: 2 * CONNECTIONS }, () =>
      inNamespace(db.pool, greedy, async () => {
        atWork++
        await may
      }),
    )
    await until(() => Promise.resolve(atWork === CONNECTIONS / 2))
    await Promise.all(
      Array.from({ length: CONNECTIONS }, () =>
        inNamespace(db.pool, other, (client) => client.query('SELECT 1')),
      ),
    )
    expect(atWork).to.equal(CONNECTIONS / 2)
    goOn()
    await Promise.all(held)
    expect(atWork).to.equal(2 * CONNECTIONS)
  })
})
