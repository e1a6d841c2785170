import { expect } from 'chai'
import { ApiClient } from '../../support/api-client.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'

interface Grant {
  id: string
  status: string
  amount: string
  archived_at: number | null
  updated_at: number
}
interface Page {
  data: Grant[]
  has_more: boolean
}

describe('grants over HTTP', function () {
  this.timeout(60_000)
  let tally: TallyUnderTest
  let api: ApiClient
  const now = Math.floor(Date.now() / 1_000)

  before(async () => {
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.key)
  })
  after(() => tally.end())

  const make = async (path: string) => (await api.create<{ id: string }>(path, { name: 'x' })).id
  const grant = (fields: object) =>
    api.create<Grant>('/v2/grants', { amount: '1', effective_at: now - 10, ...fields })
  const act = async (id: string, verb: string) => {
    const answer = await api.post<Grant>(`/v2/grants/${id}/${verb}`, undefined)
    expect(answer.status, answer.text).to.equal(200)
    expect((await api.get(`/v2/grants/${id}`)).body).to.deep.equal(answer.body)
    return answer.body
  }

  it('have one status, voided before archived before expired before scheduled', async () => {
    const account = await make('/v2/accounts')
    const times = {
      active: {},
      scheduled: { effective_at: now + 100_000 },
      expired: { expires_at: now - 5 },
    }
    for (const [status, fields] of Object.entries(times)) {
      const made = await grant({ account_id: account, currency: 'usd', ...fields })
      expect(made.status).to.equal(status)
      expect((await api.get(`/v2/grants/${made.id}`)).body).to.deep.equal(made)
      expect((await act(made.id, 'archive')).status).to.equal('archived')
      expect((await act(made.id, 'void')).status).to.equal('voided')
      const other = await grant({ account_id: account, currency: 'usd', ...fields })
      expect((await act(other.id, 'void')).status).to.equal('voided')
      const archived = await act(other.id, 'archive')
      expect(archived.status).to.equal('voided')
      expect(archived.archived_at).to.be.a('number')
    }
  })

  it('are listed by their status, in both orders, and every grant by exactly one', async () => {
    const account = await make('/v2/accounts')
    const times = [
      {},
      { effective_at: now + 100_000 },
      { expires_at: now - 5 },
      { expires_at: now + 100_000 },
    ]
    const made: string[] = []
    for (const verbs of [[], ['void'], ['archive'], ['archive', 'void']])
      for (const fields of times) {
        const { id } = await grant({ account_id: account, currency: 'usd', ...fields })
        for (const verb of verbs) await act(id, verb)
        made.push(id)
      }
    const list = async (query: string) => {
      const ids: string[] = []
      for (let hasMore = true; hasMore;) {
        const after = ids.length === 0 ? '' : `&starting_after=${ids.at(-1) ?? ''}`
        const { body } = await api.get<Page>(`/v2/grants?account_id=${account}&limit=3${after}${query}`)
        ids.push(...body.data.map(({ id }) => id))
        hasMore = body.has_more
      }
      return ids
    }
    const shown = (await api.get<Page>(`/v2/grants?account_id=${account}`)).body.data
    expect(shown.map(({ id }) => id)).to.deep.equal(made)
    for (const status of ['active', 'scheduled', 'voided', 'archived', 'expired']) {
      const expected = shown.filter((one) => one.status === status).map(({ id }) => id)
      expect(expected.length, status).to.be.greaterThan(0)
      expect(await list(`&status=${status}`), status).to.deep.equal(expected)
      expect(await list(`&status=${status}&order=newest`), status).to.deep.equal(expected.toReversed())
    }
    expect((await api.get('/v2/grants?status=new')).status).to.equal(400)
  })

  it('count no more once they are voided or archived, and doing it again changes nothing', async () => {
    const account = await make('/v2/accounts')
    const total = async () =>
      (await api.get<{ grant_total: string }>(`/v2/accounts/${account}/balance?currency=usd`)).body
        .grant_total
    const grants: Grant[] = []
    for (const amount of ['1', '10', '100'])
      grants.push(await grant({ account_id: account, currency: 'USD', amount }))
    const [one, ten] = grants as [Grant, Grant]
    expect(await total()).to.equal('111')
    const voided = await act(one.id, 'void')
    expect(await total()).to.equal('110')
    const archived = await act(ten.id, 'archive')
    expect(await total()).to.equal('100')
    expect(await act(one.id, 'void')).to.deep.equal(voided)
    expect(await act(ten.id, 'archive')).to.deep.equal(archived)
    expect(await total()).to.equal('100')
    expect((await api.get<Page>(`/v2/grants?account_id=${account}`)).body.data.length).to.equal(3)
  })

  it('are listed by account, metric and currency, and by two of them', async () => {
    const accounts = [await make('/v2/accounts'), await make('/v2/accounts')]
    const metrics = [await make('/v2/metrics'), await make('/v2/metrics')]
    const made: { id: string; account_id: string; metric_id?: string; currency?: string }[] = []
    for (const account_id of accounts)
      for (const source of [
        ...metrics.map((metric_id) => ({ metric_id })),
        { currency: 'chf' },
        { currency: 'nok' },
      ])
        for (let n = 0; n < 2; n++)
          made.push({ ...source, account_id, ...(await grant({ account_id, ...source })) })
    const expectList = async (filter: Record<string, string>) => {
      const ids: string[] = []
      for (let hasMore = true; hasMore;) {
        const after = ids.length === 0 ? {} : { starting_after: ids.at(-1) ?? '' }
        const query = new URLSearchParams({ limit: '1', ...filter, ...after })
        const { body } = await api.get<Page>(`/v2/grants?${query.toString()}`)
        ids.push(...body.data.map(({ id }) => id))
        hasMore = body.has_more
      }
      const expected = made.filter((item) =>
        Object.entries(filter).every(([field, value]) => item[field as 'id'] === value.toLowerCase()),
      )
      expect(expected.length).to.be.greaterThan(0)
      expect(ids).to.deep.equal(expected.map(({ id }) => id))
    }
    for (const account_id of accounts) {
      await expectList({ account_id })
      await expectList({ account_id, currency: 'NOK' })
      for (const metric_id of metrics) await expectList({ account_id, metric_id })
    }
    for (const metric_id of metrics) await expectList({ metric_id })
    await expectList({ currency: 'CHF' })
  })

  it('are asked for by a metric or a currency, not by both', async () => {
    const answer = await api.get(`/v2/grants?currency=usd&metric_id=metric_${'0'.repeat(32)}`)
    expect([answer.status, answer.text]).to.deep.equal([
      400,
      'metric_id, currency: at most one of them can be given',
    ])
    const unknown = await api.get<Page>(`/v2/grants?metric_id=metric_${'0'.repeat(32)}`)
    expect(unknown.body).to.deep.equal({ data: [], has_more: false })
  })

  it('are 404 when they do not exist, and 400 when that is no id', async () => {
    const unknown = `/v2/grants/grant_${'0'.repeat(32)}`
    expect((await api.get(unknown)).text).to.equal('not found')
    for (const verb of ['void', 'archive']) {
      expect((await api.post(`${unknown}/${verb}`, undefined)).text).to.equal('not found')
      expect((await api.post(`/v2/grants/x/${verb}`, undefined)).status).to.equal(400)
    }
    expect((await api.post(`${unknown}/unarchive`, undefined)).status).to.equal(404)
  })
})
