import { expect } from 'chai'
import { TallyClient } from '../../../clients/sdk/src/core/client.ts'
import { ConnectionError, decimals, OutcomeUnknownError, Tally } from '../../../clients/sdk/src/node.ts'
import { httpTransport } from '../../../clients/sdk/src/node/http-transport.ts'
import { failureOf } from '../../support/failure-of.ts'
import { type Fate, type FaultyProxy, faultyProxy } from '../../support/faulty-proxy.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'
import { until } from '../../support/until.ts'

const LOGIN: Fate = {
  status: 502,
  headers: { 'Content-Type': 'text/html' },
  body: '<html>Bad Gateway</html>',
}
const FATES: readonly Fate[] = [
  'cut before',
  'cut after',
  { status: 429, headers: { 'Retry-After': '0' } },
  { status: 500 },
  LOGIN,
  { status: 503 },
]
/** Every fate at each of the two attempts that may fail. */
const HISTORIES = FATES.flatMap((first) => [[first], ...FATES.map((second) => [first, second])])

describe('the SDK behind a faulty network', function () {
  this.timeout(120_000)
  let under: TallyUnderTest
  let proxy: FaultyProxy
  let fates: Fate[]
  let tally: TallyClient
  let account: string
  let metric: string

  // Why in one layout: what the client does depends only on answers, which the proxy chooses.
  before(async () => {
    under = await shareTallyUnderTest()
    proxy = await faultyProxy(under.url, (method) => (method === 'GET' ? 'pass' : (fates.shift() ?? 'pass')))
    tally = new TallyClient(
      { url: proxy.url, apiKey: under.key },
      { transport: httpTransport, wait: () => Promise.resolve() },
    )
    fates = []
    account = (await tally.accounts.create({ name: 'a' })).id
    metric = (await tally.metrics.create({ name: 'm' })).id
  })
  beforeEach(() => {
    proxy.seen.length = 0
  })
  after(async () => {
    tally.close()
    await proxy.close()
  })

  it('makes what a keyed request makes once, and answers with it, whatever happens to two attempts', async () => {
    for (const [n, history] of HISTORIES.entries()) {
      fates = [...history]
      const external_id = `faulty ${n}`
      const made = await tally.accounts.create({ name: 'once', external_id })
      expect(made.external_id, JSON.stringify(history)).to.equal(external_id)
      expect((await tally.accounts.getByExternalId(external_id)).id).to.equal(made.id)
    }
    const granted = []
    for (const history of HISTORIES) {
      fates = [...history]
      granted.push(
        (await tally.grants.create({ account_id: account, currency: 'eur', amount: 1, effective_at: 0 })).id,
      )
    }
    expect(new Set(granted).size).to.equal(HISTORIES.length)
    expect(await tally.accounts.balance(account, { currency: 'eur' })).to.include({
      grant_total: String(HISTORIES.length),
    })
  })

  it('sends the same key and the same bytes at each attempt', async () => {
    fates = ['cut before', 'cut after']
    await tally.products.create({ name: 'once' })
    const posts = proxy.seen.filter(({ method }) => method === 'POST')
    expect(posts.length).to.equal(3)
    expect(new Set(posts.map(({ body }) => body)).size).to.equal(1)
  })

  it('counts reported usage once', async () => {
    let total = '0'
    for (const history of HISTORIES) {
      fates = [...history]
      await tally.events.report({ account_id: account, metric_id: metric, quantity: '0.1' })
      fates = [...history]
      const event = { account_id: account, metric_id: metric, quantity: 1n }
      const answer = await tally.events.reportMany({ events: [event, event] })
      expect(answer.accepted).to.equal(2)
      total = decimals.add(total, '2.1')
    }
    const usage = async () => (await tally.accounts.balance(account, { metric_id: metric })).usage_total
    await until(async () => decimals.compare(await usage(), total) >= 0)
    expect(await usage()).to.equal(total)
  })

  it('names the key whose answer was lost', async () => {
    fates = ['cut after']
    const err = await failureOf(tally.apiKeys.create({ name: 'lost', permissions: ['read:all'] }))
    if (!OutcomeUnknownError.is(err) || err.id === undefined) throw new Error('the lost key is not named')
    expect(await tally.apiKeys.get(err.id)).to.include({ name: 'lost' })
    await tally.apiKeys.revoke(err.id)
  })

  it('gives up after the third failure', async () => {
    fates = ['cut before', { status: 503 }, 'cut before', 'pass']
    const err = await failureOf(tally.accounts.create({ name: 'never' }))
    expect(ConnectionError.is(err) && err.attempts).to.equal(3)
    fates = []
  })

  it('repeats nothing when it must not', async () => {
    fates = ['cut after']
    const once = new Tally({ url: proxy.url, apiKey: under.key, maxRetries: 0 })
    expect(ConnectionError.is(await failureOf(once.accounts.create({ name: 'once' })))).to.equal(true)
    expect(proxy.seen.length).to.equal(1)
  })
})
