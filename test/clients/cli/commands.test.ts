import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { Tally } from '../../../clients/sdk/src/node.ts'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'
import { until } from '../../support/until.ts'
import { type Outcome, type RunOptions, runTally } from './run-tally.ts'

const DAY_S = 86_400

describe('commands of tally', function () {
  this.timeout(60_000)
  let under: TallyUnderTest
  let client: Tally
  let account: string

  before(async () => {
    // Why in one layout: every-operation of the SDK calls the same operations in the other.
    under = await shareTallyUnderTest()
    client = new Tally({ url: under.url, apiKey: under.key })
    ;({ id: account } = await client.accounts.create({ name: 'Acme', external_id: 'acme' }))
    await client.metrics.create({ name: 'tokens', external_id: 'tokens', measurement_units: 'tokens' })
  })
  after(() => {
    client.close()
  })

  const run = (words: string[], options: RunOptions = {}, key = under.key) =>
    runTally(words, { ...options, env: { TALLY_URL: under.url, TALLY_API_KEY: key } })
  const jsonOf = async (words: string[]) => {
    const { code, out, err } = await run(words)
    expect(code, err).to.equal(0)
    return JSON.parse(out) as Record<string, unknown>
  }
  const lines = ({ out }: Outcome) => out.trimEnd().split('\n')

  it('report usage by external ids, once for one key, and show what is left', async () => {
    const quantity = '12345678901234567890.000000000000000001'
    const words = [
      'report',
      'acme',
      'tokens',
      quantity,
      '--key',
      'k',
      '--at',
      '2026-01-02',
      '--property',
      'model=a=b',
    ]
    const event = await jsonOf(words)
    expect(event).to.deep.include({ account_id: account, quantity, properties: { model: 'a=b' } })
    expect(await jsonOf(words)).to.deep.include({ id: event['id'] })
    await jsonOf(['report', account, 'currency:USD', '0.5'])
    for (const words of [
      ['balance', 'acmee', 'tokens'],
      ['report', 'acme', 'tokns', '1'],
      ['usage', 'acmee'],
    ]) {
      const { code, err } = await run(words)
      expect([code, err]).to.satisfy(
        ([c, e]: [number, string]) => c === 1 && /there is no (account|metric) with/.test(e),
      )
    }
    expect(await jsonOf(['report', account, 'currency:eur', '--', '-0.5'])).to.include({ quantity: '-0.5' })
    await until(async () => (await jsonOf(['balance', 'acme', 'currency:usd']))['balance'] === '-0.5')
    await until(async () => (await jsonOf(['balance', 'acme', 'tokens']))['balance'] === `-${quantity}`)
    const { out } = await run(['balance', account, 'tokens'], { columns: 80 })
    expect(out).to.match(new RegExp(`^balance +-${quantity}$`, 'm'))
  })

  it('show the usage of each day, with bars and exact figures', async () => {
    const { id } = await client.accounts.create({ name: 'days', external_id: 'days' })
    const monday = Math.floor(Date.now() / 1_000 / DAY_S) * DAY_S - 5 * DAY_S
    const amounts = ['4', '0.000000000000000001', undefined, '8']
    for (const [day, quantity] of amounts.entries())
      if (quantity !== undefined)
        await jsonOf(['report', 'days', 'tokens', quantity, '--at', String(monday + day * DAY_S)])
    const range = ['--from', String(monday), '--to', String(monday + 4 * DAY_S)]
    await until(async () => lines(await run(['usage', 'days', ...range])).length === 3)
    const dayOf = (day: number) => new Date((monday + day * DAY_S) * 1_000).toISOString().slice(0, 10)
    const { out } = await run(['usage', 'days', ...range, '--metric', 'tokens'], { columns: 50 })
    const [heading, ...rows] = out.trimEnd().split('\n')
    expect(heading).to.match(/^tokens, in tokens \(metric_/)
    expect(rows).to.deep.equal([
      `${dayOf(0)}                     4  ████████`,
      `${dayOf(1)}  0.000000000000000001  ▏`,
      `${dayOf(2)}                     0`,
      `${dayOf(3)}                     8  ████████████████`,
      'total       12.000000000000000001',
    ])
    const whole = await jsonOf(['usage', id, ...range, '--json'])
    expect(whole).to.have.keys('aggregation', 'data')
    expect((await run(['usage', id, '--metric', 'currency:usd'], { columns: 80 })).out).to.equal('none\n')
  })

  it('list a page, or all of them', async () => {
    for (let n = 0; n < 5; n++) await jsonOf(['products', 'create', '--name', `p${n}`])
    const page = await run(['products', 'list', '--limit', '2'])
    expect(lines(page)).to.have.length(2)
    expect(page.err).to.equal('there are more: --all-pages shows them\n')
    const all = await run(['products', 'list', '--limit', '2', '--all-pages'])
    expect(lines(all).map((line) => (JSON.parse(line) as { name: string }).name)).to.deep.equal([
      'p0',
      'p1',
      'p2',
      'p3',
      'p4',
    ])
    const pages = await run(['products', 'list', '--limit', '2', '--all-pages', '--json'])
    expect(lines(pages).map((line) => (JSON.parse(line) as { has_more: boolean }).has_more)).to.deep.equal([
      true,
      true,
      false,
    ])
    const table = await run(['products', 'list', '--limit', '2', '--all-pages'], { columns: 100 })
    expect(lines(table)).to.have.length(6)
    const api = await run(['api', 'listProducts', '-F', 'limit=2', '--all-pages'])
    expect(api.out).to.equal(all.out)
  })

  it('make and change resources by any operation', async () => {
    const made = await jsonOf(['api', 'createAccount', '-F', 'name=A', '-F', 'external_id=b'])
    const id = String(made['id'])
    expect(await jsonOf(['accounts', 'update', id, '--name', 'B', '--unset', 'external_id'])).to.include({
      name: 'B',
    })
    expect(await jsonOf(['api', 'updateAccount', '-F', `account_id=${id}`, '-F', 'name=null'])).to.include({
      name: 'null',
    })
    expect(await jsonOf(['accounts', 'get', id])).not.to.have.property('external_id')
    const text = await run(['health', 'get'])
    expect(text.code).to.equal(0)
    const twice = ['accounts', 'create', '--name', 'C', '--idempotency-key', 'c']
    await jsonOf(twice)
    const refused = await run(twice)
    expect([refused.code, refused.err]).to.satisfy(
      ([code, err]: [number, string]) => code === 1 && err.includes('this key was used before'),
    )
  })

  it('ask before they do harm in a live company', async () => {
    const grant = async (api: Tally) => {
      const { id: to } = await api.accounts.create({ name: 'a' })
      return (await api.grants.create({ account_id: to, currency: 'usd', amount: 1, effective_at: 0 })).id
    }
    const id = await grant(client)
    const question = `void ${id} in the live company ${under.company}`
    const unasked = await run(['grants', 'void', id])
    expect([unasked.code, unasked.err]).to.deep.equal([2, `tally: to ${question}, add --yes; see --help\n`])
    const refused = await run(['api', 'voidGrant', '-F', `grant_id=${id}`], { typed: 'no\n' })
    expect([refused.code, refused.err]).to.deep.equal([1, `${question}? [y/N] tally: nothing was done\n`])
    expect((await client.grants.get(id)).status).to.equal('active')
    expect((await run(['grants', 'void', id], { typed: 'y\n' })).code).to.equal(0)
    expect((await run(['grants', 'void', await grant(client), '--yes'])).code).to.equal(0)
    const trial = new Tally({ url: under.url, apiKey: under.testKey })
    expect((await run(['grants', 'void', await grant(trial)], {}, under.testKey)).code).to.equal(0)
    trial.close()
  })

  it('watch a balance until they are stopped', async () => {
    const { id } = await client.accounts.create({ name: 'watched', external_id: 'watched' })
    const controller = new AbortController()
    const watching = run(['balance', 'watched', 'currency:usd', '--watch', '--every', '1'], {
      signal: controller.signal,
    })
    await jsonOf(['report', id, 'currency:usd', '3'])
    await until(async () => (await jsonOf(['balance', id, 'currency:usd']))['balance'] === '-3')
    setTimeout(() => {
      controller.abort()
    }, 1_500)
    const { code, out } = await watching
    expect(code).to.equal(130)
    const seen = out
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { balance: string }).balance)
    expect(seen.at(-1)).to.equal('-3')
    expect(new Set(seen).size).to.equal(seen.length)
  })

  it('hand on to programs, with the address and the key', async () => {
    const ndjson = '{"account":"acme","metric":"tokens","quantity":"1","time":"2026-01-03T00:00:00Z"}\n'
    const words = [
      'import',
      '--file',
      '-',
      '--format',
      'ndjson',
      '--account-column',
      'account',
      '--time',
      'time',
      '--quantity',
      'quantity=tokens',
    ]
    const imported = await run(words, { input: ndjson })
    expect(imported.code, imported.err).to.equal(0)
    const preview = await run(['preview', '--out', '-', '--format', 'ndjson'])
    expect([preview.code, preview.out]).to.deep.equal([0, ''])
  })

  it('are as the guide has them', async () => {
    const guide = await readFile(path.join(PROJECT_ROOT, 'docs/guides/command-line.md'), 'utf8')
    const blocks = [...guide.matchAll(/<!-- cli -->\n\n```sh\n([^]*?)```/g)].map(([, block = '']) => block)
    expect(blocks).to.have.length(2)
    const main = path.join(PROJECT_ROOT, 'dist/clients/cli/src/tally.main.js')
    const script = `set -eu; tally() { "${process.execPath}" "${main}" "$@"; }; ${blocks.join('')}`
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', script], {
      env: { PATH: process.env['PATH'], TALLY_URL: under.url, TALLY_API_KEY: under.testKey },
    })
    expect(stderr).to.equal('')
    const answers = lines({ code: 0, out: stdout, err: '' }).map((line) => JSON.parse(line) as object)
    expect(answers).to.have.length.above(10)
    expect(answers.at(-1)).to.have.keys('data', 'has_more')
  })
})
