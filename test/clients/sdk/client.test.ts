import { inspect } from 'node:util'
import { expect } from 'chai'
import * as byFetch from '../../../clients/sdk/src/index.ts'
import * as byNode from '../../../clients/sdk/src/node.ts'
import { type Hooks, Tally, type TallyOptions } from '../../../clients/sdk/src/node.ts'
import { newApiKey } from '../../../shared/domain/api-key.ts'
import { failureOf } from '../../support/failure-of.ts'
import { scriptedClient } from './scripted-client.ts'

const GIVEN = { url: 'http://tally.test', apiKey: 'tally_test_secret' }
const DONE = { body: { id: 'account_1' } }

describe('the client of the SDK', () => {
  const environment = { ...process.env }

  beforeEach(() => {
    delete process.env['TALLY_URL']
    delete process.env['TALLY_API_KEY']
  })
  afterEach(() => {
    process.env = { ...environment }
    Reflect.deleteProperty(globalThis, 'window')
  })

  it('has the same names in both of its forms', () => {
    expect(Object.keys(byFetch)).to.have.members(Object.keys(byNode))
  })

  it('refuses options that cannot be meant', () => {
    const wrong: [TallyOptions, string][] = [
      [{ url: GIVEN.url }, 'apiKey is missing'],
      [{ apiKey: GIVEN.apiKey }, 'url is missing'],
      [{ ...GIVEN, url: 'tally.test' }, 'url must start with'],
      [{ ...GIVEN, url: 'ftp://tally.test' }, 'url must start with'],
      [{ ...GIVEN, url: 'http://tally.test/v2/' }, 'url must not end in /v2'],
      [{ ...GIVEN, apiKey: '' }, 'apiKey must be'],
      [{ ...GIVEN, apiKey: 'two\nlines' }, 'apiKey must be'],
      [{ ...GIVEN, timeoutMs: 0 }, 'timeoutMs must be'],
      [{ ...GIVEN, maxRetries: -1 }, 'maxRetries must be'],
      [{ ...GIVEN, maxRetries: 1.5 }, 'maxRetries must be'],
      [{ ...GIVEN, maxSockets: 0 }, 'maxSockets must be'],
    ]
    for (const [options, text] of wrong) expect(() => new Tally(options), text).to.throw(TypeError, text)
  })

  it('reads the environment for what is left out', async () => {
    process.env['TALLY_URL'] = 'https://tally.test/below/'
    process.env['TALLY_API_KEY'] = 'tally_test_environment\n'
    let sent: { url?: string; key?: string | undefined } = {}
    const tally = new Tally({
      transport: {
        send: ({ url, headers }) => {
          sent = { url, key: headers['x-api-key'] }
          return Promise.resolve({ status: 404, headers: {}, text: 'not found' })
        },
      },
    })
    await failureOf(tally.accounts.getByExternalId('a/b ü?'))
    expect(sent).to.deep.equal({
      url: 'https://tally.test/below/v2/accounts/external-id/a%2Fb%20%C3%BC%3F',
      key: 'tally_test_environment',
    })
  })

  it('shows its key to nobody', () => {
    for (const { Tally: Client } of [byNode, byFetch]) {
      const tally = new Client(GIVEN)
      expect(inspect(tally, { depth: 9, showHidden: true })).to.equal("Tally { url: 'http://tally.test' }")
      expect(JSON.stringify({ tally })).to.equal('{"tally":{"url":"http://tally.test"}}')
    }
  })

  it('is refused in a browser, but for the key of an account', async () => {
    Object.assign(globalThis, { window: { document: {} } })
    expect(() => new Tally(GIVEN)).to.throw(TypeError, 'this page would show its API key')
    expect(new Tally({ ...GIVEN, dangerouslyAllowBrowser: true }).url).to.equal(GIVEN.url)
    expect(new Tally({ ...GIVEN, apiKey: newApiKey('live', true) }).url).to.equal(GIVEN.url)
    const { tally, requests } = scriptedClient([DONE], { apiKey: () => GIVEN.apiKey })
    expect(await failureOf(tally.accounts.get('account_1'))).to.be.instanceOf(TypeError)
    expect(requests.length).to.equal(0)
    Object.assign(globalThis, { window: {} })
    expect(new Tally(GIVEN).url).to.equal(GIVEN.url)
  })

  it('sends no request whose path would be another one', async () => {
    const { tally, requests } = scriptedClient([DONE])
    for (const id of ['', '.', '..', undefined, null])
      expect(await failureOf(tally.accounts.get(id as string)), String(id)).to.be.instanceOf(TypeError)
    expect(requests.length).to.equal(0)
  })

  it('asks for a key once for requests at the same time, and again after a failure', async () => {
    let asked = 0
    const apiKey = () => {
      asked++
      return asked === 1 ? Promise.reject(new Error('no store')) : 'tally_test_secret'
    }
    const { tally } = scriptedClient([DONE], { apiKey })
    const first = await failureOf(tally.accounts.get('account_1'))
    expect((first as Error).message).to.equal('no store')
    await Promise.all([1, 2, 3].map((n) => tally.accounts.get(`account_${n}`)))
    expect(asked).to.equal(2)
  })

  it('waits for a key as long as for an answer, and then asks again', async () => {
    let asked = 0
    const apiKey = () => (++asked === 1 ? new Promise<string>(() => undefined) : 'tally_test_secret')
    const { tally } = scriptedClient([DONE], { apiKey })
    const aborted = await failureOf(tally.accounts.get('account_1', { signal: AbortSignal.timeout(5) }))
    expect((aborted as Error).message).to.include('the call was aborted')
    const late = await failureOf(tally.accounts.get('account_1', { timeoutMs: 5 }))
    expect((late as Error).message).to.include('the function apiKey did not return in time')
    expect(await tally.accounts.get('account_1')).to.deep.equal(DONE.body)
    expect(asked).to.equal(2)
  })

  it('writes queries as openapi.yaml has them', async () => {
    const { tally, requests } = scriptedClient([{ body: { data: [] } }])
    await tally.accounts.balances({ account_ids: ['account_1', 'account_2'] })
    await tally.accounts.list({ is_archived: false, query: undefined, limit: 5 })
    expect(requests.map(({ query }) => query)).to.deep.equal([
      { account_ids: 'account_1,account_2' },
      { is_archived: 'false', limit: '5' },
    ])
  })

  it('adds headers, but lets none replace its own', async () => {
    const hooks: Hooks = {
      onRequest: ({ headers }) => {
        headers['traceparent'] = '00-1'
        headers['Idempotency-Key'] = 'theirs'
      },
    }
    const { tally, requests, keys } = scriptedClient([DONE], { hooks })
    await tally.accounts.create({ name: 'a' }, { headers: { 'X-Api-Key': 'theirs', 'X-Mine': '1' } })
    expect(requests[0]?.headers).to.include({ traceparent: '00-1', 'x-mine': '1' })
    expect(requests[0]?.headers['idempotency-key']).to.match(/^sdk-/)
    expect(keys).to.deep.equal(['tally_test_secret'])
  })

  it('calls hooks for each attempt, with the context of its own, and never with the body or the key', async () => {
    const seen: unknown[] = []
    const hooks: Hooks<string> = {
      onRequest: ({ operation, path, attempt }) => `${operation} ${path} ${attempt}`,
      onResponse: (info, context) => seen.push([context, info.status, info.error?.name]),
      onRetry: (info, context) => {
        expect(JSON.stringify(info)).to.not.match(/secret|Acme/)
        seen.push([context, info.waitMs])
      },
    }
    const { tally } = scriptedClient(['cut', { status: 503, body: '' }, DONE], { hooks })
    await tally.accounts.update('account_1', { name: 'Acme' })
    const at = (attempt: number) => `updateAccount /v2/accounts/{account_id} ${attempt}`
    expect(seen).to.deep.equal([
      [at(1), undefined, 'ConnectionError'],
      [at(1), 250],
      [at(2), 503, 'UnavailableError'],
      [at(2), 500],
      [at(3), 200, undefined],
    ])
  })

  it('goes on when a hook throws, and logs it', async () => {
    const warned: string[] = []
    const hooks: Hooks = {
      onRequest: () => {
        throw new Error('broken')
      },
    }
    const logger = { warn: (message: string) => warned.push(message) }
    const { tally } = scriptedClient([DONE], { hooks, logger })
    expect(await tally.accounts.get('account_1')).to.deep.equal(DONE.body)
    expect(warned).to.deep.equal(['tally: a hook failed'])
  })

  it('goes on when an async hook throws, and logs it', async () => {
    const warned: string[] = []
    const hooks: Hooks = { onRequest: () => Promise.reject(new Error('broken')) }
    const logger = { warn: (message: string) => warned.push(message) }
    const { tally } = scriptedClient([DONE], { hooks, logger })
    expect(await tally.accounts.get('account_1')).to.deep.equal(DONE.body)
    expect(warned).to.deep.equal(['tally: a hook failed'])
  })

  it('is tested without Tally by a transport in memory', async () => {
    const transport = Tally.testing.memoryTransport(({ method }) =>
      method === 'POST' ? { body: { id: 'event_1' } } : { status: 404 },
    )
    const tally = new Tally({ ...GIVEN, transport })
    const event = await tally.events.report({ account_id: 'a', currency: 'usd', quantity: 5 })
    expect(event.id).to.equal('event_1')
    expect(await failureOf(tally.events.get('event_1'))).to.include({ name: 'NotFoundError' })
    expect(transport.requests.map(({ path }) => path)).to.deep.equal(['/v2/events', '/v2/events/event_1'])
    expect(JSON.stringify(transport.requests)).to.not.contain(GIVEN.apiKey)
  })
})
