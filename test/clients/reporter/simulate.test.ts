import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { earliestSecond } from '../../../shared/domain/period.ts'
import { type Fate, type FaultyProxy, faultyProxy } from '../../support/faulty-proxy.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'
import { simulateWith } from '../core/run-program.ts'
import { accountIdOf, askJson, usageOf } from './tally-answers.ts'

describe('simulate', () => {
  let tally: TallyUnderTest

  before(async function () {
    this.timeout(60_000)
    tally = await shareTallyUnderTest()
  })
  after(() => tally.end())

  const run = (args: string[], url = tally.url) =>
    simulateWith(['--url', url, ...args], { env: { TALLY_API_KEY: tally.key } })

  const BUSY = [
    '--rate',
    'max',
    '--accounts',
    '20',
    '--late',
    '20',
    '--duplicates',
    '20',
    '--probe-every',
    '200',
    '--verify',
  ]

  it('ends with exact totals, late events and duplicates included, run after run on the same accounts', async () => {
    for (const seed of ['1', '2']) {
      const { code, out, err } = await run([...BUSY, '--events', '3000', '--seed', seed])
      expect({ code, err }).to.deep.equal({ code: 0, err: '' })
      expect(out.split('\n')[0]).to.equal(
        `made-up usage for a live company at ${tally.url} (key: TALLY_API_KEY): as fast as possible, up to 3,000 events`,
      )
      expect(out).to.contain('waiting until all is visible')
      expect(out).to.match(/3,000 events in .*; [1-9]\d+ late, [2-6]\d\d duplicates/)
      expect(out).to.match(/verified +80 totals of 20 accounts are exact/)
    }
    expect(await usageOf(tally, 'simulated-1')).to.have.all.keys(
      'simulated_input_tokens',
      'simulated_output_tokens',
      'simulated_compute_seconds',
      'usd',
    )
  })

  it('tells how fast it was acknowledged, and how soon it was visible', async () => {
    const { out } = await run([
      '--rate',
      '500',
      '--seconds',
      '2.5',
      '--probe-every',
      '100',
      '--accounts',
      '3',
    ])
    expect(out).to.match(/^ +1 s {2}sent [\d,]+\/s {2}acknowledged [\d,]+\/s {2}latency p50 [\d.]+ ms p99/m)
    expect(out).to.match(/acknowledged +1,3\d\d events|acknowledged +1,2\d\d events/)
    const [, probes] =
      /accepted to visible p50 [\d.]+ ms p99 [\d.]+ ms, max [\d.]+ ms, of (\d+) probes/.exec(out) ?? []
    expect(Number(probes)).to.be.greaterThan(1)
  })

  it('notices when totals are off by one event', async function () {
    this.timeout(60_000)
    // given: another client reports usage of one of the accounts during the run
    await run(['--events', '1', '--accounts', '3', '--probe-every', '0'])
    const account = await accountIdOf(tally, 'simulated-2')
    const stranger = { account_id: account, currency: 'usd', quantity: '0.000000000000000001' }
    const proxy = await faultyProxy(tally.url, async (_, path, n): Promise<Fate> => {
      if (path === '/v2/events/batch' && n === 3) await askJson(tally, '/v2/events', stranger)
      return 'pass'
    })
    // when
    const args = ['--rate', 'max', '--events', '1000', '--accounts', '3', '--probe-every', '0', '--verify']
    const { code, err } = await run([...args, '--verify-seconds', '1'], proxy.url)
    await proxy.close()
    // then
    expect(code).to.equal(1)
    expect(err).to.match(
      new RegExp(`^WRONG: ${account} usd: the sum should be .*, but is .*\n1 totals are wrong`),
    )
  })

  describe('a run with a name', () => {
    const nameRun = () => [
      '--run',
      `test-${randomBytes(4).toString('hex')}`,
      '--start-at',
      new Date(Math.floor(Date.now() / 1_000) * 1_000 - 86_400_000).toISOString(),
    ]

    it('is the same events when it runs again, through failures too', async () => {
      // given
      const named = [...nameRun(), ...BUSY, '--events', '2000']
      let proxy: FaultyProxy | undefined
      try {
        proxy = await faultyProxy(tally.url, (_, path, n) =>
          path === '/v2/events/batch' && n % 3 === 0 ? 'cut after' : 'pass',
        )
        const first = await run(named, proxy.url)
        expect(first.code).to.equal(0)
        expect(first.err).to.contain('trying again')
      } finally {
        await proxy?.close()
      }
      // when, then: in other batches, and over other connections
      const again = await run([...named, '--batch-size', '37', '--connections', '1'])
      expect(again.code).to.equal(0)
      expect(again.out).to.contain('are exact')
    })

    it('is exact no more when other events are added to it', async () => {
      const named = [
        ...nameRun(),
        '--rate',
        'max',
        '--events',
        '400',
        '--accounts',
        '2',
        '--probe-every',
        '0',
      ]
      expect((await run([...named, '--seed', 'a'])).code).to.equal(0)
      const { code, err } = await run([...named, '--seed', 'b', '--verify', '--verify-seconds', '1'])
      expect(code).to.equal(1)
      expect(err).to.contain('totals are wrong')
    })
  })

  it('goes on by the clock when answers are slow, and says that it is behind', async function () {
    this.timeout(60_000)
    const proxy = await faultyProxy(tally.url, async (_, path): Promise<Fate> => {
      if (path === '/v2/events/batch') await new Promise((resolve) => setTimeout(resolve, 200))
      return 'pass'
    })
    const args = [
      '--rate',
      '1000',
      '--seconds',
      '2',
      '--connections',
      '2',
      '--accounts',
      '2',
      '--probe-every',
      '0',
    ]
    const { code, out } = await run([...args, '--batch-size', '50'], proxy.url)
    await proxy.close()
    expect(code).to.equal(0)
    // 2 connections and 5 answers a second each: 500 events a second of 1,000
    expect(Number(/behind schedule +([\d.]+) s at most/.exec(out)?.[1])).to.be.within(0.5, 1.5)
    expect(out).to.contain('were due and not sent')
    expect(out).to.contain('BEHIND by')
    // latency counts from when a request was due
    expect(Number(/request latency +p50 [\d.]+ ms p99 (\d+) ms/.exec(out)?.[1])).to.be.greaterThan(700)
  })

  for (const [what, args, reason] of [
    ['a run without a start', ['--run', 'x'], '--run needs --start-at'],
    ['a rate that is none', ['--rate', 'fast'], '--rate must be'],
    ['half an account', ['--accounts', '1.5'], '--accounts must be a whole number'],
    ['more than all', ['--late', '101'], '--late must be'],
    ['a start too long ago', ['--start-at', '2001-01-01'], '--start-at lies more than five years back'],
    [
      'a start to come',
      ['--start-at', '2100-01-01T00:00:00Z'],
      '--start-at lies more than five minutes ahead',
    ],
    [
      'late events before all usage',
      ['--start-at', new Date(Date.now() - 5 * 365 * 86_400_000 + 3_600_000).toISOString()],
      'give --late 0',
    ],
    [
      'late events half a minute before all usage',
      [
        '--start-at',
        new Date((earliestSecond(Date.now() / 1_000) + 3_600 + 30) * 1_000).toISOString(),
        '--late-hours',
        '1',
      ],
      'give --late 0',
    ],
  ] as [string, string[], string][])
    it(`refuses ${what} with exit code 2`, async () => {
      const { code, err } = await run(args)
      expect(code).to.equal(2)
      expect(err).to.contain(reason)
    })

  it('stops when it is interrupted', async () => {
    const controller = new AbortController()
    setTimeout(() => {
      controller.abort()
    }, 1_000)
    const args = ['--url', tally.url, '--accounts', '2', '--seconds', '60']
    const { code, out } = await simulateWith(args, {
      env: { TALLY_API_KEY: tally.key },
      signal: controller.signal,
    })
    expect(code).to.equal(130)
    expect(out).to.contain('acknowledged')
  })

  it('explains itself', async () => {
    const { code, out } = await run(['--help'])
    expect(code).to.equal(0)
    expect(out).to.contain('usage: npm run simulate')
  })
})
