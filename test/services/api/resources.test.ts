import { expect } from 'chai'
import { ApiClient } from '../../support/api-client.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'

interface Account {
  id: string
  name: string
  external_id?: string
  service_customer_id?: string
  archived_at: number | null
}
interface Named {
  id: string
  name: string
}
interface Page<T> {
  data: T[]
  has_more: boolean
}

describe('resources over HTTP', function () {
  this.timeout(60_000)
  let tally: TallyUnderTest
  let api: ApiClient
  /** The caller of another company. */
  let other: ApiClient

  before(async () => {
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.key)
    other = new ApiClient(tally.url, tally.testKey)
  })
  after(() => tally.end())

  describe('health', () => {
    it('is told without a key on all four paths', async () => {
      const nobody = new ApiClient(tally.url, undefined)
      for (const path of ['/v2/health', '/v2/health/', '/v2', '/v2/']) {
        const answer = await nobody.get(path)
        expect(answer.status, path).to.equal(200)
        expect(answer.headers.get('content-type')).to.match(/^text\/plain/)
      }
    })
  })

  describe('keys', () => {
    it('are needed: 401 with the same text for every kind of wrong key', async () => {
      const wrong = `${tally.key.slice(0, -1)}${tally.key.endsWith('a') ? 'b' : 'a'}`
      for (const key of [undefined, 'x', wrong, tally.key.replace('live', 'test')]) {
        const answer = await new ApiClient(tally.url, key).get('/v2/accounts')
        expect(answer.status).to.equal(401)
        expect(answer.text).to.equal('Invalid API key')
      }
    })

    it('are asked for before the body is looked at', async () => {
      const answer = await new ApiClient(tally.url, undefined).post('/v2/accounts', undefined, { raw: '{' })
      expect(answer.status).to.equal(401)
    })
  })

  describe('customers', () => {
    it('are created and found again', async () => {
      const body = {
        name: 'Acme 😀',
        external_id: 'crm-1',
        payments_customer_id: 'cus_1',
        accounting_customer_id: '3d813cbb-47fb-42ba-91df-831e1593ac29',
      }
      const made = await api.create<Named>('/v2/customers', body)
      expect(made).to.include(body)
      expect((await api.get(`/v2/customers/${made.id}`)).body).to.deep.equal(made)
      expect((await other.get(`/v2/customers/${made.id}`)).status).to.equal(404)
    })

    it('leave out what they do not have', async () => {
      const made = await api.create<object>('/v2/customers', { name: 'Plain' })
      expect(Object.keys(made).sort()).to.deep.equal(['created_at', 'id', 'name', 'updated_at'])
    })

    it('have an external id each', async () => {
      await api.create('/v2/customers', { name: 'A', external_id: 'taken' })
      expect((await api.post('/v2/customers', { name: 'B', external_id: 'taken' })).status).to.equal(409)
      expect((await other.post('/v2/customers', { name: 'B', external_id: 'taken' })).status).to.equal(200)
    })
  })

  describe('accounts', () => {
    it('are created and found by id and external id, in their own namespace', async () => {
      const customer = await api.create<Named>('/v2/customers', { name: 'Owner' })
      const body = {
        name: 'Main',
        description: 'd',
        external_id: 'a/b c?ü',
        service_customer_id: customer.id,
      }
      const made = await api.create<Account>('/v2/accounts', body)
      expect(made).to.include({ ...body, archived_at: null })
      expect((await api.get(`/v2/accounts/${made.id}`)).body).to.deep.equal(made)
      const byExternalId = `/v2/accounts/external-id/${encodeURIComponent(body.external_id)}`
      expect((await api.get(byExternalId)).body).to.deep.equal(made)
      expect((await other.get(`/v2/accounts/${made.id}`)).text).to.equal('not found')
      expect((await other.get(byExternalId)).status).to.equal(404)
    })

    it('cannot belong to a customer of another namespace', async () => {
      const theirs = await other.create<Named>('/v2/customers', { name: 'Theirs' })
      const answer = await api.post('/v2/accounts', { name: 'x', service_customer_id: theirs.id })
      expect(answer.status).to.equal(422)
      expect(answer.text).to.contain('service_customer_id')
    })

    it('count lengths in characters, not in bytes', async () => {
      expect((await api.post('/v2/accounts', { name: '😀'.repeat(256) })).status).to.equal(200)
      const answer = await api.post('/v2/accounts', { name: '😀'.repeat(257) })
      expect(answer.status).to.equal(400)
      expect(answer.text).to.match(/^name: /)
    })

    it('are refused with the field’s name when the body is wrong', async () => {
      const cases: [unknown, RegExp][] = [
        [{}, /^name: is required/],
        [{ name: 5 }, /^name: must be text such as "Acme production"$/],
        [{ name: '' }, /^name: must not be empty$/],
        [{ name: 'x', colour: 'red' }, /^colour: is not a field/],
        [{ name: 'x', external_id: '' }, /^external_id: /],
        [
          { name: 'x', service_customer_id: 'nobody' },
          /^service_customer_id: "nobody" is not a UUID such as 3d/,
        ],
        [{ name: 'x\0' }, /^name: holds a NUL/],
        [[], /^body: must be an object$/],
      ]
      for (const [body, text] of cases) {
        const answer = await api.post('/v2/accounts', body)
        expect(answer.status, answer.text).to.equal(400)
        expect(answer.text).to.match(text)
      }
      expect((await api.post('/v2/accounts', undefined, { raw: '{"name":"\\ud800"}' })).text).to.match(
        /surrogate/,
      )
      expect((await api.post('/v2/accounts', undefined, { raw: '{"name":' })).status).to.equal(400)
      expect(
        (await api.post('/v2/accounts', undefined, { raw: new Uint8Array([0x22, 0xff, 0x22]) })).text,
      ).to.match(/UTF-8/)
      expect((await api.post('/v2/accounts', undefined, {})).status).to.be.oneOf([400, 415])
      const xml = { raw: '<a/>', headers: { 'content-type': 'text/xml' } }
      expect((await api.post('/v2/accounts', undefined, xml)).status).to.equal(415)
    })

    it('are listed newest first, page by page', async () => {
      for (let n = 0; n < 7; n++) await api.create('/v2/accounts', { name: `page ${n}` })
      const names: string[] = []
      let cursor = ''
      for (;;) {
        const { body } = await api.get<Page<Account>>(`/v2/accounts?limit=3${cursor}`)
        names.push(...body.data.map(({ name }) => name))
        expect(body.data.length).to.be.at.most(3)
        if (!body.has_more) break
        cursor = `&starting_after=${body.data.at(-1)?.id ?? ''}`
      }
      expect(names.slice(0, 7)).to.deep.equal([6, 5, 4, 3, 2, 1, 0].map((n) => `page ${n}`))
      expect(new Set(names).size).to.equal(names.length)
    })

    it('are listed by customer name, those without a customer last', async () => {
      const created: string[] = []
      for (const [customer, account] of [
        ['zebra', 'b'],
        ['Alpha', 'z'],
        ['alpha', 'A'],
        [undefined, 'no customer'],
        ['Ärger', 'x'],
      ] as const) {
        const owner =
          customer === undefined ? undefined : await other.create<Named>('/v2/customers', { name: customer })
        const account1 = await other.create<Account>('/v2/accounts', {
          name: account,
          ...(owner === undefined ? {} : { service_customer_id: owner.id }),
        })
        created.push(account1.id)
      }
      const seen: string[] = []
      let cursor = ''
      for (;;) {
        const { body } = await other.get<Page<Account>>(`/v2/accounts?sort=customer_name&limit=2${cursor}`)
        seen.push(...body.data.filter(({ id }) => created.includes(id)).map(({ name }) => name))
        if (!body.has_more) break
        cursor = `&starting_after=${body.data.at(-1)?.id ?? ''}`
      }
      expect(seen).to.deep.equal(['A', 'z', 'b', 'x', 'no customer'])
    })

    it('refuse pages that make no sense', async () => {
      const unknown = `account_${'0'.repeat(32)}`
      for (const query of [
        'limit=0',
        'limit=101',
        'limit=x',
        'limit=',
        'sort=name',
        'starting_after=x',
        `starting_after=${unknown}`,
        'colour=red',
        'limit=1&limit=2',
      ]) {
        const answer = await api.get(`/v2/accounts?${query}`)
        expect(answer.status, query).to.equal(400)
        expect(answer.text).to.match(/limit|sort|starting_after|colour/)
        if (query === 'limit=x') expect(answer.text).to.equal('limit: must be a whole number')
        if (query === 'starting_after=x')
          expect(answer.text).to.match(/^starting_after: "x" is not an account id such as account_/)
      }
    })
  })

  describe('metrics', () => {
    it('are found by the external id they have now, in their own namespace', async () => {
      const made = await api.create<{ id: string }>('/v2/metrics', { name: 'm', external_id: 'm/1 ü' })
      const target = `/v2/metrics/external-id/${encodeURIComponent('m/1 ü')}`
      expect((await api.get(target)).body)
        .to.deep.equal(made)
        .and.to.include({ external_id: 'm/1 ü' })
      expect((await other.get(target)).status).to.equal(404)
      const taken = await api.post('/v2/metrics', { name: 'n', external_id: 'm/1 ü' })
      expect([taken.status, taken.text]).to.deep.equal([409, 'external_id: another metric has it'])
      await api.patch(`/v2/metrics/${made.id}`, { external_id: 'm-2' })
      expect((await api.get(target)).status).to.equal(404)
      expect((await api.get<{ id: string }>('/v2/metrics/external-id/m-2')).body.id).to.equal(made.id)
    })

    it('are created and listed in order of creation', async () => {
      const made: Named[] = []
      for (let n = 0; n < 5; n++) made.push(await other.create<Named>('/v2/metrics', { name: `m${n}` }))
      expect(made[0]).to.include({ description: '', measurement_units: '', archived_at: null })
      const first = (await other.get<Page<Named>>('/v2/metrics?limit=3')).body
      const second = (
        await other.get<Page<Named>>(`/v2/metrics?limit=3&starting_after=${first.data[2]?.id ?? ''}`)
      ).body
      expect([...first.data, ...second.data]).to.deep.equal(made)
      expect([first.has_more, second.has_more]).to.deep.equal([true, false])
      expect((await api.get(`/v2/metrics?starting_after=${made[0]?.id ?? ''}`)).status).to.equal(400)
    })

    it('share an event type with at most seven others, archived ones included, also in a race', async () => {
      const event_type = 'model.called'
      const make = (fields: object = { event_type }) =>
        api.post<{ id: string }>('/v2/metrics', { name: 'm', event_quantity: 'a.b-c_1', ...fields })
      const racing = await Promise.all(Array.from({ length: 12 }, () => make()))
      const made = racing.filter(({ status }) => status === 200).map(({ body }) => body.id)
      expect(made).to.have.length(8)
      const tooMany = [422, 'event_type: 8 other metrics have it, archived ones included, and no more may']
      const answerOf = ({ status, text }: { status: number; text: string }) => [status, text]
      for (const answer of racing.filter(({ status }) => status !== 200))
        expect(answerOf(answer)).to.deep.equal(tooMany)
      await api.create(`/v2/metrics/${made[0]}/archive`, {})
      expect(answerOf(await make())).to.deep.equal(tooMany)
      expect((await make({ event_type: 'Model.called' })).status).to.equal(200)
      const { id } = (await make({})).body
      const take = () => api.patch(`/v2/metrics/${id}`, { event_type })
      expect(answerOf(await take())).to.deep.equal(tooMany)
      expect((await api.patch(`/v2/metrics/${made[0]}`, { event_type, name: 'n' })).status).to.equal(200)
      expect((await api.patch(`/v2/metrics/${made[0]}`, { event_type: null })).status).to.equal(200)
      expect((await take()).status).to.equal(200)
      expect(await other.create('/v2/metrics', { name: 'm', event_type })).to.include({ event_type })
    })

    it('have no event type that means a currency, and count no field without a name', async () => {
      const post = (fields: object) => api.post('/v2/metrics', { name: 'm', ...fields })
      for (const event_type of ['currency:usd', 'currency:XyZ']) {
        const { status, text } = await post({ event_type })
        expect([status, text]).to.deep.equal([422, `event_type: ${event_type} means usage in a currency`])
      }
      for (const event_type of ['currency:', 'currency:euro', 'Currency:usd', ' currency:usd'])
        expect((await post({ event_type })).status, event_type).to.equal(200)
      for (const fields of [
        { event_type: '' },
        { event_quantity: '' },
        { event_quantity: 'a b' },
        { event_quantity: 'x'.repeat(101) },
        { event_quantity: 5 },
      ])
        expect((await post(fields)).status, JSON.stringify(fields)).to.equal(400)
      expect((await post({ event_quantity: '__proto__', event_type: null })).status).to.equal(200)
    })
  })

  describe('an Idempotency-Key', () => {
    it('makes a request count once on its route, in its namespace, and stays free when the request fails', async () => {
      const headers = { 'Idempotency-Key': 'once' }
      const bad = await api.post(
        '/v2/accounts',
        { name: 'x', external_id: 'crm-taken', service_customer_id: 'nobody' },
        { headers },
      )
      expect(bad.status).to.equal(400)
      await api.create('/v2/accounts', { name: 'x', external_id: 'crm-taken' })
      const conflict = await api.post('/v2/accounts', { name: 'y', external_id: 'crm-taken' }, { headers })
      expect(conflict.text).to.match(/external_id/)
      await api.create('/v2/accounts', { name: 'y' }, { headers })
      const again = await api.post('/v2/accounts', { name: 'y' }, { headers })
      expect(again.status).to.equal(409)
      expect(again.text).to.match(/Idempotency-Key/)
      await api.create('/v2/metrics', { name: 'y' }, { headers })
      await other.create('/v2/accounts', { name: 'y' }, { headers })
      for (const key of ['', 'k'.repeat(256)])
        expect(
          (await api.post('/v2/accounts', { name: 'y' }, { headers: { 'Idempotency-Key': key } })).status,
        ).to.equal(400)
    })

    it('lets exactly one of many equal requests through', async () => {
      const headers = { 'Idempotency-Key': 'race' }
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => api.post('/v2/metrics', { name: 'race' }, { headers })),
      )
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, ...Array<number>(9).fill(409)])
    })
  })

  describe('what is not there', () => {
    it('is 404 for paths and 405 with Allow for methods', async () => {
      for (const path of ['/', '/v1', '/v2/nothing', '/v2/accounts/x/y/z'])
        expect((await api.get(path)).text, path).to.equal('not found')
      const cases: [string, string, string][] = [
        ['DELETE', '/v2/accounts', 'GET, POST'],
        ['PUT', '/v2/events', 'GET, POST'],
        ['GET', '/v2/events/batch', 'POST'],
        ['POST', '/v2/health', 'GET'],
      ]
      for (const [method, path, allow] of cases) {
        const answer = await api.request(method, path, undefined, {}).catch((err: unknown) => String(err))
        if (typeof answer === 'string') throw new Error(answer)
        expect(answer.status, path).to.equal(405)
        expect(answer.headers.get('allow')).to.equal(allow)
      }
    })

    it('is 400 for paths that are malformed', async () => {
      expect((await api.get('/v2/accounts/account_x')).status).to.equal(400)
      expect((await api.get('/v2/customers/x')).status).to.equal(400)
      expect((await api.get('/v2/accounts/external-id/%00')).status).to.equal(400)
      expect((await api.get('/v2/accounts/external-id/%ff')).status).to.equal(400)
      expect((await api.get(`/v2/accounts/external-id/${'x'.repeat(257)}`)).status).to.equal(400)
    })
  })

  it('never says what it runs on, and may not be stored', async () => {
    const { headers } = await api.get('/v2/accounts')
    expect(headers.get('x-powered-by')).to.equal(null)
    expect(headers.get('cache-control')).to.equal('no-store')
    expect(headers.get('x-content-type-options')).to.equal('nosniff')
  })
})
