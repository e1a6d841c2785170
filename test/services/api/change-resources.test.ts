import { expect } from 'chai'
import { listOperations, readOpenApiDocument } from '../../../shared/http/openapi-document.ts'
import { needsBody } from '../../../shared/http/request-schema.ts'
import { ApiClient } from '../../support/api-client.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'
import { until } from '../../support/until.ts'

interface Resource {
  id: string
  name: string
  created_at: number
  updated_at: number
  archived_at?: number | null
}
interface Account extends Resource {
  external_id?: string
  service_customer_id?: string
  description?: string
}

const UUID = '3d813cbb-47fb-42ba-91df-831e1593ac29'

describe('changes of resources over HTTP', function () {
  this.timeout(60_000)
  let tally: TallyUnderTest
  let api: ApiClient

  before(async () => {
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.key)
  })
  after(() => tally.end())

  /** Waits for the next second, so that a changed time is visible. */
  const nextSecond = () => {
    const second = Math.floor(Date.now() / 1_000)
    return until(() => Promise.resolve(Math.floor(Date.now() / 1_000) > second))
  }

  const kinds = [
    {
      path: '/v2/accounts',
      full: { name: 'n', description: 'd', external_id: 'a-1' },
      optional: ['description', 'external_id'],
    },
    {
      path: '/v2/customers',
      full: {
        name: 'n',
        external_id: 'c-1',
        payments_customer_id: 'cus_1',
        accounting_customer_id: UUID,
      },
      optional: ['external_id', 'payments_customer_id', 'accounting_customer_id'],
    },
    {
      path: '/v2/metrics',
      full: {
        name: 'n',
        description: 'd',
        measurement_units: 'u',
        external_id: 'm-1',
        event_type: 'model.called',
        event_quantity: 'tokens',
      },
      optional: ['external_id', 'event_type', 'event_quantity'],
    },
    {
      path: '/v2/products',
      full: { name: 'n', description: 'd', external_id: 'p-1' },
      optional: ['description', 'external_id'],
    },
  ]

  for (const { path, full, optional } of kinds)
    describe(`PATCH ${path}/{id}`, () => {
      it('changes what is named and nothing else, field by field', async () => {
        const made = await api.create<Resource>(path, full)
        let expected: object = made
        for (const [field, value] of Object.entries(full)) {
          const changed = field === 'accounting_customer_id' ? UUID.replace('3d', '4e') : `${value}-2`
          const answer = await api.patch<Resource>(`${path}/${made.id}`, { [field]: changed })
          expect(answer.status, answer.text).to.equal(200)
          expected = { ...expected, [field]: changed, updated_at: answer.body.updated_at }
          expect(answer.body).to.deep.equal(expected)
          expect((await api.get(`${path}/${made.id}`)).body).to.deep.equal(expected)
        }
      })

      it('leaves everything as it is when the body is empty, the time included', async () => {
        const made = await api.create<Resource>(path, { name: 'n' })
        await nextSecond()
        const same = await api.patch<Resource>(`${path}/${made.id}`, {})
        expect(same.status).to.equal(200)
        expect(same.body).to.deep.equal(made)
        const changed = await api.patch<Resource>(`${path}/${made.id}`, { name: 'm' })
        expect(changed.body.updated_at).to.be.greaterThan(made.updated_at)
        expect(changed.body.created_at).to.equal(made.created_at)
      })

      it('clears optional fields with null, and refuses it for others', async () => {
        const unique = Object.fromEntries(Object.entries(full).filter(([field]) => field !== 'external_id'))
        const made = await api.create<Resource>(path, { ...unique, external_id: undefined })
        for (const field of Object.keys(full)) {
          const answer = await api.patch<object>(`${path}/${made.id}`, { [field]: null })
          expect(answer.status, field).to.equal(optional.includes(field) ? 200 : 400)
          if (optional.includes(field)) expect(answer.body).not.to.have.property(field)
          else expect(answer.text).to.match(new RegExp(`^${field}: `))
        }
      })

      it('refuses what it does not know, with the field’s name, and changes nothing', async () => {
        const made = await api.create<Resource>(path, { name: 'n' })
        const cases: [unknown, RegExp][] = [
          [{ name: 'm', colour: 'red' }, /^colour: is not a field/],
          [{ name: 'm', id: made.id }, /^id: is not a field/],
          [{ name: 'm', archived_at: 1 }, /^archived_at: is not a field/],
          [{ name: 5 }, /^name: /],
          [[], /object/],
          ['x', /object/],
          [null, /object/],
        ]
        for (const [body, text] of cases) {
          const answer = await api.patch(`${path}/${made.id}`, body)
          expect(answer.status, answer.text).to.equal(400)
          expect(answer.text).to.match(text)
        }
        expect((await api.patch(`${path}/${made.id}`, undefined)).status).to.be.oneOf([400, 415])
        const xml = { raw: '<a/>', headers: { 'content-type': 'text/xml' } }
        expect((await api.patch(`${path}/${made.id}`, undefined, xml)).status).to.equal(415)
        expect((await api.get(`${path}/${made.id}`)).body).to.deep.equal(made)
      })

      it('is 404 for what does not exist, and 400 for what is no id', async () => {
        const unknown = (await api.create<Resource>(path, { name: 'n' })).id.replace(
          /[0-9a-f]{12}$/,
          '0'.repeat(12),
        )
        for (const body of [{}, { name: 'm' }]) {
          const answer = await api.patch(`${path}/${unknown}`, body)
          expect([answer.status, answer.text]).to.deep.equal([404, 'not found'])
        }
        expect((await api.patch(`${path}/x`, {})).status).to.equal(400)
      })
    })

  for (const path of ['/v2/accounts', '/v2/customers', '/v2/metrics', '/v2/products'])
    it(`refuses an external id that another of ${path} has, and takes its own`, async () => {
      const [first, second] = [`${path} first`, `${path} second`]
      const one = await api.create<Resource>(path, { name: 'one', external_id: first })
      const two = await api.create<Resource>(path, { name: 'two', external_id: second })
      const answer = await api.patch(`${path}/${two.id}`, { name: 'three', external_id: first })
      expect(answer.status).to.equal(422)
      expect(answer.text).to.match(/^external_id: /)
      expect((await api.get<Resource>(`${path}/${two.id}`)).body.name).to.equal('two')
      expect((await api.patch(`${path}/${one.id}`, { external_id: first })).status).to.equal(200)
      expect((await api.patch(`${path}/${one.id}`, { external_id: null })).status).to.equal(200)
      expect((await api.patch(`${path}/${two.id}`, { external_id: first })).status).to.equal(200)
    })

  describe('an account', () => {
    it('is found by the external id it has now', async () => {
      const { id } = await api.create<Account>('/v2/accounts', { name: 'x', external_id: 'before' })
      await api.patch(`/v2/accounts/${id}`, { external_id: 'after' })
      expect((await api.get('/v2/accounts/external-id/before')).status).to.equal(404)
      expect((await api.get<Account>('/v2/accounts/external-id/after')).body.id).to.equal(id)
    })

    it('is sorted by the customer it has now, and by the name that customer has now', async () => {
      const customers: Resource[] = []
      for (const name of ['beta', 'Delta'])
        customers.push(await api.create<Resource>('/v2/customers', { name: `sorted ${name}` }))
      const [beta, delta] = customers as [Resource, Resource]
      const names = ['a', 'b', 'c']
      const ids: Record<string, string> = {}
      for (const name of names)
        ids[name] = (
          await api.create<Account>('/v2/accounts', {
            name: `sorted ${name}`,
            ...(name === 'b' ? {} : { service_customer_id: name === 'a' ? beta.id : delta.id }),
          })
        ).id
      const order = async () => {
        const { body } = await api.get<{ data: Account[] }>('/v2/accounts?sort=customer_name')
        return body.data
          .map(({ id }) => names.find((name) => ids[name] === id))
          .filter((name) => name !== undefined)
          .join('')
      }
      const change = async (path: string, body: object) => {
        const answer = await api.patch(path, body)
        expect(answer.status, answer.text).to.equal(200)
        return order()
      }
      expect(await order()).to.equal('acb')
      expect(await change(`/v2/accounts/${ids['b'] ?? ''}`, { service_customer_id: beta.id })).to.equal('abc')
      expect(await change(`/v2/customers/${delta.id}`, { name: 'SORTED ALPHA' })).to.equal('cab')
      expect(await change(`/v2/customers/${beta.id}`, { name: 'Sorted alpha' })).to.equal('abc')
      expect(await change(`/v2/accounts/${ids['a'] ?? ''}`, { service_customer_id: null })).to.equal('bca')
      expect(await change(`/v2/accounts/${ids['b'] ?? ''}`, { name: 'SORTED d' })).to.equal('cba')
      expect(await change(`/v2/customers/${delta.id}`, { external_id: 'sorted' })).to.equal('cba')
    })

    it('cannot be given to a customer that does not exist', async () => {
      const { id } = await api.create<Account>('/v2/accounts', { name: 'x' })
      const answer = await api.patch(`/v2/accounts/${id}`, { name: 'y', service_customer_id: UUID })
      expect(answer.status).to.equal(422)
      expect(answer.text).to.match(/^service_customer_id: /)
      expect((await api.get<Account>(`/v2/accounts/${id}`)).body.name).to.equal('x')
      expect((await api.patch(`/v2/accounts/${id}`, { service_customer_id: 'nobody' })).status).to.equal(400)
      const unknown = `/v2/accounts/account_${'0'.repeat(32)}`
      expect((await api.patch(unknown, { service_customer_id: UUID })).status).to.equal(404)
    })
  })

  for (const path of ['/v2/accounts', '/v2/metrics', '/v2/products'])
    describe(`${path}/{id}/archive and /unarchive`, () => {
      it('set a time once, and take it away', async () => {
        const made = await api.create<Resource>(path, { name: 'x' })
        const act = async (verb: string) => {
          const answer = await api.post<Resource>(`${path}/${made.id}/${verb}`, undefined)
          expect(answer.status, answer.text).to.equal(200)
          return answer.body
        }
        expect(await act('unarchive')).to.deep.equal(made)
        const archived = await act('archive')
        expect(archived.archived_at).to.be.a('number').that.is.at.least(made.created_at)
        await nextSecond()
        expect(await act('archive')).to.deep.equal(archived)
        expect((await api.get(`${path}/${made.id}`)).body).to.deep.equal(archived)
        const back = await act('unarchive')
        expect(back.archived_at).to.equal(null)
        expect(back.updated_at).to.be.greaterThan(archived.updated_at)
        expect((await act('archive')).archived_at).to.be.greaterThan(archived.archived_at ?? 0)
      })

      it('take no fields, and a body or none', async () => {
        const { id } = await api.create<Resource>(path, { name: 'x' })
        const target = `${path}/${id}/archive`
        expect((await api.post(target, {})).status).to.equal(200)
        const headers = { 'content-type': 'application/json' }
        expect((await api.post(target, undefined, { headers })).status).to.equal(200)
        const answer = await api.post(target, { archived_at: 1 })
        expect([answer.status, answer.text]).to.deep.equal([
          400,
          'archived_at: is not a field of this request',
        ])
      })

      it('are 404 for what does not exist', async () => {
        const unknown = (await api.create<Resource>(path, { name: 'n' })).id.replace(
          /[0-9a-f]{12}$/,
          '0'.repeat(12),
        )
        for (const verb of ['archive', 'unarchive'])
          expect((await api.post(`${path}/${unknown}/${verb}`, undefined)).text).to.equal('not found')
      })
    })

  it('keeps what is archived in use: usage and credit are taken, names change, lists hold it', async () => {
    const { id } = await api.create<Account>('/v2/accounts', { name: 'x' })
    const metric = await api.create<Resource>('/v2/metrics', { name: 'x' })
    await api.create(`/v2/accounts/${id}/archive`, undefined)
    await api.create(`/v2/metrics/${metric.id}/archive`, undefined)
    const source = { account_id: id, metric_id: metric.id }
    await api.create('/v2/events', { ...source, quantity: '1' })
    await api.create('/v2/grants', { ...source, amount: '1', effective_at: 0 })
    expect((await api.patch(`/v2/accounts/${id}`, { name: 'y' })).status).to.equal(200)
    expect((await api.get<{ data: Account[] }>('/v2/accounts?limit=1')).body.data[0]?.id).to.equal(id)
  })

  it('says that a body is missing, wherever one is required', async () => {
    const document = readOpenApiDocument()
    const operations = listOperations(document).filter((operation) => needsBody(document, operation))
    expect(operations.map(({ operationId }) => operationId)).to.include.members([
      'updateAccount',
      'rotateApiKey',
    ])
    const headers = { 'content-type': 'application/json' }
    for (const { method, path } of operations.filter(
      (operation) => !operation.path.startsWith('/v2/test/'),
    )) {
      const target = path.replaceAll(/\{(\w+)_id\}/g, (_, kind: string) =>
        ['api_key', 'customer', 'contract'].includes(kind) ? UUID : `${kind}_${'0'.repeat(32)}`,
      )
      const answer = await api.request(method.toUpperCase(), target, undefined, { headers })
      expect([answer.status, answer.text], `${method} ${path}`).to.deep.equal([400, 'body: is required'])
    }
  })

  it('finds a customer by its external id in the list', async () => {
    const made = await api.create<Resource>('/v2/customers', { name: 'x', external_id: 'crm:47/11 ü&' })
    await api.create<Resource>('/v2/customers', { name: 'x', external_id: 'crm:47/12 ü&' })
    const find = (text: string) =>
      api.get<{ data: Resource[]; has_more: boolean }>(`/v2/customers?external_id=${text}`)
    for (const text of [encodeURIComponent('crm:47/11 ü&'), 'crm:47/11%20ü%26'])
      expect((await find(text)).body).to.deep.equal({ data: [made], has_more: false })
    expect((await find('crm:47')).body).to.deep.equal({ data: [], has_more: false })
    for (const text of ['', '%00', 'x'.repeat(257)]) expect((await find(text)).status, text).to.equal(400)
  })
})
