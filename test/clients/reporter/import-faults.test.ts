import { randomBytes } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { type Fate, type FaultyProxy, faultyProxy } from '../../support/faulty-proxy.ts'
import { type RunningTally, startTally } from '../../support/start-tally.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'
import { importWith, startReporter } from '../core/run-program.ts'
import { usageOf } from './tally-answers.ts'

const AT = Math.floor(Date.now() / 1_000) - 86_400
const BATCH_PATH = '/v2/events/batch'

describe('import through failures', () => {
  let tally: RunningTally
  let folder: string
  let proxy: FaultyProxy | undefined

  before(async function () {
    this.timeout(60_000)
    // Why a separate Tally: the test kills it.
    tally = await startTally()
    folder = await makeTempFolder('import-faults')
    await writeFile(path.join(folder, 'key'), `${tally.key}\n`)
  })
  afterEach(async () => {
    await proxy?.close()
    proxy = undefined
  })
  after(async () => {
    await tally.discard()
    await rm(folder, { recursive: true })
  })

  /** Makes a file of lines with quantity 1, many of them equal, and returns the arguments of its import. */
  async function prepare(lines: number, batchSize = 10): Promise<{ account: string; args: string[] }> {
    const account = `acme-${randomBytes(4).toString('hex')}`
    const file = path.join(folder, `${account}.csv`)
    const text = Array.from({ length: lines }, (_, n) => `${AT + (n % 3)},1`)
    await writeFile(file, ['at,tokens', ...text].join('\n'))
    const what = [
      '--file',
      file,
      '--time',
      'at',
      '--quantity',
      'tokens=tokens',
      '--account',
      account,
      '--create',
    ]
    return {
      account,
      args: [...what, '--batch-size', String(batchSize), '--key-file', path.join(folder, 'key')],
    }
  }

  /** Starts a proxy in front of Tally that fails only for batches of events. */
  async function failBatches(fateOf: (n: number) => Fate | Promise<Fate>): Promise<FaultyProxy> {
    proxy = await faultyProxy(tally.url, (_, at, n) => (at === BATCH_PATH ? fateOf(n) : 'pass'))
    return proxy
  }

  const bodiesOf = ({ seen }: FaultyProxy) =>
    seen.filter((it) => it.path === BATCH_PATH).map(({ body }) => body)

  it('counts a batch once when its answer was lost', async () => {
    const { account, args } = await prepare(95)
    const { url, ...rest } = await failBatches((n) => (n % 2 === 0 ? 'cut after' : 'pass'))
    const { code, out, err } = await importWith([...args, '--url', url, '--in-flight', '1'])
    expect(code).to.equal(0)
    expect(out).to.match(/events sent +95\n/)
    expect(err).to.contain('trying again')
    expect(bodiesOf({ url, ...rest })).to.have.length(20)
    expect(await usageOf(tally, account)).to.deep.equal({ tokens: '95/95' })
  })

  it('sends the same bytes again, and waits as long as it is asked to', async () => {
    const { account, args } = await prepare(10)
    const busy: Fate = {
      status: 503,
      headers: { 'Retry-After': '1' },
      body: 'the event log cannot be reached',
    }
    const { url, ...rest } = await failBatches((n) => (n === 0 ? busy : 'pass'))
    const startedAt = performance.now()
    const { code, err } = await importWith([...args, '--url', url])
    expect(performance.now() - startedAt).to.be.greaterThan(1_000)
    expect({ code, err: err.split(';')[0] }).to.deep.equal({
      code: 0,
      err: 'Tally answered 503 the event log cannot be reached',
    })
    const [first, second, ...others] = bodiesOf({ url, ...rest })
    expect(first).to.equal(second)
    expect(others).to.deep.equal([])
    expect(await usageOf(tally, account)).to.deep.equal({ tokens: '10/10' })
  })

  it('reports everything once through any failures', async function () {
    this.timeout(120_000)
    const fate = fc.constantFrom<Fate>(
      'pass',
      'cut before',
      'cut after',
      { status: 429, body: 'rate limit exceeded' },
      { status: 408 },
      { status: 500, body: 'internal error' },
      { status: 502, body: '<html>' },
      { status: 503, headers: { 'Retry-After': '0' } },
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(fate, { maxLength: 7 }),
        fc.integer({ min: 1, max: 4 }),
        async (fates, inFlight) => {
          const { account, args } = await prepare(60)
          const { url } = await failBatches((n) => fates[n] ?? 'pass')
          const outcome = await importWith([...args, '--url', url, '--in-flight', String(inFlight)])
          expect(outcome).to.include({ code: 0 })
          expect(await usageOf(tally, account)).to.deep.equal({ tokens: '60/60' })
          await proxy?.close()
          proxy = undefined
        },
      ),
      { numRuns: 6 },
    )
  })

  it('gives up once it has tried again for as long as it may, and goes on when it runs again', async () => {
    const { account, args } = await prepare(60)
    const { url } = await failBatches((n) => (n < 3 ? 'pass' : { status: 503, body: 'busy' }))
    const { code, out, err } = await importWith([
      ...args,
      '--url',
      url,
      '--retry-for',
      '1',
      '--in-flight',
      '1',
    ])
    expect(code).to.equal(1)
    expect(out).to.match(/events sent +30\n/)
    expect(err).to.contain('gave up, --retry-for is 1 s: Tally answered 503 busy')
    expect(await usageOf(tally, account)).to.deep.equal({ tokens: '30/30' })
    expect((await importWith([...args, '--url', tally.url])).code).to.equal(0)
    expect(await usageOf(tally, account)).to.deep.equal({ tokens: '60/60' })
  })

  it('does not wait longer than that when asked to', async () => {
    const { args } = await prepare(1)
    const { url } = await failBatches(() => ({ status: 429, headers: { 'Retry-After': '3600' } }))
    const { code, err } = await importWith([...args, '--url', url, '--retry-for', '5'])
    expect(code).to.equal(1)
    expect(err).to.contain('asks to wait 3600 s')
  })

  it('stops in one sentence when its key is refused on the way', async () => {
    const { account, args } = await prepare(60)
    const { url } = await failBatches((n) => (n < 2 ? 'pass' : { status: 401, body: 'Invalid API key' }))
    const { code, err } = await importWith([...args, '--url', url, '--in-flight', '1'])
    expect(code).to.equal(1)
    expect(err).to.equal(
      `the Tally at ${url} does not know the API key in ${path.join(folder, 'key')} (401); to make one, run: npm run keys -- issue\n`,
    )
    expect(await usageOf(tally, account)).to.deep.equal({ tokens: '20/20' })
  })

  it('does not take an answer for granted that is not Tally’s', async () => {
    const { args } = await prepare(1)
    const { url } = await failBatches(() => ({ status: 200, body: '<html>Please log in</html>' }))
    const { code, out, err } = await importWith([...args, '--url', url])
    expect(code).to.equal(1)
    expect(out).to.match(/events sent +0\n/)
    expect(err).to.contain('is this the URL of a Tally?')
  })

  it('cuts a batch in parts when it is too large', async () => {
    const { account, args } = await prepare(64, 64)
    const { seen, url } = await failBatches(() => {
      const events = (JSON.parse(seen.at(-1)?.body ?? '') as { events: unknown[] }).events.length
      return events > 10 ? { status: 413, body: 'too large' } : 'pass'
    })
    expect((await importWith([...args, '--url', url])).code).to.equal(0)
    expect(await usageOf(tally, account)).to.deep.equal({ tokens: '64/64' })
  })

  it('goes on where it was when it is interrupted', async () => {
    const { account, args } = await prepare(200)
    const { url } = await failBatches(async (n): Promise<Fate> => {
      await sleep(n > 5 ? 200 : 0)
      return 'pass'
    })
    const reporter = startReporter('import', [...args, '--url', url])
    while (bodiesOf(proxy as FaultyProxy).length < 8) await sleep(10)
    reporter.process.kill('SIGINT')
    const { code, out, err } = await reporter.ended
    expect(code).to.equal(130)
    expect(err).to.contain('run the same import again')
    const sent = Number(/events sent +(\d+)/.exec(out)?.[1])
    expect(sent).to.be.within(60, 190)
    expect(await usageOf(tally, account)).to.deep.equal({ tokens: `${sent}/${sent}` })
    expect((await importWith([...args, '--url', tally.url])).code).to.equal(0)
    expect(await usageOf(tally, account)).to.deep.equal({ tokens: '200/200' })
  })

  it('ends at once when it is interrupted while Tally is away', async () => {
    const { args } = await prepare(10)
    const controller = new AbortController()
    const startedAt = performance.now()
    setTimeout(() => {
      controller.abort()
    }, 300)
    const { code } = await importWith([...args, '--url', 'http://127.0.0.1:1'], { signal: controller.signal })
    expect(code).to.equal(130)
    expect(performance.now() - startedAt).to.be.lessThan(3_000)
  })

  it('does not wait for ever for an answer when it is interrupted', async () => {
    const { args } = await prepare(10)
    const controller = new AbortController()
    const { url } = await failBatches(() => {
      controller.abort()
      return new Promise(() => undefined)
    })
    const startedAt = performance.now()
    expect((await importWith([...args, '--url', url], { signal: controller.signal })).code).to.equal(130)
    expect(performance.now() - startedAt).to.be.within(4_500, 8_000)
  })

  it('counts everything once when the import was killed in the middle and runs again', async () => {
    const { account, args } = await prepare(200)
    const { url } = await failBatches((n) => (n > 10 ? 'cut after' : 'pass'))
    const reporter = startReporter('import', [...args, '--url', url])
    while (bodiesOf(proxy as FaultyProxy).length < 14) await sleep(5)
    reporter.process.kill('SIGKILL')
    expect((await reporter.ended).code).to.equal(null)
    expect((await importWith([...args, '--url', tally.url])).code).to.equal(0)
    expect(await usageOf(tally, account)).to.deep.equal({ tokens: '200/200' })
  })

  it('counts everything once when Tally is killed in the middle and starts again', async function () {
    this.timeout(120_000)
    const { account, args } = await prepare(20_000, 100)
    const { url } = await failBatches(async (n): Promise<Fate> => {
      if (n === 60) {
        await tally.kill9()
        tally = await startTally({ dataFolder: tally.dataFolder })
        if (proxy !== undefined) proxy.target = tally.url
        return 'cut before'
      }
      return 'pass'
    })
    expect(await importWith([...args, '--url', url])).to.include({ code: 0 })
    expect(await usageOf(tally, account)).to.deep.equal({ tokens: '20000/20000' })
    await importWith([...args, '--url', tally.url])
    expect(await usageOf(tally, account)).to.deep.equal({ tokens: '20000/20000' })
  })
})
