import { expect } from 'chai'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { ApiClient } from '../../support/api-client.ts'
import { namespaceOf, openPoolByHand } from '../../support/by-hand.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'

interface Resource {
  id: string
  name: string
  description?: string
  external_id?: string
  payments_customer_id?: string
  measurement_units?: string
  archived_at?: number | null
}

const ROUNDS = 15

describe('changes at the same time', function () {
  this.timeout(120_000)
  let tally: TallyUnderTest
  let api: ApiClient
  let pool: Pool

  before(async () => {
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.key)
    pool = openPoolByHand(tally.postgres.serviceUrl)
  })
  after(async () => {
    await pool.end()
    await tally.end()
  })

  const make = async (path: string, body: object = {}) =>
    (await api.create<{ id: string }>(path, { name: 'x', ...body })).id
  const statusesOf = async (requests: Promise<{ status: number }>[]) =>
    (await Promise.all(requests)).map(({ status }) => status).sort()
  const oneOf = (count: number, loser: number) => [200, ...Array<number>(count - 1).fill(loser)]

  it('both hold when they name different fields', async () => {
    for (const [path, one, two] of [
      ['/v2/accounts', { name: 'new' }, { description: 'new' }],
      ['/v2/customers', { name: 'new' }, { payments_customer_id: 'new' }],
      ['/v2/metrics', { description: 'new' }, { measurement_units: 'new' }],
      ['/v2/products', { name: 'new' }, { description: 'new' }],
    ] as const)
      for (let round = 0; round < ROUNDS; round++) {
        const target = `${path}/${await make(path)}`
        expect(await statusesOf([api.patch(target, one), api.patch(target, two)])).to.deep.equal([200, 200])
        expect((await api.get(target)).body).to.include({ ...one, ...two })
      }
  })

  it('leave an archived resource archived, and its new name', async () => {
    for (const path of ['/v2/accounts', '/v2/metrics', '/v2/products'])
      for (let round = 0; round < ROUNDS; round++) {
        const target = `${path}/${await make(path)}`
        const requests = [
          api.patch(target, { name: 'new' }),
          api.post(`${target}/archive`, undefined),
          api.patch(target, { description: 'new' }),
          api.post(`${target}/archive`, undefined),
        ]
        expect(await statusesOf(requests)).to.deep.equal([200, 200, 200, 200])
        const { body } = await api.get<Resource>(target)
        expect(body).to.include({ name: 'new', description: 'new' })
        expect(body.archived_at).to.be.a('number')
      }
  })

  it('void and archive a grant once each', async () => {
    const account_id = await make('/v2/accounts')
    for (let round = 0; round < ROUNDS; round++) {
      const id = (
        await api.create<{ id: string }>('/v2/grants', {
          account_id,
          currency: 'usd',
          amount: '1',
          effective_at: 0,
        })
      ).id
      const act = (verb: string) => api.post<Resource>(`/v2/grants/${id}/${verb}`, undefined)
      const answers = await Promise.all([act('void'), act('archive'), act('archive'), act('void')])
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200])
      const times = answers.map(({ body }) => body.archived_at).filter((at) => at !== null)
      expect(new Set(times).size).to.equal(1)
      expect((await api.get(`/v2/grants/${id}`)).body).to.include({ status: 'voided', archived_at: times[0] })
    }
  })

  for (const path of ['/v2/accounts', '/v2/customers', '/v2/products'])
    describe(`for an external id of ${path}`, () => {
      it('have one winner', async () => {
        for (let round = 0; round < 5; round++) {
          const created = Array.from({ length: 6 }, (_, n) =>
            api.post(path, { name: String(n), external_id: `made ${round}` }),
          )
          expect(await statusesOf(created)).to.deep.equal(oneOf(6, 409))
          const ids: string[] = []
          for (let n = 0; n < 6; n++) ids.push(await make(path))
          const patched = ids.map((id) => api.patch(`${path}/${id}`, { external_id: `changed ${round}` }))
          expect(await statusesOf(patched)).to.deep.equal(oneOf(6, 422))
        }
      })

      it('are told that it is taken when two want each other’s', async () => {
        for (let round = 0; round < 5; round++) {
          const [one, two] = [`one ${round}`, `two ${round}`]
          const first = await make(path, { external_id: one })
          const second = await make(path, { external_id: two })
          const statuses = await statusesOf([
            api.patch(`${path}/${first}`, { external_id: two }),
            api.patch(`${path}/${second}`, { external_id: one }),
          ])
          expect(statuses).to.deep.equal([422, 422])
          expect((await api.get(`${path}/${first}`)).body).to.include({ external_id: one })
        }
      })
    })

  it('make one refill configuration, and keep its target above its minimum', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const pair = { account_id: await make('/v2/accounts'), metric_id: await make('/v2/metrics') }
      const body = { ...pair, minimum_balance: '10', target_balance: '20' }
      const created = Array.from({ length: 4 }, () => api.post('/v2/refill-configurations', body))
      expect(await statusesOf(created)).to.deep.equal(oneOf(4, 409))
      const target = `/v2/refill-configurations/${pair.account_id}/${pair.metric_id}`
      const changed = [
        api.patch(target, { minimum_balance: '16' }),
        api.patch(target, { target_balance: '15' }),
      ]
      expect(await statusesOf(changed)).to.deep.equal([200, 422])
    }
  })

  it('sort every account by the name its customer has in the end', async () => {
    const customers = [await make('/v2/customers'), await make('/v2/customers')]
    const accounts: string[] = []
    for (let n = 0; n < 10; n++) accounts.push(await make('/v2/accounts'))
    const pick = <T>(list: readonly T[], n: number): T => list[n % list.length] as T
    const requests = Array.from({ length: 200 }, (_, n) => {
      const customer = pick(customers, Math.floor(n / 7))
      if (n % 5 === 0) return api.patch(`/v2/customers/${customer}`, { name: `name ${n}` })
      if (n % 5 === 1) return api.post('/v2/accounts', { name: 'x', service_customer_id: customer })
      const service_customer_id = n % 5 === 2 ? null : customer
      return api.patch(`/v2/accounts/${pick(accounts, n)}`, { service_customer_id, name: `n ${n}` })
    })
    expect(new Set(await statusesOf(requests))).to.deep.equal(new Set([200]))
    const { rows } = await inNamespace(pool, await namespaceOf(pool, tally.company), (db) =>
      db.query<{ wrong: string; right: string }>(`
        SELECT count(*) FILTER (WHERE customer_sort_name <> coalesce('0' || c.sort_name, '1')) AS wrong,
          count(*) FILTER (WHERE c.sort_name LIKE 'name %') AS right
        FROM accounts a LEFT JOIN customers c USING (namespace_id, customer_id)`),
    )
    expect(Number(rows[0]?.wrong)).to.equal(0)
    expect(Number(rows[0]?.right)).to.be.at.least(40)
  })
})
