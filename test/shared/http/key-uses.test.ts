import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { newApiKey } from '../../../shared/domain/api-key.ts'
import { keyUses } from '../../../shared/http/key-uses.ts'
import { issueKey } from '../../../shared/keys/issue-key.ts'
import { apiKeyRepository } from '../../../shared/postgres/api-keys.ts'
import { makeCompany } from '../../../shared/postgres/make-company.ts'
import { testLog } from '../../support/log.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

const NEVER_MS = 1_000_000_000

describe('the uses of keys', function () {
  this.timeout(60_000)
  let db: TestDatabase
  let companyId: string
  let keyId: string

  before(async () => {
    db = await createDatabase('key_uses')
  })
  after(() => db.close())
  beforeEach(async () => {
    companyId = await makeCompany(db.pool, { name: randomUUID(), mode: 'test' }, async (client, id) => {
      const wanted = { name: 'k', permissions: ['read:all' as const], accountId: null, expiresAt: null }
      keyId = (await issueKey(client, null, { companyId: id, ...wanted, secret: newApiKey('test') })).id
    })
  })

  const repository = () => apiKeyRepository(db.pool)
  const lastUsed = async () => (await repository().find(companyId, keyId))?.lastUsedAt ?? null
  const write = (ages: ReadonlyMap<string, number>) => repository().noteUses(ages)

  it('are written once a round however often a key is used, with the time of the last', async () => {
    let rounds = 0
    const uses = keyUses(
      (ages) => {
        rounds++
        return write(ages)
      },
      testLog,
      300,
    )
    for (let n = 0; n < 1_000; n++) uses.note(keyId)
    const at = Date.now()
    const found = await until(async () => (await lastUsed()) ?? false)
    expect(rounds).to.equal(1)
    expect(Math.abs(found.getTime() - at)).to.be.lessThan(100)
    await sleep(700)
    expect(rounds, 'nothing was used since').to.equal(1)
    await uses.close()
  })

  it('never go back, whichever process writes last', async () => {
    await write(new Map([[keyId, 1_000]]))
    const before = await lastUsed()
    await write(new Map([[keyId, 60_000]]))
    expect(await lastUsed()).to.deep.equal(before)
  })

  it('are written once more when the process ends', async () => {
    const uses = keyUses(write, testLog, NEVER_MS)
    uses.note(keyId)
    await uses.close()
    expect(await lastUsed()).not.to.equal(null)
  })

  it('are tried again after a failure, and hold up neither callers nor the end', async () => {
    let isAway = true
    const uses = keyUses(
      async (ages) => {
        if (isAway) throw new Error('away')
        await write(ages)
      },
      testLog,
      100,
    )
    uses.note(keyId)
    await sleep(350)
    expect(await lastUsed()).to.equal(null)
    isAway = false
    await until(async () => (await lastUsed()) !== null)
    await uses.close()
    const stuck = keyUses(() => new Promise(() => undefined), testLog, NEVER_MS)
    stuck.note(keyId)
    const startedAt = performance.now()
    await stuck.close()
    expect(performance.now() - startedAt).to.be.within(900, 3_000)
  })

  it('of many keys take bounded memory', async () => {
    let written = 0
    const uses = keyUses(
      (ages) => {
        written = ages.size
        return Promise.resolve()
      },
      testLog,
      NEVER_MS,
    )
    for (let n = 0; n < 30_000; n++) uses.note(`key ${n}`)
    await uses.close()
    expect(written).to.equal(10_000)
  })

  it('wait for nobody who holds a key, and nobody waits for them', async () => {
    const client = await db.pool.connect()
    await client.query('BEGIN')
    await apiKeyRepository(client).lock(companyId, [keyId])
    await write(new Map([[keyId, 0]]))
    expect(await lastUsed()).to.equal(null)
    await client.query('COMMIT')
    client.release()
    await write(new Map([[keyId, 0]]))
    expect(await lastUsed()).not.to.equal(null)
  })
})
