import { expect } from 'chai'
import { Tally } from '../../../../clients/sdk/src/node.ts'
import {
  GaveUpError,
  InvalidEventError,
  RejectedEventError,
  ReporterClosedError,
  ReporterFullError,
  UnsentError,
} from '../../../../clients/sdk/src/reporter/errors.ts'
import type { ReporterOptions, ReporterProblem } from '../../../../clients/sdk/src/reporter/options.ts'
import { UsageReporter } from '../../../../clients/sdk/src/reporter/usage-reporter.ts'
import { failureOf } from '../../../support/failure-of.ts'
import type { Fate } from '../../../support/faulty-proxy.ts'
import { makeTempFolder } from '../../../support/temp-folder.ts'
import { until } from '../../../support/until.ts'
import { ACCOUNT, type FakeEvent, type FakeTally, fakeTally, METRIC } from './fake-tally.ts'

const EVENT = { account: ACCOUNT, metric: METRIC, quantity: '1' }
const AWAY = 'http://127.0.0.1:1'

const keyOf = (event: string) => (JSON.parse(event) as FakeEvent).idempotency_key

describe('the reporter without a spool', () => {
  let tally: FakeTally
  let reporters: UsageReporter[]

  beforeEach(async () => {
    tally = await fakeTally()
    reporters = []
  })
  afterEach(async () => {
    await Promise.all(reporters.map((one) => one.close({ deadlineMs: 0 }).catch(() => undefined)))
    await tally.close()
  })

  function open(options: ReporterOptions = {}, url = tally.url): UsageReporter {
    const client = new Tally({ url, apiKey: 'tally_live_key' })
    const reporter = new UsageReporter(client, { lingerMs: 10, ...options })
    reporters.push(reporter)
    return reporter
  }

  const keys = () => [...tally.counted.values()].map(({ idempotency_key: key }) => key).sort()
  const sizes = () => tally.batches.map(({ length }) => length)

  it('resolves once Tally has the event', async () => {
    const reporter = open()
    await reporter.report({ ...EVENT, key: 'k', occurredAt: 1_700_000_000, properties: { model: 'large' } })
    expect([...tally.counted.values()]).to.deep.equal([
      {
        account_id: ACCOUNT,
        metric_id: METRIC,
        quantity: '1',
        occurred_at: 1_700_000_000,
        idempotency_key: 'k',
        properties: { model: 'large' },
      },
    ])
    expect(await reporter.close()).to.deep.equal({ accepted: 1, kept: 0, rejected: 0 })
  })

  for (const way of ['without a spool', 'with one'])
    it(`tells checks of balances when usage comes and when none is left, ${way}`, async () => {
      const dir = await makeTempFolder('watched')
      const reporter = open(way === 'with one' ? { spool: { dir } } : {})
      const told: unknown[] = []
      reporter.watch({
        added: ({ account, metric, quantity }) => told.push([account, metric, quantity]),
        settled: (oldestUnsentAgeMs) => told.push(oldestUnsentAgeMs),
      })
      tally.fate = (n) => (n < 2 ? { status: 503, body: 'busy' } : 'pass')
      reporter.add({ ...EVENT, quantity: '7' })
      expect(told).to.deep.equal([[ACCOUNT, METRIC, '7']])
      await reporter.flush()
      expect(told).to.deep.equal([[ACCOUNT, METRIC, '7'], 0])
    })

  it('sends as its client does: with its hooks, and with another key when Tally refuses one', async () => {
    const sent: string[] = []
    let asked = 0
    tally.fate = (n) => (n === 0 ? { status: 401, body: 'Invalid API key' } : 'pass')
    const client = new Tally({
      url: tally.url,
      apiKey: () => `tally_live_${++asked}`,
      hooks: {
        onRequest: ({ operation, attempt }) => sent.push(`${operation} ${attempt}`),
        onResponse: ({ status }) => sent.push(String(status)),
      },
    })
    const reporter = new UsageReporter(client, { lingerMs: 0 })
    reporters.push(reporter)
    await reporter.report(EVENT)
    expect(sent).to.deep.equal(['reportEvents 1', '401', 'reportEvents 2', '202'])
    expect(asked).to.equal(2)
    expect(reporter.stats()).to.include({ state: 'ok', accepted: 1, resentRequests: 0 })
  })

  it('ends its requests when it closes, and leaves the client as it is', async () => {
    tally.fate = (n) => (n === 0 ? new Promise<never>(() => undefined) : 'pass')
    const client = new Tally({ url: tally.url, apiKey: 'tally_live_key' })
    const [first, second] = [0, 1].map(() => new UsageReporter(client, { lingerMs: 0 }))
    first?.add(EVENT)
    await until(() => Promise.resolve(tally.batches.length === 1))
    expect(await failureOf(first?.close({ deadlineMs: 0 }) ?? Promise.resolve())).to.be.instanceOf(
      UnsentError,
    )
    await second?.report(EVENT)
    expect(await second?.close()).to.include({ accepted: 1 })
  })

  it('sends the same event again when its answer was lost', async () => {
    tally.fate = (n) => (n < 2 ? 'cut after' : 'pass')
    await open().report(EVENT)
    const [first, second, third] = tally.batches
    expect(second).to.deep.equal(first)
    expect(third).to.deep.equal(first)
    expect(tally.counted.size).to.equal(1)
  })

  it('waits as long as Tally asks', async () => {
    tally.fate = (n) => (n === 0 ? { status: 503, headers: { 'Retry-After': '1' } } : 'pass')
    await open().report(EVENT)
    expect((tally.times[1] ?? 0) - (tally.times[0] ?? 0)).to.be.at.least(1_000)
  })

  it('sends a full batch at once, and the rest when its first event has lingered', async () => {
    const reporter = open({ batchEvents: 3, lingerMs: 150 })
    const startedAt = performance.now()
    for (let n = 0; n < 7; n++) reporter.add({ ...EVENT, key: String(n) })
    await until(() => Promise.resolve(tally.counted.size === 6))
    expect(performance.now() - startedAt).to.be.lessThan(150)
    await until(() => Promise.resolve(tally.counted.size === 7))
    expect(performance.now() - startedAt).to.be.at.least(150)
    expect(sizes()).to.deep.equal([3, 3, 1])
  })

  it('tries one batch while Tally fails, and several after a success', async () => {
    let open_ = 0
    let most = 0
    tally.fate = async (n) => {
      most = Math.max(most, ++open_)
      await new Promise((resolve) => setTimeout(resolve, 20))
      open_--
      if (n === 3) most = 0
      return n < 4 ? { status: 500 } : 'pass'
    }
    const reporter = open({ batchEvents: 1, inFlight: 3 })
    for (let n = 0; n < 12; n++) reporter.add({ ...EVENT, key: String(n) })
    await reporter.flush()
    expect(tally.counted.size).to.equal(12)
    expect(most).to.equal(3)
    const first = tally.times.slice(3, 5)
    expect((first[1] ?? 0) - (first[0] ?? 0), 'the second attempt waits').to.be.greaterThan(20)
  })

  it('refuses the form of an event before anything is done', async () => {
    const reporter = open()
    for (const wrong of [
      { ...EVENT, account: 'acme' },
      { ...EVENT, metric: undefined },
      { ...EVENT, currency: 'usd' },
      { ...EVENT, quantity: 0.5 },
      { ...EVENT, quantity: 2 ** 53 },
      { ...EVENT, quantity: '1e3' },
      { ...EVENT, quantity: '' },
      { ...EVENT, occurredAt: 1.5 },
      { ...EVENT, occurredAt: new Date(Number.NaN) },
      { ...EVENT, key: '' },
      { ...EVENT, key: 'a\0' },
      { ...EVENT, key: '\ud800' },
      { ...EVENT, key: 'x'.repeat(257) },
      { ...EVENT, account: { externalId: '' } },
      { ...EVENT, properties: { big: 1n } },
      { ...EVENT, properties: { large: 'x'.repeat(16_384) } },
    ]) {
      expect(() => reporter.add(wrong)).to.throw(InvalidEventError)
      expect(await failureOf(reporter.report(wrong))).to.be.instanceOf(InvalidEventError)
    }
    expect(await reporter.flush()).to.equal(true)
    expect(tally.paths).to.deep.equal([])
  })

  it('refuses a new event when the queue is full, and drops none', async () => {
    const reporter = open({ queueEvents: 4, batchEvents: 1, inFlight: 1 })
    let let_: () => void = () => undefined
    const gate = new Promise<void>((resolve) => (let_ = resolve))
    tally.fate = () => gate.then((): Fate => 'pass')
    const answers = [0, 1, 2, 3].map((n) => reporter.add({ ...EVENT, key: String(n) }))
    expect(answers).to.deep.equal([true, false, false, false])
    expect(() => reporter.add({ ...EVENT, key: '4' })).to.throw(ReporterFullError)
    expect(reporter.stats().state).to.equal('full')
    const ready = reporter.ready()
    let_()
    await ready
    reporter.add({ ...EVENT, key: '5' })
    await reporter.flush()
    expect(keys()).to.deep.equal(['0', '1', '2', '3', '5'])
  })

  it('sets a refused event aside, and sends the others of its batch at once', async () => {
    tally.fault = ({ quantity }) => (quantity === '-1' ? 'quantity: is odd' : undefined)
    const refused: [string, string][] = []
    const reporter = open({ onRejected: (event, reason) => refused.push([event, reason]) })
    reporter.add({ ...EVENT, key: 'good' })
    const failure = await failureOf(reporter.report({ ...EVENT, key: 'bad', quantity: -1 }))
    expect(failure).to.be.instanceOf(RejectedEventError)
    expect((failure as RejectedEventError).reason).to.equal('quantity: is odd')
    await reporter.flush()
    expect(keys()).to.deep.equal(['good'])
    expect(refused.map(([event, reason]) => [keyOf(event), reason])).to.deep.equal([
      ['bad', 'quantity: is odd'],
    ])
    expect(await reporter.close()).to.deep.equal({ accepted: 1, kept: 0, rejected: 1 })
  })

  it('keeps everything while its key is refused, and says so once', async () => {
    const problems: ReporterProblem[] = []
    let isKnown = false
    tally.fate = () => (isKnown ? 'pass' : { status: 401, body: 'Invalid API key' })
    const reporter = open({ onProblem: (problem) => problems.push(problem), batchEvents: 1, inFlight: 2 })
    for (let n = 0; n < 5; n++) reporter.add({ ...EVENT, key: String(n) })
    await until(() => Promise.resolve(reporter.stats().state === 'blocked'))
    expect(problems).to.deep.equal([{ state: 'blocked', text: '401 Invalid API key' }])
    isKnown = true
    expect(reporter.stats()).to.include({ queuedEvents: 5, rejected: 0, lastError: '401 Invalid API key' })
  })

  it('does not take a page for an answer', async () => {
    tally.fate = () => ({ status: 200, body: '<html>Please log in</html>' })
    const reporter = open()
    reporter.add(EVENT)
    await until(() => Promise.resolve(reporter.stats().state === 'blocked'))
    expect(reporter.stats()).to.include({ accepted: 0, queuedEvents: 1 })
  })

  it('holds an event that is ahead of Tally’s clock', async () => {
    const servedAt = new Date(Math.floor(Date.now() / 1_000) * 1_000)
    tally.fate = (n) =>
      n > 0
        ? 'pass'
        : {
            status: 422,
            headers: { Date: servedAt.toUTCString(), 'Content-Type': 'text/plain' },
            body: 'events[0].occurred_at: lies ahead',
          }
    const reporter = open()
    const reported = reporter.report({ ...EVENT, occurredAt: servedAt.getTime() / 1_000 + 1 })
    await until(() => Promise.resolve(reporter.stats().heldEvents === 1))
    await reported
    expect((tally.times[1] ?? 0) - (tally.times[0] ?? 0)).to.be.at.least(990)
    expect(tally.counted.size).to.equal(1)
  })

  it('gives an event back when Tally cannot be reached, so that it can be reported again', async () => {
    const failure = await failureOf(open({ giveUpAfterMs: 300 }, AWAY).report({ ...EVENT, key: 'k' }))
    expect(failure).to.be.instanceOf(GaveUpError)
    const event = JSON.parse((failure as GaveUpError).event) as Record<string, unknown>
    expect(event).to.include({ account_id: ACCOUNT, metric_id: METRIC, quantity: '1', idempotency_key: 'k' })
    expect(event['occurred_at']).to.be.closeTo(Date.now() / 1_000, 5)
  })

  it('looks external ids up once, and sends ids', async () => {
    tally.ids.set('accounts/acme/é', ACCOUNT).set('metrics/tokens', METRIC)
    const reporter = open({ batchEvents: 2 })
    for (let n = 0; n < 4; n++)
      reporter.add({
        account: { externalId: 'acme/é' },
        metric: { externalId: 'tokens' },
        quantity: n,
        key: `${n}`,
      })
    await reporter.flush()
    expect([...tally.counted.values()].map((event) => [event.account_id, event.metric_id])).to.deep.equal(
      Array.from({ length: 4 }, () => [ACCOUNT, METRIC]),
    )
    expect(tally.paths.filter((path) => path.includes('external-id'))).to.have.length(2)
  })

  it('sets an event aside whose account is not found, or makes the account', async () => {
    const event = { account: { externalId: 'new' }, currency: 'usd', quantity: '1' }
    for (const externalId of ['new', '..'])
      expect(await failureOf(open().report({ ...event, account: { externalId } }))).to.be.instanceOf(
        RejectedEventError,
      )
    await open({ createAccounts: true }).report(event)
    expect(tally.counted.size).to.equal(1)
  })

  it('waits in flush for what is under way', async () => {
    let isAnswered = false
    tally.fate = async (): Promise<Fate> => {
      await new Promise((resolve) => setTimeout(resolve, 200))
      isAnswered = true
      return 'pass'
    }
    const reporter = open({ lingerMs: 0 })
    reporter.add(EVENT)
    await until(() => Promise.resolve(tally.batches.length === 1))
    expect(await reporter.flush({ timeoutMs: 10 })).to.equal(false)
    expect(await reporter.flush()).to.equal(true)
    expect(isAnswered).to.equal(true)
  })

  it('does not linger in flush', async () => {
    const reporter = open({ lingerMs: 60_000 })
    reporter.add(EVENT)
    expect(await reporter.flush()).to.equal(true)
    expect(tally.counted.size).to.equal(1)
  })

  it('gives back what it could not send when it closes', async () => {
    const reporter = open({}, AWAY)
    const reported = failureOf(reporter.report({ ...EVENT, key: 'a' }))
    reporter.add({ ...EVENT, key: 'b' })
    const failure = await failureOf(reporter.close({ deadlineMs: 50 }))
    expect(failure).to.be.instanceOf(UnsentError)
    const left = (failure as UnsentError).events.map(keyOf)
    expect(left.sort()).to.deep.equal(['a', 'b'])
    expect(await reported).to.be.instanceOf(GaveUpError)
    expect(() => reporter.add(EVENT)).to.throw(ReporterClosedError)
  })

  it('closes at the end of a block', async () => {
    {
      await using reporter = open({ lingerMs: 60_000 })
      reporter.add(EVENT)
    }
    expect(tally.counted.size).to.equal(1)
  })

  it('registers one promise for each burst', async () => {
    const promises: Promise<unknown>[] = []
    const reporter = open({ lingerMs: 60_000, waitUntil: (promise) => promises.push(promise) })
    for (let n = 0; n < 10; n++) reporter.add({ ...EVENT, key: String(n) })
    expect(promises).to.have.length(1)
    await Promise.all(promises)
    expect(tally.counted.size).to.equal(10)
    reporter.add(EVENT)
    expect(promises).to.have.length(2)
    await Promise.all(promises)
    expect(tally.counted.size).to.equal(11)
  })
})
