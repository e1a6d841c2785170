import { expect } from 'chai'
import pg from 'pg'
import { ApiClient } from '../../support/api-client.ts'
import { startTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'
import { until } from '../../support/until.ts'
import { makeWorld } from '../../support/usage-world.ts'
import { ResetLoad } from './reset-load.ts'

describe('the reset of a test company', function () {
  this.timeout(180_000)
  let tally: TallyUnderTest
  let api: ApiClient

  before(async () => {
    // Why a separate Tally: its deadline is short, and the test holds worlds and locks for longer than the deadline.
    tally = await startTallyUnderTest({ REQUEST_TIMEOUT_MS: '6000', DATABASE_STATEMENT_TIMEOUT_MS: '20000' })
    api = new ApiClient(tally.url, tally.testKey)
  })
  after(() => tally.end())

  it('leaves nothing but the keys, and everything can be used again at once', async () => {
    const build = async () => {
      const key = (name: string) => ({ headers: { 'Idempotency-Key': name } })
      await api.create('/v2/customers', { name: 'c', external_id: 'c-1' }, key('customer'))
      const { id: account } = await api.create<{ id: string }>(
        '/v2/accounts',
        { name: 'a', external_id: 'a-1' },
        key('account'),
      )
      const event = {
        account_id: account,
        currency: 'usd',
        quantity: '5',
        occurred_at: Math.floor(Date.now() / 1_000),
        idempotency_key: 'e-1',
      }
      expect((await api.post('/v2/events', event, key('event'))).status).to.equal(202)
      await api.create('/v2/grants', { account_id: account, currency: 'usd', amount: '9', effective_at: 0 })
      await api.create('/v2/test/clock/advance', { seconds: 86_400 }, key('advance'))
      await api.create('/v2/test/drain', {})
      const { body } = await api.get<object>(`/v2/accounts/${account}/balance?currency=usd`)
      expect(body).to.include({ grant_total: '9', usage_total: '5' })
      return account
    }
    const first = await build()
    const startedAt = Math.floor(Date.now() / 1_000)
    const { reset_at: resetAt } = await api.create<{ reset_at: number }>('/v2/test/reset', undefined)
    expect(resetAt).to.be.within(startedAt - 1, startedAt + 30)
    expect((await api.get(`/v2/accounts/${first}`)).status).to.equal(404)
    const { body: clock } = await api.get<{ now: number; real_now: number }>('/v2/test/clock')
    expect(clock.now).to.equal(clock.real_now)
    const late = await api.post('/v2/events', { account_id: first, currency: 'usd', quantity: '1' })
    expect([late.status, late.text]).to.deep.equal([422, 'account_id: there is no such account'])
    await build()
  })

  it('keeps its promises under load', async () => {
    const urls = (path: string) => [`http://127.0.0.1:${tally.portOf(path)}`]
    const load = new ResetLoad({
      key: tally.testKey,
      gateways: urls('/v2/events'),
      apis: urls('/v2/accounts'),
    })
    await load.run(8, 700)
    expect(load.broken).to.deep.equal([])
    expect(load.acknowledged).to.be.above(1_000)
  })

  it('does nothing to other companies', async () => {
    const live = new ApiClient(tally.url, tally.key)
    const world = await makeWorld(live)
    await world.report({ metric_id: world.tokens, quantity: '3' })
    await api.create('/v2/test/reset', {})
    await world.counted(1)
    expect((await world.usage())[world.tokens]).to.equal('3')
    const { rows } = await query(
      "SELECT count(*)::integer AS n FROM namespaces n JOIN companies c USING (company_id) WHERE c.mode = 'live' AND n.retired_at IS NOT NULL",
    )
    expect(rows).to.deep.equal([{ n: 0 }])
  })

  it('says 503 and does nothing when a report does not end, and waits for one that does', async () => {
    const world = await makeWorld(api)
    const { rows } = await query<{ id: string }>(
      "SELECT namespace_id AS id FROM namespaces n JOIN companies c USING (company_id) WHERE c.name = 'sandbox' AND n.retired_at IS NULL",
    )
    const namespaceId = rows[0]?.id
    // Another request with the key waits for the end of this transaction.
    const holder = new pg.Client({ connectionString: tally.postgres.superuserUrl })
    await holder.connect()
    try {
      const hold = async (key: string) => {
        await holder.query('BEGIN')
        await holder.query('SET LOCAL search_path = tally')
        await holder.query(
          "INSERT INTO idempotency_keys (namespace_id, route, key, first_used_at, form) VALUES ($1, 'POST /v2/events', $2, now(), 2)",
          [namespaceId, key],
        )
      }
      /** Whether the report waits for that transaction, which means that it is in the world. */
      const isHeld = () =>
        until(async () => {
          const { rows } = await query<{ n: number }>(
            "SELECT count(*)::integer AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT INTO idempotency_keys%' AND datname = current_database()",
          )
          return (rows[0]?.n ?? 0) > 0
        })
      await hold('one')
      const late = world.report({ currency: 'usd', quantity: '1' }, { 'Idempotency-Key': 'one' })
      await isHeld()
      const refused = await api.post('/v2/test/reset', {})
      expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([503, '1'])
      expect(refused.text).to.match(
        /another request of this company that writes does not end: nothing was changed/,
      )
      expect((await api.get(`/v2/accounts/${world.account}`)).status).to.equal(200)
      await holder.query('ROLLBACK')
      expect((await late).status).to.equal(202)
      await world.counted(1)

      await hold('two')
      const counted = world.report({ currency: 'usd', quantity: '1' }, { 'Idempotency-Key': 'two' })
      await isHeld()
      const order: string[] = []
      const ended = [
        counted.then(({ status }) => order.push(`report ${status}`)),
        api.post('/v2/test/reset', {}).then(({ status }) => order.push(`reset ${status}`)),
      ]
      await new Promise((resolve) => setTimeout(resolve, 500))
      await holder.query('ROLLBACK')
      await Promise.all(ended)
      expect(order).to.deep.equal(['report 202', 'reset 200'])
    } finally {
      await holder.end()
    }
  })

  async function query<Row extends object>(text: string) {
    const db = new pg.Client({ connectionString: tally.postgres.superuserUrl })
    await db.connect()
    try {
      await db.query('SET search_path = tally')
      return await db.query<Row>(text)
    } finally {
      await db.end()
    }
  }
})
