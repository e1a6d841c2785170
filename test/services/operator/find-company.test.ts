import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { companyNamed } from '../../../services/operator/find-company.ts'
import { companyRepository } from '../../../shared/postgres/companies.ts'
import { withTransaction } from '../../../shared/postgres/core/transaction.ts'
import { failureOf } from '../../support/failure-of.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'

describe('a company that a command names', function () {
  this.timeout(30_000)
  let database: TestDatabase
  before(async () => {
    database = await createDatabase('named')
  })
  after(() => database.close())

  const add = (name: string) =>
    withTransaction(database.pool, (db) =>
      companyRepository(db).insert({ id: randomUUID(), namespaceId: randomUUID(), name, mode: 'live' }),
    )
  const refusal = async () => {
    const err = await failureOf(companyNamed(database.pool, 'nowhere'))
    return err instanceof Error ? err.message : undefined
  }

  it('is found, or refused with the names of at most ten that there are', async () => {
    for (let n = 1; n <= 10; n++) await add(`company "${n}"`)
    const names = Array.from({ length: 10 }, (_, n) => JSON.stringify(`company "${n + 1}"`)).join(', ')
    expect(await refusal()).to.equal(`there is no company "nowhere"; there are: ${names}`)
    for (const name of ['eleventh', 'twelfth']) await add(name)
    expect(await refusal()).to.equal(`there is no company "nowhere"; there are: ${names}, and 2 more`)
    expect(await companyNamed(database.pool, 'twelfth')).to.include({ name: 'twelfth' })
  })
})
