import { expect } from 'chai'
import fc from 'fast-check'
import { callsOf } from '../../../clients/sdk/src/core/client.ts'
import { mayRetry, parseRetryAfter, retryWaitMs } from '../../../clients/sdk/src/core/retries.ts'
import {
  AbortedError,
  ApiError,
  ConnectionError,
  NotTallyError,
  RateLimitedError,
  TallyError,
  UnavailableError,
} from '../../../clients/sdk/src/node.ts'
import { OPERATIONS } from '../../../clients/sdk/src/operations.gen.ts'
import { failureOf } from '../../support/failure-of.ts'
import { scriptedClient, type Step } from './scripted-client.ts'

const EVENT = { account_id: 'account_1', metric_id: 'metric_1', quantity: '1' }
const status = (code: number, headers: Record<string, string> = {}): Step => ({
  status: code,
  headers,
  body: code === 404 ? 'not found' : 'try again',
})
const FAILURES: readonly Step[] = ['cut', ...[408, 429, 500, 502, 503, 504].map((code) => status(code))]

describe('repeats of the SDK', () => {
  const realNow = Date.now.bind(Date)

  afterEach(() => {
    Date.now = realNow
  })

  it('come after lost connections, 408, 429 and 5xx, and not after other answers', async () => {
    for (const failure of FAILURES) {
      const { tally, requests } = scriptedClient([failure, failure, { body: { id: 'account_1' } }])
      expect(await tally.accounts.get('account_1')).to.deep.equal({ id: 'account_1' })
      expect(requests.length).to.equal(3)
    }
    for (const code of [400, 401, 403, 404, 409, 413, 415, 422, 501]) {
      const { tally, requests } = scriptedClient([status(code)])
      const err = await failureOf(tally.accounts.get('account_1'))
      expect(ApiError.is(err) && err.status, `${code}`).to.equal(code)
      expect(requests.length).to.equal(1)
    }
  })

  it('end after two, or after as many as the caller chose', async () => {
    for (const [options, call, attempts] of [
      [{}, {}, 3],
      [{ maxRetries: 0 }, {}, 1],
      [{ maxRetries: 0 }, { maxRetries: 4 }, 5],
      [{ maxRetries: 4 }, { maxRetries: 0 }, 1],
    ] as const) {
      const { tally, requests } = scriptedClient(['cut'], options)
      const err = await failureOf(tally.metrics.get('metric_1', call))
      expect(ConnectionError.is(err) && [err.attempts, err.operation]).to.deep.equal([attempts, 'getMetric'])
      expect(requests.length).to.equal(attempts)
    }
  })

  it('of a reset come only after answers which say that nothing was written', async () => {
    const done = { body: { reset: true } }
    for (const failure of FAILURES) {
      const { tally, requests } = scriptedClient([failure, done])
      const err = await failureOf(tally.testArea.reset())
      const isUnwritten = typeof failure === 'object' && [408, 429].includes(failure.status ?? 0)
      expect(TallyError.is(err), JSON.stringify(failure)).to.equal(!isUnwritten)
      expect(requests.length).to.equal(isUnwritten ? 2 : 1)
    }
  })

  it('have the key of the first attempt, and each call has another', async () => {
    const made = { body: { id: 'account_1' } }
    const { tally, requests } = scriptedClient(['cut', status(503), made, made])
    await tally.accounts.create({ name: 'Acme' })
    await tally.accounts.create({ name: 'Acme' })
    const keys = requests.map(({ headers }) => headers['idempotency-key'] ?? '')
    expect(new Set(keys.slice(0, 3)).size).to.equal(1)
    expect(keys[3]).to.not.equal(keys[0])
    for (const key of keys) expect(key).to.match(/^sdk-[0-9a-f]{32}$/)
  })

  it("have the caller's key, if there is one", async () => {
    const { tally, requests } = scriptedClient(['cut', { body: { id: 'account_1' } }])
    await tally.accounts.create({ name: 'Acme' }, { idempotencyKey: 'mine' })
    expect(requests.map(({ headers }) => headers['idempotency-key'])).to.deep.equal(['mine', 'mine'])
  })

  it('of a report have the time and the keys of the first attempt', async () => {
    const later: Step = () => {
      Date.now = () => realNow() + 5_000
      return { status: 503, body: 'try again' }
    }
    const { tally, requests, bodies } = scriptedClient([
      'cut',
      later,
      { body: { accepted: 2, event_ids: ['event_1', 'event_2'] } },
    ])
    const given = { ...EVENT, occurred_at: 1_700_000_000, idempotency_key: 'mine' }
    await tally.events.reportMany({ events: [EVENT, given] })
    expect(new Set(bodies).size).to.equal(1)
    const [first, second] = (requests[0]?.body as { events: (typeof given)[] }).events
    expect(first?.occurred_at).to.be.within(Date.now() / 1_000 - 10, Date.now() / 1_000)
    expect(first?.idempotency_key).to.match(/^[0-9a-f-]{36}$/)
    expect(second).to.deep.equal(given)
  })

  it('of one report have its time and key', async () => {
    const { tally, bodies } = scriptedClient(['cut', { body: { id: 'event_1' } }])
    await tally.events.report({ ...EVENT, quantity: 12 })
    expect(new Set(bodies).size).to.equal(1)
    expect(JSON.parse(bodies[0] as string)).to.include.keys('occurred_at', 'idempotency_key')
    expect(JSON.parse(bodies[0] as string)).to.include({ quantity: '12' })
  })

  it("of a report with the caller's request key leave the identity to that key", async () => {
    const { tally, requests } = scriptedClient(['cut', { body: { id: 'event_1' } }])
    await tally.events.report(EVENT, { idempotencyKey: 'mine' })
    expect(requests.map(({ body }) => body)).to.deep.equal([EVENT, EVENT])
  })

  it('send bytes as they are', async () => {
    const bytes = new TextEncoder().encode('{"events": []}')
    const { tally, bodies } = scriptedClient(['cut', { body: { accepted: 0, event_ids: [] } }])
    await callsOf(tally).one(OPERATIONS.reportEvents, [], { body: bytes })
    expect(bodies).to.deep.equal([bytes, bytes])
  })

  it('wait longer each time, half of it by chance, up to eight seconds', () => {
    const range = (failures: number) => [
      retryWaitMs(failures, 0, undefined),
      retryWaitMs(failures, 1, undefined),
    ]
    expect([0, 1, 2, 3, 4, 60].map(range)).to.deep.equal([
      [250, 500],
      [500, 1_000],
      [1_000, 2_000],
      [2_000, 4_000],
      [4_000, 8_000],
      [4_000, 8_000],
    ])
  })

  it('wait as long as Tally asks for, but not longer than a minute', async () => {
    const limited = (seconds: string) => status(429, { 'Retry-After': seconds })
    const { tally, waits } = scriptedClient([limited('7'), limited('0'), { body: { id: 'account_1' } }])
    await tally.accounts.get('account_1')
    expect(waits).to.deep.equal([7_000, 500])
    const patient = scriptedClient([limited('60'), { body: { id: 'account_1' } }])
    await patient.tally.accounts.get('account_1')
    expect(patient.waits).to.deep.equal([60_000])
    const long = scriptedClient([limited('61')])
    const err = await failureOf(long.tally.accounts.get('account_1'))
    expect(RateLimitedError.is(err) && err.retryAfterMs).to.equal(61_000)
    expect(long.requests.length).to.equal(1)
  })

  it('read Retry-After as seconds or as a date', () => {
    const now = Date.parse('2026-01-31T12:00:00Z')
    expect(parseRetryAfter(' 7 ', now)).to.equal(7_000)
    expect(parseRetryAfter('Sat, 31 Jan 2026 12:00:30 GMT', now)).to.equal(30_000)
    expect(parseRetryAfter('Sat, 31 Jan 2026 11:00:00 GMT', now)).to.equal(0)
    expect(parseRetryAfter('soon', now)).to.equal(undefined)
    expect(parseRetryAfter(undefined, now)).to.equal(undefined)
  })

  it('end when the caller aborts, during a wait as during a request', async () => {
    const controller = new AbortController()
    const abort = () => {
      controller.abort('enough')
      return { status: 503, body: 'try again' }
    }
    const { tally, requests } = scriptedClient([abort])
    const err = await failureOf(tally.accounts.get('account_1', { signal: controller.signal }))
    expect(AbortedError.is(err) && err.cause).to.equal('enough')
    expect(requests.length).to.equal(1)
    expect(AbortedError.is(await failureOf(tally.accounts.get('a', { signal: controller.signal })))).to.equal(
      true,
    )
    expect(requests.length).to.equal(1)
  })

  it('do not follow an answer that is not of Tally', async () => {
    const page = { headers: { 'Content-Type': 'text/html' }, body: '<form>Log in</form>' }
    const { tally, requests } = scriptedClient([page])
    expect(NotTallyError.is(await failureOf(tally.events.report(EVENT)))).to.equal(true)
    expect(requests.length).to.equal(1)
  })

  it('ask once for another key after a 401', async () => {
    let asked = 0
    const apiKey = () => Promise.resolve(`tally_test_${++asked}`)
    const answer: Step = { body: { id: 'account_1' } }
    const renewed = scriptedClient([status(401), answer, answer], { apiKey, maxRetries: 0 })
    await renewed.tally.accounts.get('account_1')
    await renewed.tally.accounts.get('account_1')
    expect(renewed.keys).to.deep.equal(['tally_test_1', 'tally_test_2', 'tally_test_2'])
    const refused = scriptedClient([status(401)], { apiKey: () => 'tally_test_same' })
    expect(ApiError.is(await failureOf(refused.tally.accounts.get('account_1')))).to.equal(true)
    expect(refused.requests.length).to.equal(1)
    const revoked = scriptedClient([status(401)], { apiKey })
    expect(ApiError.is(await failureOf(revoked.tally.accounts.get('account_1')))).to.equal(true)
    expect(revoked.requests.length).to.equal(2)
  })

  it('are the same for random failures: at most as many as allowed, always the same bytes', async () => {
    const steps = fc.array(fc.constantFrom(...FAILURES), { maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(5), async (failures, maxRetries) => {
        const { tally, bodies } = scriptedClient([...failures, { body: { id: 'grant_1' } }], { maxRetries })
        const grant = { account_id: 'account_1', metric_id: 'metric_1', amount: 5n, effective_at: 0 }
        const err = await failureOf(tally.grants.create(grant))
        expect(err === undefined).to.equal(failures.length <= maxRetries)
        expect(bodies.length).to.equal(Math.min(failures.length, maxRetries) + 1)
        expect(new Set(bodies).size).to.equal(1)
      }),
    )
  })

  it('know for each rule after which answers they may come', () => {
    const after = (rule: 'safe' | 'keyed' | 'never') =>
      [undefined, 200, 400, 408, 409, 429, 500, 503].filter((code) => mayRetry(rule, code))
    expect(after('safe')).to.deep.equal([undefined, 408, 429, 500, 503])
    expect(after('keyed')).to.deep.equal(after('safe'))
    expect(after('never')).to.deep.equal([408, 429])
    expect(new UnavailableError({ status: 503, headers: {}, text: '' }, {}).message).to.equal('status 503')
  })
})
