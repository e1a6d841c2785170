import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { companyRepository } from '../../../shared/postgres/companies.ts'
import { openPool, type Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace, withTransaction } from '../../../shared/postgres/core/transaction.ts'
import { namespaceClockRepository } from '../../../shared/postgres/namespace-clocks.ts'
import { type TestWorlds, testWorlds } from '../../../shared/postgres/test-worlds.ts'
import { testLog } from '../../support/log.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'

describe('the worlds of test companies', function () {
  this.timeout(60_000)
  let database: TestDatabase
  let pools: [Pool, Pool]
  let worlds: [TestWorlds, TestWorlds]
  let company: { id: string; namespaceId: string }
  const isLost = () => undefined

  before(async () => {
    database = await createDatabase('worlds')
    const open = () =>
      openPool({
        url: database.serviceUrl,
        name: 'test worlds',
        connectionsMax: 3,
        statementTimeoutMs: 20_000,
        log: testLog,
      })
    pools = [open(), open()]
    worlds = [testWorlds(pools[0], 500), testWorlds(pools[1], 500)]
  })
  beforeEach(async () => {
    company = { id: randomUUID(), namespaceId: randomUUID() }
    await withTransaction(database.pool, (db) =>
      companyRepository(db).insert({ ...company, name: company.id, mode: 'test' }),
    )
  })
  after(async () => {
    await Promise.all(pools.map((pool) => pool.end()))
    await database.close()
  })

  const setAhead = (of: TestWorlds, aheadMs: number) =>
    of.move(company.id, (db, { namespaceId }) => namespaceClockRepository(db).setAhead(namespaceId, aheadMs))

  it('are seen by everyone at once when they were moved', async () => {
    const { namespaceId } = company
    expect(await worlds[0].look(company.id)).to.deep.equal({ namespaceId, aheadMs: 0 })
    expect(await setAhead(worlds[1], 5_000)).to.equal(5_000)
    expect(await worlds[0].look(company.id)).to.deep.equal({ namespaceId, aheadMs: 5_000 })
    const lease = await worlds[0].enter(company.id, isLost)
    expect(lease).to.include({ namespaceId, aheadMs: 5_000 })
    lease.leave()
  })

  it('have clocks that go forward only, and back to real time', async () => {
    expect(await setAhead(worlds[0], 5_000)).to.equal(5_000)
    expect(await setAhead(worlds[0], 4_000)).to.equal(5_000)
    await worlds[0].move(company.id, (db, { namespaceId }) => namespaceClockRepository(db).reset(namespaceId))
    expect((await worlds[0].look(company.id)).aheadMs).to.equal(0)
    expect(await setAhead(worlds[0], -9_000)).to.equal(0)
  })

  it('tell a namespace’s now in a transaction elsewhere, which stays where it is', async () => {
    await setAhead(worlds[0], 86_400_000)
    const elsewhere = randomUUID()
    await inNamespace(database.pool, elsewhere, async (db) => {
      const before = Date.now()
      const now = await namespaceClockRepository(db).now(company.namespaceId)
      expect(now.getTime() - before).to.be.within(86_400_000, 86_410_000)
      const { rows } = await db.query<{ at: string }>("SELECT current_setting('tally.namespace_id') AS at")
      expect(rows[0]?.at).to.equal(elsewhere)
    })
    expect(await namespaceClockRepository(database.pool).aheadMs(company.namespaceId)).to.equal(86_400_000)
    const { rows } = await database.pool.query('SELECT * FROM namespace_clocks')
    expect(rows, 'what can be seen from no namespace').to.deep.equal([])
  })

  it('are not moved while somebody is inside, in whatever process', async () => {
    const lease = await worlds[0].enter(company.id, isLost)
    const refusal = await setAhead(worlds[1], 1_000).catch((err: unknown) => err)
    expect(refusal).to.be.instanceOf(DomainError).with.property('code', 'overloaded')
    expect((await worlds[1].look(company.id)).aheadMs).to.equal(0)
    const moving = setAhead(worlds[1], 1_000)
    await sleep(50)
    lease.leave()
    expect(await moving).to.equal(1_000)
  })

  it('let whoever comes after a move began wait for its end', async () => {
    const lease = await worlds[0].enter(company.id, isLost)
    const moving = setAhead(worlds[1], 1_000)
    await sleep(150) // longer than the time in which visitors enter together
    const [later, elsewhere] = [worlds[0].enter(company.id, isLost), worlds[1].enter(company.id, isLost)]
    lease.leave()
    await moving
    for (const lease of await Promise.all([later, elsewhere])) {
      expect(lease.aheadMs).to.equal(1_000)
      lease.leave()
    }
  })

  it('are moved in the end however many come and go', async () => {
    let going = true
    const comeAndGo = async (of: TestWorlds) => {
      while (going) {
        const lease = await of.enter(company.id, isLost)
        await sleep(10)
        lease.leave()
      }
    }
    const visitors = Array.from({ length: 60 }, (_, n) => comeAndGo(n % 2 === 0 ? worlds[0] : worlds[1]))
    for (let ahead = 1_000; ahead <= 5_000; ahead += 1_000)
      expect(await setAhead(worlds[0], ahead)).to.equal(ahead)
    going = false
    await Promise.all(visitors)
    expect(pools[0].totalCount).to.be.at.most(3)
  })

  it('are left by themselves by who does not leave', async () => {
    await testWorlds(pools[0], 500, 100).enter(company.id, isLost)
    await sleep(200)
    expect(await setAhead(worlds[1], 1_000)).to.equal(1_000)
  })

  it('do not let those of other companies wait', async () => {
    const lease = await worlds[0].enter(company.id, isLost)
    const other = { id: randomUUID(), namespaceId: randomUUID() }
    await withTransaction(database.pool, (db) =>
      companyRepository(db).insert({ ...other, name: other.id, mode: 'test' }),
    )
    await worlds[1].move(other.id, () => Promise.resolve())
    lease.leave()
  })

  it('leave connections for other companies, whatever one does', async () => {
    const greedy = testWorlds(pools[0], 2_000, 30_000, 1)
    const other = { id: randomUUID(), namespaceId: randomUUID() }
    await withTransaction(database.pool, (db) =>
      companyRepository(db).insert({ ...other, name: other.id, mode: 'test' }),
    )
    const visits = [await greedy.enter(company.id, isLost)]
    const later: Promise<unknown>[] = []
    for (let n = 0; n < 5; n++) {
      await sleep(110) // longer than the time in which visitors enter together
      later.push(greedy.enter(company.id, isLost).then((lease) => visits.push(lease)))
      later.push(greedy.move(company.id, () => Promise.resolve()).catch((err: unknown) => err))
    }
    const asked = performance.now()
    await greedy.look(other.id)
    expect(performance.now() - asked, 'milliseconds').to.be.below(500)
    expect(
      await Promise.race([greedy.move(other.id, () => Promise.resolve('moved')), sleep(1_000)]),
    ).to.equal('moved')
    visits[0]?.leave()
    await Promise.all(later)
    for (const lease of visits) lease.leave()
    expect(await greedy.move(company.id, () => Promise.resolve('moved'))).to.equal('moved')
  })

  it('tell a holder that its connection is lost, and leave nothing locked behind', async () => {
    let lost = 0
    const lease = await worlds[0].enter(company.id, () => lost++)
    await database.pool.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%enter_world%' AND pid <> pg_backend_pid()",
    )
    while (lost === 0) await sleep(10)
    expect(await setAhead(worlds[1], 1_000)).to.equal(1_000)
    const next = await worlds[0].enter(company.id, isLost)
    expect(next.aheadMs).to.equal(1_000)
    next.leave()
    lease.leave()
    lease.leave()
    expect(await setAhead(worlds[1], 2_000)).to.equal(2_000)
  })
})
