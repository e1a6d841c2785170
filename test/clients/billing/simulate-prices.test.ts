import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { readSimulatePricesOptions } from '../../../clients/billing/simulate-prices/simulate-prices-options.ts'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'
import { simulatePricesWith } from '../core/run-program.ts'
import { askJson } from '../reporter/tally-answers.ts'

interface Named {
  id: string
}

const DAY = 86_400
/** The usage of accounts in one metric. 104 more accounts have 1 each, so that there is a second page. */
const USED = ['500', '1000', '1000.5', '2000', '5000']
const OTHERS = 104

describe('simulate-prices', function () {
  this.timeout(60_000)
  let shared: TallyUnderTest
  /** With the key of its test company, because only a test company has a drain. */
  let tally: Pick<TallyUnderTest, 'url' | 'key'>
  let folder: string
  /** The first second of last month. */
  let month: number
  let accounts: string[]
  let metric: string
  let rateId: string
  let newPrice: string

  before(async () => {
    shared = await shareTallyUnderTest()
    tally = { url: shared.url, key: shared.testKey }
    folder = await makeTempFolder('simulate-prices')
    const now = new Date()
    month = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1) / 1_000
    metric = (await askJson<Named>(tally, '/v2/metrics', { name: 'tokens' })).id
    accounts = []
    for (let n = 0; n < USED.length + OTHERS; n++)
      accounts.push((await askJson<Named>(tally, '/v2/accounts', { name: 'a' })).id)
    const events = accounts.map((account_id, n) => ({
      ...{ account_id, metric_id: metric, quantity: USED[n] ?? '1', occurred_at: month + DAY },
    }))
    await askJson(tally, '/v2/events/batch', { events })
    await askJson(tally, '/v2/test/drain', { timeout: 20 })
    const product = (await askJson<Named>(tally, '/v2/products', { name: 'p' })).id
    const price = async (terms: object) =>
      (await askJson<Named>(tally, '/v2/prices', { product_id: product, currency: 'usd', ...terms })).id
    newPrice = await price({
      model: 'graduated',
      tiers: [
        { up_to: '1000', unit_amount: '0.012' },
        { up_to: null, unit_amount: '0.006' },
      ],
    })
    const card = async (name: string, price_id: string) =>
      askJson<Named & { rates: Named[] }>(tally, '/v2/rate-cards', {
        ...{ name, external_id: name, currency: 'usd', rates: [{ metric_id: metric, price_id }] },
      })
    rateId = (await card('old', await price({ model: 'per_unit', unit_amount: '0.01' }))).rates[0]?.id ?? ''
    await card('new', newPrice)
  })
  after(async () => {
    await shared.end()
    await rm(folder, { recursive: true, force: true })
  })

  const run = (args: string[], key = tally.key) =>
    simulatePricesWith(['--url', tally.url, ...args], { env: { TALLY_API_KEY: key } })
  const timeText = (second: number) =>
    `${new Date(second * 1_000).toISOString().slice(0, 19).replace('T', ' ')} UTC`

  it('shows last month as a table, how many pay more, and how the differences are distributed', async () => {
    const { code, out, err } = await run(['--card', 'new', '--against', 'old'])
    expect({ code, err }).to.deep.equal({ code: 0, err: '' })
    const lines = out.split('\n')
    const [, , , , head, total] = lines
    const end = Date.UTC(
      new Date(month * 1_000).getUTCFullYear(),
      new Date(month * 1_000).getUTCMonth() + 1,
      1,
    )
    expect(lines.slice(0, 2)).to.deep.equal([
      `rate card "new" against "old", at ${tally.url} (key: TALLY_API_KEY)`,
      `usage from ${timeText(month)} to ${timeText(end / 1_000)}, one period`,
    ])
    expect(lines[2]).to.match(/^in usd, with all usage that was accepted before \d{4}-.* UTC$/)
    expect(head).to.match(/^ +baseline +candidate +difference$/)
    // 104 times 0.01 either way, and of the others 95.01 and 84.
    expect(total).to.match(/^109 accounts +96\.05 +85\.04 +-11\.01 +-11\.5 %$/)
    expect(out).to.match(/^pay more +3 +3 % {2}█$/m)
    expect(out).to.match(/^pay less +2 +2 % {2}█$/m)
    expect(out).to.match(/^pay the same +104 +95 % {2}█{40}$/m)
    expect(out).to.match(/5 % +25 % +half +75 % +95 %\n +0 +0 +0 +0 +0\n {2}┃$/m)
    const rows = (title: string) =>
      [...out.slice(out.indexOf(`\n${title} `, out.indexOf('half'))).matchAll(/^(account_\w+) +(.*)$/gm)].map(
        ([, id = '', cells = '']) => `${accounts.indexOf(id)}: ${cells.replace(/ +/g, ' ')}`,
      )
    expect(rows('pay more')).to.deep.equal([
      '1: 10 12 +2 +20 %',
      '2: 10.01 12 +1.99 +19.9 %',
      '0: 5 6 +1 +20 %',
      '4: 50 36 -14 -28 %',
      '3: 20 18 -2 -10 %',
    ])
    expect(rows('pay less')).to.have.length(2)
  })

  it('draws where most differences lie', async () => {
    const named = accounts.slice(0, USED.length).flatMap((id) => ['--account', id])
    const { out } = await run(['--card', 'new', '--against', 'old', ...named])
    // The axis from -14 to 2 has 60 columns: -2 is in the 45th, 1 in the 56th, and 1.99 in the last.
    expect(out).to.match(/ +-14 +-2 +\+1 +\+1\.99 +\+2\n {2}├─{43}█{11}┃█{4}\n/)
    expect(out.match(/^account_/gm)).to.have.length(USED.length)
  })

  it('lists all accounts, page by page, also as JSON', async () => {
    const listed = await run(['--card', 'new', '--against', 'old', '--all'])
    expect([...listed.out.matchAll(/^(account_\w+)/gm)].map(([, id]) => id)).to.deep.equal(
      accounts.toSorted(),
    )
    const { code, out } = await run(['--card', 'new', '--against', 'old', '--all', '--json'])
    expect(code).to.equal(0)
    const { totals, data, currency, ...rest } = JSON.parse(out) as SchemaOf<'Simulation'>
    expect(Object.keys(rest)).to.deep.equal(['usage_as_of'])
    expect(currency).to.equal('usd')
    expect(totals).to.deep.include({ accounts: 109, candidate: '85.04' })
    expect(data.map(({ account_id: id }) => id)).to.deep.equal(accounts.toSorted())
    const few = await run(['--card', 'new', '--against', 'old', '--json'])
    expect((JSON.parse(few.out) as SchemaOf<'Simulation'>).data).to.deep.equal([])
  })

  it('tries a change out, of a card named by its id, over periods', async () => {
    const file = path.join(folder, 'changes.json')
    await writeFile(file, JSON.stringify({ end: [rateId], add: [{ metric_id: metric, price_id: newPrice }] }))
    const { data } = await askJson<{ data: Named[] }>(tally, '/v2/rate-cards?external_id=old')
    const card = data[0]?.id ?? ''
    const args = ['--card', card, '--against', 'none', '--account', accounts[4] ?? '']
    const days = ['--from', String(month), '--to', String(month + 2 * DAY), '--cadence', 'day']
    const changed = await run([...args, ...days, '--changes', file])
    expect(changed.out)
      .to.contain('against nothing')
      .and.to.match(/by day$/m)
    expect(changed.out).to.match(/^1 account +0 +36 +\+36$/m)
    expect((await run([...args, ...days])).out).to.match(/^1 account +0 +50 +\+50$/m)
    await writeFile(file, '{')
    const broken = await run([...args, '--changes', file])
    expect(broken.code).to.equal(1)
    expect(broken.err).to.match(/^--changes: .*changes\.json cannot be read as JSON: /)
    await writeFile(file, '{"add":[{"discount_percent":0.5}]}')
    expect((await run([...args, '--changes', file])).err).to.match(/^--changes: discount_percent: 0.5 is not/)
  })

  it('says why it is refused', async () => {
    const { key: writer } = await issueWriter()
    const refused: [args: string[], code: number, err: RegExp, key?: string][] = [
      [[], 2, /^--card is required/],
      [['--card', 'new', '--to', '2026-01-01'], 2, /^--to needs --from/],
      [
        ['--card', 'new', '--from', '2026-01-02', '--to', '2026-01-01'],
        2,
        /^the end \(--to, or else now\) must be after --from/,
      ],
      [['--card', 'new', '--from', 'then'], 2, /^--from: "then" is not a time/],
      [['--card', 'new', '--cadence', 'hour'], 2, /^--cadence must be one of day,/],
      [['--card', 'new', '--all', '--account', 'a'], 2, /^--account and --all/],
      [['--card', 'new', ...Array.from({ length: 101 }, () => ['--account', 'a']).flat()], 2, /100 times/],
      [['--card', 'none'], 1, /^--card: there is no rate card with the id or external_id "none"\n$/],
      [['--card', `rate_card_${'0'.repeat(32)}`], 1, /^--card: there is no rate card/],
      [['--card', 'new', '--against', 'other'], 1, /^--against: there is no rate card/],
      [
        ['--card', 'new', '--account', `account_${'0'.repeat(32)}`],
        1,
        /^Tally refuses this: account_ids\[0\]/,
      ],
      [['--card', 'new', '--account', 'a'], 1, /^Tally refuses this: .*account_ids/],
      [['--card', 'new'], 1, /^the API key may not do this \(403\)/, writer],
    ]
    for (const [args, code, err, key] of refused) {
      const outcome = await run(args, key)
      expect(outcome.code, args.join(' ')).to.equal(code)
      expect(outcome.err, args.join(' ')).to.match(err)
    }
    const help = await run(['--help'])
    expect(help.code).to.equal(0)
    expect(help.out).to.contain('usage: npm run simulate-prices -- --card CARD [options]')
  })

  const issueWriter = async () =>
    askJson<{ key: string }>(tally, '/v2/api-keys', { name: 'w', permissions: ['write:all'] })

  it('means last month unless it is told otherwise, and until now with a start alone', () => {
    const at = (text: string) => Date.parse(text) / 1_000
    const rangeOf = (now: string, ...args: string[]) => {
      const { startAt, endAt } = readSimulatePricesOptions(['--card', 'c', ...args], at(now)) ?? {}
      return [startAt, endAt]
    }
    expect(rangeOf('2026-01-15T12:00:00Z')).to.deep.equal([at('2025-12-01'), at('2026-01-01')])
    expect(rangeOf('2026-03-31T23:59:59Z')).to.deep.equal([at('2026-02-01'), at('2026-03-01')])
    expect(rangeOf('2026-03-31T12:00:00Z', '--from', '2026-03-30')).to.deep.equal([
      at('2026-03-30'),
      at('2026-03-31T12:00:00Z'),
    ])
  })
})
