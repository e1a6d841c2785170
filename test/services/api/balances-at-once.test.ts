import { expect } from 'chai'
import { timesIn } from '../../support/layout.ts'
import type { BalanceBody } from '../../support/period-usage.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'
import { makeStoredWorld, type StoredWorld } from '../../support/stored-world.ts'

const now = Math.floor(Date.now() / 1_000)

describe('reads over HTTP, many at once, which share queries', function () {
  this.timeout(120_000)
  let running: RunningApi

  before(async () => {
    running = await startApi('at_once')
  })
  after(() => running.stop())

  const ACCOUNTS = 20
  const grantOf = (account: number, source: number) => `${1_000 * (account + 1) + source}`
  const usageOf = (account: number, source: number) => `${account + 1}.${source + 1}`

  /** Makes a company whose accounts all have different grants and usage, of two metrics and a currency. */
  async function makeWorld(): Promise<{ world: StoredWorld; sources: string[] }> {
    const world = await makeStoredWorld(running, ACCOUNTS, 2)
    const sources = [...world.metrics, 'usd']
    for (const [account, accountId] of world.accounts.entries())
      for (const [n, source] of sources.entries())
        await world.grant({
          account_id: accountId,
          amount: grantOf(account, n),
          ...(source === 'usd' ? { currency: source } : { metric_id: source }),
        })
    await world.store(
      ...world.accounts.flatMap((accountId, account) =>
        sources.map((source, n) => ({
          accountId,
          source,
          quantity: usageOf(account, n),
          occurredAt: now - n,
        })),
      ),
    )
    return { world, sources }
  }

  const asked = (source: string) => (source === 'usd' ? 'currency=usd' : `metric_id=${source}`)

  it('get each the answer of its own account, metric and company', async () => {
    const worlds = [await makeWorld(), await makeWorld(), await makeWorld()]
    const nobody = `account_${'0'.repeat(32)}`
    const nothing = `metric_${'0'.repeat(32)}`
    const reads: (() => Promise<void>)[] = []
    const expectStatus = (world: StoredWorld, path: string, status: number) => async () => {
      expect((await world.api.get(path)).status, path).to.equal(status)
    }
    for (const [n, { world, sources }] of worlds.entries()) {
      const theirs = worlds[(n + 1) % worlds.length]?.world.account ?? ''
      for (const [account, id] of world.accounts.entries()) {
        for (const [source, name] of sources.entries())
          reads.push(async () => {
            const { body } = await world.api.get<BalanceBody>(`/v2/accounts/${id}/balance?${asked(name)}`)
            expect([body.account_id, body.grant_total, body.usage_total]).to.deep.equal([
              id,
              grantOf(account, source),
              usageOf(account, source),
            ])
          })
        reads.push(async () => {
          const { body } = await world.api.get<{ id: string }>(`/v2/accounts/${id}`)
          expect(body.id).to.equal(id)
        })
      }
      reads.push(
        async () => {
          const ids = world.accounts.join(',')
          const { body } = await world.api.get<{ data: BalanceBody[] }>(
            `/v2/accounts/balances?account_ids=${ids}`,
          )
          expect(body.data.map((row) => [row.account_id, row.grant_total, row.usage_total])).to.deep.equal(
            world.accounts.flatMap((id, account) =>
              sources.map((_, source) => [id, grantOf(account, source), usageOf(account, source)]),
            ),
          )
        },
        expectStatus(world, `/v2/accounts/${nobody}/balance?currency=usd`, 404),
        expectStatus(world, `/v2/accounts/${world.account}/balance?metric_id=${nothing}`, 404),
        expectStatus(world, `/v2/accounts/${theirs}/balance?currency=usd`, 404),
        expectStatus(world, `/v2/accounts/${theirs}`, 404),
        expectStatus(world, `/v2/accounts/balances?account_ids=${world.account},${theirs}`, 404),
      )
    }
    for (let round = 0; round < 2; round++) {
      running.inside?.counts.clear()
      const inAnyOrder = reads
        .map((read) => ({ read, at: Math.random() }))
        .sort((a, b) => a.at - b.at)
        .map(({ read }) => read())
      await Promise.all(inAnyOrder)
    }
    if (running.inside === undefined) return
    const { postgres, clickhouse } = running.inside.counts
    expect(postgres.length, 'statements to PostgreSQL').to.be.below(reads.length)
    expect(clickhouse.length, 'queries to ClickHouse').to.be.below(reads.length / 2)
  })

  it('of companies that have an account of the same id see each its own', async () => {
    const [mine, theirs] = [await makeStoredWorld(running), await makeStoredWorld(running)]
    const id = mine.account
    const INSERT = `
      INSERT INTO accounts (namespace_id, account_id, name, sort_name, customer_sort_name, created_at, updated_at)
      VALUES ($1, $2, 'theirs', 'theirs', '1', now(), now())`
    await theirs.change(INSERT, [theirs.namespaceId, id])
    const worlds = [
      { world: mine, name: 'n', granted: '10', used: '1' },
      { world: theirs, name: 'theirs', granted: '20', used: '2' },
    ]
    for (const { world, granted, used } of worlds) {
      await world.grant({ account_id: id, currency: 'usd', amount: granted })
      await world.store({ accountId: id, source: 'usd', quantity: used, occurredAt: now })
    }
    await Promise.all(
      Array.from({ length: 10 }, () => worlds)
        .flat()
        .map(async ({ world, name, granted, used }) => {
          const [account, balance] = await Promise.all([
            world.api.get<{ name: string }>(`/v2/accounts/${id}`),
            world.api.get<BalanceBody>(`/v2/accounts/${id}/balance?currency=usd`),
          ])
          expect([account.body.name, balance.body.grant_total, balance.body.usage_total]).to.deep.equal([
            name,
            granted,
            used,
          ])
        }),
    )
  })

  it('see what was answered before they came, however many ask meanwhile', async () => {
    const world = await makeStoredWorld(running)
    const path = `/v2/accounts/${world.account}`
    const over = new AbortController()
    const others = Array.from({ length: 16 }, async () => {
      while (!over.signal.aborted)
        await Promise.all([world.api.get(path), world.api.get(`${path}/balance?currency=usd`)])
    })
    try {
      for (let n = 1; n <= timesIn({ embedded: 20, processes: 8 }); n++) {
        expect((await world.api.patch(path, { name: `name ${n}` })).status).to.equal(200)
        expect((await world.api.get<{ name: string }>(path)).body.name).to.equal(`name ${n}`)
        await world.grant({ currency: 'usd', amount: '1' })
        await world.store({ source: 'usd', quantity: '2', occurredAt: now, key: `${n}` })
        const { body } = await world.api.get<BalanceBody>(`${path}/balance?currency=usd`)
        expect([body.grant_total, body.usage_total]).to.deep.equal([`${n}`, `${2 * n}`])
      }
    } finally {
      over.abort()
      await Promise.all(others)
    }
  })
})
