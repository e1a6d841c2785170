import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { newApiKey } from '../../../shared/domain/api-key.ts'
import { issueKey } from '../../../shared/keys/issue-key.ts'
import { rotateKey } from '../../../shared/keys/rotate-key.ts'
import { apiKeyRepository } from '../../../shared/postgres/api-keys.ts'
import { companyRepository } from '../../../shared/postgres/companies.ts'
import type { PoolClient } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { makeCompany } from '../../../shared/postgres/make-company.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'

const DAY_MS = 86_400_000
const ACCOUNT = `account_${'a'.repeat(32)}`

describe('issuing an account key', () => {
  let db: TestDatabase
  let companyId: string
  let within: <T>(work: (client: PoolClient) => Promise<T>) => Promise<T>

  before(async () => {
    db = await createDatabase('issue_key')
  })
  beforeEach(async () => {
    companyId = await makeCompany(db.pool, { name: randomUUID(), mode: 'test' })
    const company = await companyRepository(db.pool).find(companyId)
    within = (work) => inNamespace(db.pool, company?.namespaceId ?? '', work)
  })
  after(() => db.close())

  const issue = async (name: string, accountId: string | null = ACCOUNT) => {
    const permissions = accountId === null ? (['read:all'] as const) : (['read:account'] as const)
    const expiresAt = new Date(Date.now() + DAY_MS)
    const wanted = { companyId, name, permissions, accountId, expiresAt, secret: newApiKey('test') }
    return (await within((client) => issueKey(client, null, wanted))).id
  }
  /** Makes keys end a number of days ago. */
  const endAgo = (days: number, ids: readonly string[]) =>
    db.pool.query(
      `UPDATE api_keys SET expires_at = clock_timestamp() - $1 * interval '1 day' WHERE key_id = ANY ($2)`,
      [days, ids],
    )
  const names = async (accountId?: string) => {
    const { items } = await apiKeyRepository(db.pool).list(companyId, { limit: 100 }, accountId)
    return items.map(({ name }) => name)
  }

  it('deletes account keys that ended a month ago, and no other key', async () => {
    const old = await issue('old')
    const recent = await issue('recent')
    const lasting = await issue('lasting')
    const ofCompany = await issue('of the company', null)
    await endAgo(32, [old, ofCompany])
    await endAgo(30, [recent])
    await issue('of the company, too', null)
    expect(await names(ACCOUNT)).to.deep.equal(['old', 'recent', 'lasting'])
    await issue('new')
    expect(await names(ACCOUNT)).to.deep.equal(['recent', 'lasting', 'new'])
    expect(await names()).to.deep.equal(['of the company', 'of the company, too'])
    expect(await apiKeyRepository(db.pool).find(companyId, lasting)).to.not.equal(undefined)
  })

  it('deletes those that ended first, a few at a time, so that it takes no longer after a busy day', async () => {
    const ids: string[] = []
    for (let at = 0; at < 12; at++) ids.push(await issue(`${at}`))
    for (const [at, id] of ids.entries()) await endAgo(100 - at, [id])
    await issue('new')
    expect(await names(ACCOUNT)).to.deep.equal(['10', '11', 'new'])
    await issue('newer')
    expect(await names(ACCOUNT)).to.deep.equal(['new', 'newer'])
  })

  it('deletes a key that was rotated before the key that replaced it', async () => {
    const first = await issue('rotated')
    const rotated = await within((client) =>
      rotateKey(client, null, { companyId, keyId: first, mode: 'test', oldKeyEnd: { afterS: 60 } }),
    )
    await endAgo(40, [rotated?.made.id ?? ''])
    await endAgo(35, [first])
    await issue('new')
    expect(await names(ACCOUNT)).to.deep.equal(['rotated', 'new'])
    await issue('newer')
    expect(await names(ACCOUNT)).to.deep.equal(['new', 'newer'])
  })
})
