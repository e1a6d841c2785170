import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { buildEpoch } from '../../../shared/clickhouse/rollups/build-epoch.ts'
import { rollupEpochRepository } from '../../../shared/clickhouse/rollups/rollup-epochs.ts'
import { rollupTables } from '../../../shared/clickhouse/rollups/rollup-tables.ts'
import { usageQueriesOf } from '../../support/count-queries.ts'
import type { BalanceBody } from '../../support/period-usage.ts'
import { EPOCH_CACHED_MS } from '../../support/rollup-stage.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'
import { makeStoredWorld, type StoredWorld } from '../../support/stored-world.ts'

const now = Math.floor(Date.now() / 1_000)

describe('balances of several accounts over HTTP', function () {
  this.timeout(120_000)
  let running: RunningApi

  before(async () => {
    running = await startApi('balances')
  })
  after(() => running.stop())

  const ask = ({ api }: StoredWorld, ids: readonly string[]) =>
    api.get<{ data: BalanceBody[] }>(`/v2/accounts/balances?account_ids=${ids.join(',')}`)
  const rowsOf = (data: readonly BalanceBody[]) =>
    data.map(({ account_id: account, metric_id: metric, currency, ...totals }) => [
      account,
      metric ?? currency,
      ...Object.values(totals),
    ])

  it('are one for each account and active metric, then for each currency it was ever granted', async () => {
    const world = await makeStoredWorld(running, 2, 3)
    const [first = '', second = ''] = world.accounts
    const [m0 = '', m1 = '', m2 = ''] = world.metrics
    await world.grant({ metric_id: m1, amount: '10.5' })
    await world.grant({ metric_id: m2, amount: '1000' })
    await world.grant({ currency: 'USD', amount: '3' })
    await world.grant({ currency: 'chf', amount: '4', expires_at: now - 1 })
    await world.grant({ currency: 'aud', amount: '5', effective_at: now + 100_000 })
    const voided = await world.grant({ currency: 'eur', amount: '6' })
    await world.change('UPDATE grants SET voided_at = now() WHERE grant_id = $1', [voided])
    await world.change('UPDATE metrics SET archived_at = now() WHERE metric_id = $1', [m2])
    await world.store(
      { source: m0, quantity: '1', occurredAt: now },
      { source: m2, quantity: '2', occurredAt: now },
      { source: 'usd', quantity: '0.25', occurredAt: now - 5_000_000 },
      { source: 'nok', quantity: '9', occurredAt: now }, // never granted
      { source: 'usd', quantity: '7', occurredAt: now, accountId: second },
    )
    const ofFirst = [
      [first, m0, '0', '1', '-1'],
      [first, m1, '10.5', '0', '10.5'],
      [first, 'aud', '0', '0', '0'],
      [first, 'chf', '0', '0', '0'],
      [first, 'eur', '0', '0', '0'],
      [first, 'usd', '3', '0.25', '2.75'],
    ]
    const ofSecond = [
      [second, m0, '0', '0', '0'],
      [second, m1, '0', '0', '0'],
    ]
    expect(rowsOf((await ask(world, [first, second])).body.data)).to.deep.equal([...ofFirst, ...ofSecond])
    expect(rowsOf((await ask(world, [second, first])).body.data)).to.deep.equal([...ofSecond, ...ofFirst])
    await world.change('UPDATE accounts SET archived_at = now() WHERE account_id = $1', [second])
    expect(rowsOf((await ask(world, [second])).body.data)).to.deep.equal(ofSecond)
    const encoded = await world.api.get<{ data: BalanceBody[] }>(
      `/v2/accounts/balances?${new URLSearchParams({ account_ids: `${first},${second}` }).toString()}`,
    )
    expect(rowsOf(encoded.body.data)).to.deep.equal([...ofFirst, ...ofSecond])
  })

  it('need 1 to 100 different ids of accounts that exist', async () => {
    const world = await makeStoredWorld(running, 2, 0)
    const theirs = await makeStoredWorld(running)
    const [first = '', second = ''] = world.accounts
    const id = (n: number) => `account_${n.toString(16).padStart(32, '0')}`
    const many = (count: number) => Array.from({ length: count }, (_, n) => id(n))
    const cases: [string, number][] = [
      ['', 400],
      ['?account_ids=', 400],
      [`?account_ids=${first},${first}`, 400],
      [`?account_ids=${first},${second},`, 400],
      [`?account_ids=${first},x`, 400],
      [`?account_ids=${first}%20`, 400],
      [`?account_ids=${first.toUpperCase()}`, 400],
      [`?account_ids=${many(101).join(',')}`, 400],
      [`?account_ids=${many(100).join(',')}`, 404],
      [`?account_ids=${first},${id(1)}`, 404],
      [`?account_ids=${first},${theirs.account}`, 404],
      [`?account_ids=${first}&limit=1`, 400],
      [`?account_ids=${first}`, 200],
    ]
    for (const [query, status] of cases) {
      const answer = await world.api.get(`/v2/accounts/balances${query}`)
      expect(answer.status, `${query}: ${answer.text}`).to.equal(status)
      if (status === 400) expect(answer.text).to.match(/account_ids|limit/)
    }
    expect((await world.api.post('/v2/accounts/balances', {})).status).to.equal(405)
    expect((await ask(world, [first])).body).to.deep.equal({ data: [] }) // no metric, and nothing granted
  })

  it('take as many queries for a hundred accounts, fifty metrics and two currencies as for one account', async function () {
    const { inside } = running
    if (inside === undefined) return this.skip()
    const world = await makeStoredWorld(running, 100, 50)
    inside.counts.clear()
    expect((await ask(world, world.accounts.slice(0, 1))).body.data).to.have.length(50)
    expect(inside.counts.postgres).to.have.length(2)
    expect(usageQueriesOf(inside.counts)).to.have.length(1)

    await world.change(
      `INSERT INTO grants (namespace_id, grant_id, account_id, metric_id, currency, amount, effective_at, accepted_at,
        created_at, updated_at)
      SELECT a.namespace_id, 'grant_' || md5(a.account_id || s.source), a.account_id,
        CASE WHEN length(s.source) > 3 THEN s.source END, CASE WHEN length(s.source) = 3 THEN s.source END,
        100, now(), now(), now(), now()
      FROM accounts AS a CROSS JOIN unnest($1::text[]) AS s(source)`,
      [[...world.metrics, 'usd', 'eur']],
    )
    const sources = [...world.metrics, 'eur', 'usd']
    await world.store(
      ...world.accounts.flatMap((accountId, i) =>
        sources.map((source, j) => ({ accountId, source, quantity: `${i}.${j + 10}`, occurredAt: now - j })),
      ),
    )
    inside.counts.clear()
    const { body } = await ask(world, world.accounts)
    expect(body.data).to.have.length(100 * 52)
    expect(inside.counts.postgres).to.have.length(2)
    expect(usageQueriesOf(inside.counts)).to.have.length(1)
    for (const [place, row] of body.data.entries()) {
      const [i, j] = [Math.floor(place / 52), place % 52]
      expect(row.account_id).to.equal(world.accounts[i])
      expect(row.metric_id ?? row.currency).to.equal(sources[j])
      expect(row.grant_total).to.equal('100')
      expect(row.usage_total).to.equal(`${i}.${j + 10}`.replace(/0$/, ''))
    }
  })

  it('ask ClickHouse as much through rollups for a hundred accounts as for one: less of whom it was asked before', async function () {
    const { inside, clickhouse: client } = running
    if (inside === undefined) return this.skip()
    const world = await makeStoredWorld(running, 101, 2)
    await world.store(
      ...world.accounts.flatMap((accountId, i) =>
        [0.2, 1, 20, 50].map((days) => ({
          accountId,
          source: world.metrics[i % 2] ?? '',
          quantity: '1.5',
          occurredAt: now - days * 86_400,
        })),
      ),
    )
    const epochs = rollupEpochRepository(client)
    await buildEpoch({ client, epochs, tables: rollupTables(client, 30) }, 3_600)
    await sleep(EPOCH_CACHED_MS)
    for (const accounts of [world.accounts.slice(0, 1), world.accounts.slice(1)])
      for (const [when, queries] of [
        ['for the first time', 2],
        ['again', 1],
      ] as const) {
        inside.counts.clear()
        const { body } = await ask(world, accounts)
        expect(usageQueriesOf(inside.counts), when).to.have.length(queries)
        const used = body.data.map(({ usage_total: total }) => total).filter((total) => total !== '0')
        expect(used, when).to.deep.equal(accounts.map(() => '6'))
      }
  })
})
