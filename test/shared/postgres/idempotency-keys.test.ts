import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { companyRepository } from '../../../shared/postgres/companies.ts'
import { inNamespace, withTransaction } from '../../../shared/postgres/core/transaction.ts'
import { idempotencyKeyRepository } from '../../../shared/postgres/idempotency-keys.ts'
import { failureOf } from '../../support/failure-of.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'

const ROUTE = '/v2/events'
const BODY = Buffer.from('{"quantity":"1"}')
/** Two attempts, in microseconds: far enough from each other for events without a time to get another one. */
const [FIRST, LATER] = [1_700_000_000_000_001, 1_700_000_090_000_002]

describe('an Idempotency-Key for work outside of the database', () => {
  let db: TestDatabase
  const namespaces = [randomUUID(), randomUUID()]

  before(async () => {
    db = await createDatabase('idempotency_keys')
    await withTransaction(db.pool, async (client) => {
      for (const [n, namespaceId] of namespaces.entries())
        await companyRepository(client).insert({ id: randomUUID(), name: `${n}`, mode: 'live', namespaceId })
    })
  })
  after(() => db.close())

  const [NAMESPACE = '', OTHER = ''] = namespaces
  const begin = (key: string, at: number, { namespaceId = NAMESPACE, route = ROUTE, body = BODY } = {}) =>
    inNamespace(db.pool, namespaceId, (client) =>
      idempotencyKeyRepository(client).begin(namespaceId, route, key, body, at),
    )
  const expectConflict = async (work: Promise<unknown>) => {
    expect(await failureOf(work))
      .to.be.instanceOf(DomainError)
      .with.property('code', 'conflict')
  }

  it('gives an attempt after one that came to no end the time of the first, so that it makes the same events', async () => {
    expect(await begin('a', FIRST)).to.equal(FIRST)
    expect(await begin('a', LATER)).to.equal(FIRST)
    expect(await begin('a', LATER + 1)).to.equal(FIRST)
  })

  it('is used up once the work is done', async () => {
    await begin('b', FIRST)
    await inNamespace(db.pool, NAMESPACE, (client) =>
      idempotencyKeyRepository(client).complete(NAMESPACE, ROUTE, 'b'),
    )
    await expectConflict(begin('b', LATER))
  })

  it('is of one body, and of its namespace and route', async () => {
    await begin('c', FIRST)
    await expectConflict(begin('c', LATER, { body: Buffer.from('{"quantity":"2"}') }))
    expect(await begin('c', LATER, { route: '/v2/events/batch' })).to.equal(LATER)
    expect(await begin('c', LATER, { namespaceId: OTHER })).to.equal(LATER)
  })

  it('gives attempts at once one time', async () => {
    const times = await Promise.all(Array.from({ length: 8 }, (_, n) => begin('d', FIRST + n)))
    expect(new Set(times)).to.have.property('size', 1)
  })
})
