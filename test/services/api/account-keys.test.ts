import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { expect } from 'chai'
import { type Answered, ApiClient } from '../../support/api-client.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'
import { until } from '../../support/until.ts'

interface Key {
  id: string
  account_id?: string
  permissions: string[]
  expires_at?: number
  status: string
  replaced_by?: string
}
interface Issued {
  key: string
  api_key: Key
}

const DAY_S = 86_400
const nowS = () => Math.floor(Date.now() / 1_000)
/** A range that ends after everything that this file reports. */
const START = Math.floor(nowS() / DAY_S) * DAY_S - 2 * DAY_S
const RANGE = `start_at=${START}&end_at=${START + 4 * DAY_S}`
const NO_ACCOUNT = `account_${'0'.repeat(32)}`
const NO_GRANT = `grant_${'0'.repeat(32)}`

describe('account keys', function () {
  this.timeout(60_000)
  let tally: TallyUnderTest
  /** A client of the test company, with every permission. */
  let api: ApiClient

  before(async () => {
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.testKey)
  })
  after(() => tally.end())

  const create = async (target: string, body: object): Promise<string> =>
    (await api.create<{ id: string }>(target, body)).id
  const bodyOf = (account: string, more: object = {}) => ({
    name: 'portal',
    account_id: account,
    permissions: ['read:account'],
    expires_at: nowS() + DAY_S,
    ...more,
  })
  const issue = (account: string, more: object = {}, client = api) =>
    client.create<Issued>('/v2/api-keys', bodyOf(account, more))
  const with_ = (key: string) => new ApiClient(tally.url, key)
  const said = ({ status, text }: Answered<unknown>) => [status, text]

  describe('see nothing of another account', () => {
    let metric: string
    let ours: string
    let asOurs: ApiClient
    /** What every allowed request answered before there was another account. */
    let before_: Map<string, string>
    let theirs: { account: string; grant: string; refill: string }

    const targets = () => {
      const account = `/v2/accounts/${ours}`
      const usage = `/v2/usage?${RANGE}`
      return [
        account,
        ...[`metric_id=${metric}`, 'currency=usd', 'currency=xts'].flatMap((source) => [
          `${account}/balance?${source}`,
          `${account}/balance/daily?${source}&${RANGE}`,
          ...['', `&account_id=${ours}`].flatMap((named) => [
            `${usage}&${source}${named}`,
            `${usage}&${source}&group_by=account&limit=1000${named}`,
            `${usage}&${source}&aggregation=count&period=day${named}`,
            `/v2/grants?${source}${named}`,
          ]),
        ]),
        ...['', '&currency=xts', '&aggregation=max'].flatMap((more) => [
          `${account}/usage?${RANGE}${more}`,
          `${account}/usage/daily?${RANGE}${more}`,
          `${account}/usage/monthly?${more.slice(1)}`,
        ]),
        '/v2/grants',
        '/v2/grants?order=newest&limit=1',
        '/v2/grants?status=active',
        `/v2/refill-configurations/${ours}/${metric}/refills`,
        '/v2/metrics',
        '/v2/currencies',
      ]
    }
    const answersOf = async (client: ApiClient): Promise<Map<string, string>> => {
      const answers = new Map<string, string>()
      for (const target of targets()) {
        const { status, text } = await client.get(target)
        expect(status, `${target}: ${text}`).to.equal(200)
        answers.set(target, text)
      }
      return answers
    }
    const report = (account: string, ...used: object[]) =>
      api.create('/v2/events/batch', {
        events: used.map((event) => ({ account_id: account, occurred_at: START + 1_000, ...event })),
      })
    const refillOf = (account: string) =>
      until(async () => {
        const target = `/v2/refill-configurations/${account}/${metric}/refills`
        const { body } = await api.get<{ data: { grant_id: string }[] }>(target)
        return body.data[0]?.grant_id ?? false
      })
    const refill = (account: string, minimum: number) =>
      api.create('/v2/refill-configurations', {
        account_id: account,
        metric_id: metric,
        minimum_balance: String(minimum),
        target_balance: String(minimum + 1),
      })

    before(async () => {
      metric = await create('/v2/metrics', { name: 'tokens' })
      ours = await create('/v2/accounts', { name: 'ours' })
      await create('/v2/grants', { account_id: ours, metric_id: metric, amount: '5', effective_at: 0 })
      await report(ours, { metric_id: metric, quantity: '3' }, { currency: 'usd', quantity: '2.5' })
      // Usage that came later than a refill would cause another one.
      await api.create('/v2/test/drain', { timeout: 20 })
      await refill(ours, 10)
      await refillOf(ours)
      asOurs = with_((await issue(ours)).key)
      before_ = await answersOf(asOurs)

      const customer = await create('/v2/customers', { name: 'canary', external_id: 'canary-customer' })
      const account = await create('/v2/accounts', {
        name: 'canary',
        external_id: 'canary',
        description: 'canary',
        service_customer_id: customer,
      })
      const of = { account_id: account, description: 'canary', effective_at: 0 }
      const grant = await create('/v2/grants', { ...of, metric_id: metric, amount: '7000000.25' })
      await create('/v2/grants', { ...of, currency: 'xts', amount: '7000001.25' })
      const properties = { model: 'canary' }
      await report(
        account,
        { metric_id: metric, quantity: '7000002.25', properties },
        { currency: 'usd', quantity: '7000003.25', properties },
        { currency: 'xts', quantity: '7000004.25', properties },
      )
      await refill(account, 70_000_005)
      theirs = { account, grant, refill: await refillOf(account) }
      await api.create('/v2/test/drain', { timeout: 20 })
    })

    it('in any answer: each is as it was before the other account was there', async () => {
      const after_ = await answersOf(asOurs)
      for (const [target, text] of after_) {
        expect(text, target).to.equal(before_.get(target))
        expect(text, target).to.not.match(/canary|70000\d+/)
      }
      const [usage, currencies] = [`/v2/usage?${RANGE}&metric_id=${metric}`, '/v2/currencies'].map(
        (target) => JSON.parse(after_.get(target) ?? '') as Record<string, unknown>,
      )
      expect(usage?.['total']).to.deep.equal({ quantity: '3', event_count: 1 })
      expect(currencies?.['data']).to.have.length(1)
    })

    it('by its ids, which are answered as ids that nobody has', async () => {
      const { account, grant, refill: refilled } = theirs
      const cases = [
        ['', ''],
        [`/balance?metric_id=${metric}`, ''],
        [`/balance/daily?currency=usd&${RANGE}`, ''],
        [`/usage?${RANGE}`, ''],
        [`/usage/daily?${RANGE}`, ''],
        ['/usage/monthly', ''],
        [`/v2/refill-configurations/`, `/${metric}/refills`],
        [`/v2/usage?${RANGE}&metric_id=${metric}&account_id=`, ''],
        [`/v2/usage?${RANGE}&metric_id=${metric}&group_by=account&account_id=`, ''],
        ['/v2/grants?account_id=', ''],
      ].map(
        ([start = '', end = '']) =>
          (id: string) =>
            start.startsWith('/v2') ? start + id + end : `/v2/accounts/${id}${start}`,
      )
      for (const target of cases)
        for (const id of [account, NO_ACCOUNT])
          expect(said(await asOurs.get(target(id))), target(id)).to.deep.equal([404, 'not found'])
      const unknown = [400, 'starting_after: no item of this list has that id']
      for (const id of [grant, refilled, NO_GRANT]) {
        const refills = `/v2/refill-configurations/${ours}/${metric}/refills`
        for (const list of ['/v2/grants', `/v2/grants?account_id=${ours}`, refills])
          expect(
            said(await asOurs.get(`${list}${list.includes('?') ? '&' : '?'}starting_after=${id}`)),
          ).to.deep.equal(unknown)
      }
      for (const code of ['xts', 'zzz'])
        expect(said(await asOurs.get(`/v2/currencies?starting_after=${code}`))).to.deep.equal(unknown)
    })

    it('by two accounts in one request, another way to write one, or what else a request may have', async () => {
      const { account, grant } = theirs
      const refusals: [target: string, status: number][] = [
        [`/v2/grants?account_id=${ours}&account_id=${account}`, 400],
        [`/v2/grants?account_id[]=${account}`, 400],
        [`/v2/grants?account_id=`, 400],
        [`/v2/grants?Account_id=${account}`, 400],
        [`/v2/grants?account_id=${account}&account_id=${ours}`, 400],
        [`/v2/accounts/${ours}%2F..%2F${account}`, 400],
        [`/v2/accounts/${ours}/../${account}`, 404],
        [`/v2/accounts/${account}/balance?metric_id=${metric}&account_id=${ours}`, 400],
        [`/v2/usage?${RANGE}&metric_id=${metric}&group_by=property&property=model`, 403],
        [
          `/v2/usage?${RANGE}&metric_id=${metric}&group_by=property&property=model&account_id=${account}`,
          403,
        ],
        ['/v2/accounts/external-id/canary', 403],
        [`/v2/accounts/balances?account_ids=${ours},${account}`, 403],
        [`/v2/grants/${grant}`, 403],
        [`/v2/metrics/${metric}`, 403],
        ['/v2/metrics/usage/monthly', 403],
        [`/v2/refill-configurations?account_id=${ours}`, 403],
        [`/v2/events?account_id=${ours}`, 403],
        [`/v2/events/aggregate?property=model&value=canary&account_id=${ours}`, 403],
        ['/v2/customers', 403],
        ['/v2/accounts', 403],
        ['/v2/contracts', 403],
        ['/v2/invoice-previews', 403],
        ['/v2/api-keys', 403],
        ['/v2/audit-trail', 403],
        ['/v2/test/clock', 403],
      ]
      for (const [target, status] of refusals) {
        const answer = await asOurs.get(target)
        expect(answer.status, `${target}: ${answer.text}`).to.equal(status)
        expect(answer.text, target).to.not.match(/canary|70000\d+/)
      }
      for (const headers of [{ 'x-http-method-override': 'POST' }, { 'x-account-id': account }])
        expect((await asOurs.get<{ has_more: boolean }>('/v2/grants', { headers })).text).to.equal(
          before_.get('/v2/grants'),
        )
    })
  })

  describe('are made', () => {
    let account: string

    before(async () => {
      account = await create('/v2/accounts', { name: 'a' })
    })

    it('for one account, which the key and its caller show, and the trail', async () => {
      const { key, api_key: made } = await issue(account, { name: 'of the trail' })
      expect(made).to.include({ account_id: account, status: 'active' })
      expect(made.permissions).to.deep.equal(['read:account'])
      const { body } = await with_(key).get<{ account_id: string; api_key: Key }>('/v2/caller')
      expect([body.account_id, body.api_key.account_id]).to.deep.equal([account, account])
      const { body: company } = await api.get<{ account_id: null; api_key: Key }>('/v2/caller')
      expect([company.account_id, company.api_key.account_id]).to.deep.equal([null, undefined])
      const trail = await api.get<{ data: { action: string; changes: object }[] }>(
        `/v2/audit-trail?resource_id=${made.id}`,
      )
      expect(trail.body.data).to.have.length(1)
      expect(trail.body.data[0]?.action).to.equal('api_key.issued')
      expect(trail.body.data[0]?.changes).to.deep.equal({
        name: 'of the trail',
        permissions: ['read:account'],
        account_id: account,
        expires_at: made.expires_at,
      })
    })

    it('only with terms that fit together', async () => {
      const unfitting: [object, string][] = [
        [{ permissions: ['read:all'] }, 'permissions: must be ["read:account"] with account_id'],
        [
          { permissions: ['read:account', 'read:all'] },
          'permissions: must be ["read:account"] with account_id',
        ],
        [{ account_id: null }, 'account_id: is required with the permission read:account'],
        [
          { account_id: null, permissions: ['read:all', 'read:account'] },
          'account_id: is required with the permission read:account',
        ],
        [{ expires_at: null }, 'expires_at: a key with account_id must end within 31 days from now'],
        [
          { expires_at: nowS() + 31 * DAY_S + 60 },
          'expires_at: a key with account_id must end within 31 days from now',
        ],
        [{ expires_at: nowS() }, 'expires_at: must lie in the future'],
        [{ account_id: NO_ACCOUNT }, 'account_id: there is no such account'],
      ]
      for (const [more, text] of unfitting)
        expect(said(await api.post('/v2/api-keys', bodyOf(account, more)))).to.deep.equal([422, text])
      await issue(account, { expires_at: nowS() + 31 * DAY_S })
      const live = new ApiClient(tally.url, tally.key)
      expect(said(await live.post('/v2/api-keys', bodyOf(account)))).to.deep.equal([
        422,
        'account_id: there is no such account',
      ])
    })

    it('by keys that may read, and that do not end before them', async () => {
      const giver = async (permissions: string[], expiresAt: number | null = null) => {
        const body = { name: 'giver', permissions, expires_at: expiresAt }
        return with_((await api.create<Issued>('/v2/api-keys', body)).key)
      }
      const manager = await giver(['manage:keys'])
      expect(said(await manager.post('/v2/api-keys', bodyOf(account)))).to.deep.equal([
        403,
        'permissions: this key does not have read:account, and a key gives only what it has',
      ])
      const reader = await giver(['manage:keys', 'read:all'])
      await issue(account, {}, reader)
      const short = await giver(['manage:keys', 'read:all'], nowS() + 60)
      expect((await short.post('/v2/api-keys', bodyOf(account))).status).to.equal(403)
    })

    it('and are listed by their account alone', async () => {
      const other = await create('/v2/accounts', { name: 'other' })
      const made = [await issue(account), await issue(account)].map(({ api_key: { id } }) => id)
      const { api_key: ofOther } = await issue(other)
      const list = async (query: string) =>
        (await api.get<{ data: Key[] }>(`/v2/api-keys${query}`)).body.data.map(({ id }) => id)
      expect((await list(`?account_id=${account}`)).slice(-2)).to.deep.equal(made)
      expect(await list(`?account_id=${other}`)).to.deep.equal([ofOther.id])
      expect(await list('')).to.not.include.members([...made, ofOther.id]).and.to.not.be.empty
      expect(await list(`?account_id=${account}&starting_after=${made[0] ?? ''}`)).to.deep.equal([made[1]])
      for (const query of ['', `?account_id=${account}`]) {
        const cursor = `${query === '' ? '?' : `${query}&`}starting_after=${ofOther.id}`
        expect((await api.get(`/v2/api-keys${cursor}`)).status, cursor).to.equal(400)
      }
    })
  })

  describe('in a browser', () => {
    const STRANGE = 'https://evil.example.com'
    let account: string
    let key: string

    before(async () => {
      account = await create('/v2/accounts', { name: 'a' })
      ;({ key } = await issue(account))
    })

    /** Sends a request as a browser does for a page. Unlike fetch, it may set every header. */
    const ask = async (method: string, path: string, origin: string, headers: Record<string, string>) => {
      const sent = request(tally.url + path, { method, headers: { ...headers, origin } }).end()
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      answer.resume()
      await once(answer, 'end')
      const { 'access-control-allow-origin': opened, vary } = answer.headers
      return { status: answer.statusCode, opened, vary, headers: answer.headers }
    }
    const asPage = (path: string, ofKey: string, origin = tally.pageOrigin) =>
      ask('GET', path, origin, { 'x-api-key': ofKey })
    const preflight = (path: string, method = 'GET', origin = tally.pageOrigin) =>
      ask('OPTIONS', path, origin, {
        'access-control-request-method': method,
        'access-control-request-headers': 'x-api-key',
      })

    it('show a page of a known origin all that they are answered, refusals too', async () => {
      const cases: [path: string, key: string, status: number][] = [
        [`/v2/accounts/${account}`, key, 200],
        ['/v2/caller', key, 200],
        [`/v2/accounts/${NO_ACCOUNT}`, key, 404],
        ['/v2/grants?limit=x', key, 400],
        ['/v2/customers', key, 403],
        ['/v2/grants', `${key.slice(0, -1)}!`, 401],
      ]
      for (const [path, ofKey, status] of cases) {
        const answer = await asPage(path, ofKey)
        expect([answer.status, answer.opened, answer.vary], path).to.deep.equal([
          status,
          tally.pageOrigin,
          'Origin',
        ])
        expect(answer.headers).to.not.have.property('access-control-allow-credentials')
        for (const origin of [STRANGE, 'null', `${tally.pageOrigin}.evil.com`])
          expect((await asPage(path, ofKey, origin)).opened, path).to.equal(undefined)
      }
    })

    it('are the only keys whose answers a page may read', async () => {
      for (const path of ['/v2/grants', `/v2/accounts/${account}`, '/v2/customers', '/v2/caller'])
        expect(await asPage(path, tally.testKey)).to.include({ status: 200, opened: undefined })
      expect((await asPage('/v2/customers', 'x')).opened).to.equal(undefined)
      expect((await asPage('/v2/health', key)).opened).to.equal(undefined)
    })

    it('are asked about first: what they may read, by a page of a known origin', async () => {
      const paths = [
        `/v2/accounts/${account}/usage/daily?start_at=1`,
        '/v2/usage',
        '/v2/caller',
        '/v2/grants',
      ]
      for (const path of paths) {
        const { status, opened, headers } = await preflight(path)
        expect([status, opened], path).to.deep.equal([204, tally.pageOrigin])
        expect(headers).to.include({
          'access-control-allow-methods': 'GET, HEAD',
          'access-control-allow-headers': 'x-api-key, authorization',
          'access-control-max-age': '600',
        })
        expect(await preflight(path, 'GET', STRANGE), path).to.include({ status: 405, opened: undefined })
      }
      for (const [path, method] of [
        ['/v2/grants', 'POST'],
        ['/v2/customers', 'GET'],
        [`/v2/accounts/${account}`, 'PATCH'],
        ['/v2/accounts/balances', 'GET'],
        ['/v2/events', 'POST'],
      ] as const)
        expect(await preflight(path, method), path).to.include({ status: 405, opened: undefined })
    })
  })

  describe('end', () => {
    let account: string
    const statusOf = async (key: string) => (await with_(key).get(`/v2/accounts/${account}`)).status

    before(async () => {
      account = await create('/v2/accounts', { name: 'a' })
    })

    it('when they expire, and when they are revoked', async () => {
      const short = await issue(account, { expires_at: nowS() + 2 })
      const { key, api_key: made } = await issue(account)
      expect([await statusOf(short.key), await statusOf(key)]).to.deep.equal([200, 200])
      await api.create(`/v2/api-keys/${made.id}/revoke`, {})
      await until(async () => (await statusOf(short.key)) === 401 && (await statusOf(key)) === 401)
    })

    it('within 31 days, however often they are rotated, and never become keys of the company', async () => {
      const { key, api_key: made } = await issue(account)
      const rotate = (id: string, more: object) =>
        api.post<Issued>(`/v2/api-keys/${id}/rotate`, { overlap_seconds: 0, ...more })
      for (const expires_at of [null, nowS() + 31 * DAY_S + 60])
        expect(said(await rotate(made.id, { expires_at }))).to.deep.equal([
          422,
          'expires_at: a key with account_id must end within 31 days from now',
        ])
      expect((await rotate(made.id, { permissions: ['read:all'] })).status).to.equal(422)
      const { body } = await rotate(made.id, { expires_at: nowS() + 2 * DAY_S })
      for (const issued of [key, body.key]) expect(issued).to.match(/^tally_(live|test)_account_/)
      expect(body.api_key).to.include({ account_id: account })
      expect(body.api_key.permissions).to.deep.equal(['read:account'])
      expect(await statusOf(body.key)).to.equal(200)
      const company = await api.create<Issued>('/v2/api-keys', { name: 'c', permissions: ['read:all'] })
      expect((await rotate(company.api_key.id, { permissions: ['read:account'] })).status).to.equal(422)
    })

    it('not when their account is archived, whose history its customer may still see', async () => {
      const { key } = await issue(account)
      await api.create(`/v2/accounts/${account}/archive`, {})
      expect(await statusOf(key)).to.equal(200)
      await issue(account)
    })

    it('not when the company is reset, but their account is gone', async () => {
      const { key } = await issue(account)
      await api.create('/v2/test/reset', {})
      expect(await statusOf(key)).to.equal(404)
      expect((await with_(key).get('/v2/caller')).status).to.equal(200)
      const { body } = await with_(key).get<{ data: unknown[] }>('/v2/grants')
      expect(body.data).to.deep.equal([])
    })
  })
})
