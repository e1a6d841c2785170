import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { type RunningApi, startApi } from '../../support/start-api.ts'
import { makeStoredWorld, type StoredWorld } from '../../support/stored-world.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'
import { previewWith } from '../core/run-program.ts'

const DAY = 86_400
const now = Math.floor(Date.now() / 1_000)
/** More contracts than a page has. */
const CONTRACTS = 103

interface Summary {
  contract_id: string
  as_of: number
  total: string
  period: { start_at: number }
}

describe('npm run preview', function () {
  this.timeout(60_000)
  let running: RunningApi
  let company: StoredWorld
  let folder: string

  before(async () => {
    running = await startApi('preview_client')
    company = await makeStoredWorld(running, 1, 0)
    folder = await makeTempFolder('previews')
    for (let n = 0; n < CONTRACTS; n++)
      await company.api.create('/v2/contracts', {
        account_id: company.account,
        currency: n % 10 === 0 ? 'jpy' : 'usd',
        cadence: 'day',
        starts_at: now - 5 * DAY - n,
        ...(n === 0 && { ends_at: now - 3 * DAY }),
        lines: [{ minimum_amount: String(n) }, { credit: { amount: '1', currency: 'usd' } }],
      })
  })
  after(() => running.stop())

  const preview = (args: readonly string[], key = company.key, signal?: AbortSignal) =>
    previewWith([...args, '--url', company.api.url, '--retry-for', '1'], {
      env: { TALLY_API_KEY: key },
      ...(signal && { signal }),
    })
  const inFolder = (name: string) => path.join(folder, name)

  it('writes a line for each contract in force then, as GET /v2/invoice-previews answers it', async () => {
    const [ndjson, csv] = [inFolder('all.ndjson'), inFolder('all.csv')]
    const at = String(now - 4 * DAY)
    const ran = await preview(['--at', at, '--as-of', String(now), '--out', ndjson])
    expect(ran, ran.err).to.include({ code: 0, out: '' })
    expect(ran.err).to.match(/103 contracts/)
    expect(ran.err).to.match(/11 in jpy/)
    const previews = (await readFile(ndjson, 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Summary)
    expect(new Set(previews.map(({ contract_id }) => contract_id)).size).to.equal(CONTRACTS)
    expect(previews.map(({ total }) => total)).to.deep.equal(
      Array.from({ length: CONTRACTS }, (_, n) => String(n)),
    )
    const { body } = await company.api.get<{ data: Summary[] }>(
      `/v2/invoice-previews?at=${at}&as_of=${now}&limit=2`,
    )
    expect(previews.slice(0, 2).map(timeless)).to.deep.equal(body.data.map(timeless))

    expect((await preview(['--at', at, '--as-of', String(now), '--out', csv])).code).to.equal(0)
    const [header = '', ...lines] = (await readFile(csv, 'utf8')).trimEnd().split('\n')
    const columns = header.split(',')
    const rows = lines.map((line): Partial<Record<string, string>> =>
      Object.fromEntries(line.split(',').map((cell, n) => [columns[n] ?? '', cell])),
    )
    expect(lines.every((line) => line.split(',').length === columns.length)).to.equal(true)
    expect(rows.map((row) => row['contract_id'])).to.deep.equal(previews.map((one) => one.contract_id))
    expect(rows[102]).to.include({
      total: '102',
      credit_total: '2',
      amount_due: '100',
      credits_applied: 'due:1 due:1',
      period_start_at: new Date((now - 4 * DAY - 102) * 1_000).toISOString().replace('.000Z', 'Z'),
      unrated_events: '0',
      warnings: '',
    })
    expect((await readdir(folder)).sort()).to.deep.equal(['all.csv', 'all.ndjson'])
  })

  it('is as of one second, that of its first page', async () => {
    const ran = await preview(['--out', '-', '--format', 'ndjson'])
    expect(ran.code, ran.err).to.equal(0)
    const previews = ran.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Summary)
    // The first one had ended.
    expect(previews).to.have.length(CONTRACTS - 1)
    expect(new Set(previews.map(({ as_of }) => as_of)).size).to.equal(1)
  })

  it('leaves the file that was there when it cannot finish', async () => {
    const file = inFolder('kept.csv')
    await writeFile(file, 'before')
    const refused = await preview(['--as-of', String(now + DAY), '--out', file])
    expect(refused.code).to.equal(1)
    expect(refused.err).to.match(/as_of lies in the future/)
    const unknown = await preview(['--out', file], 'tally_live_unknown')
    expect(unknown.code).to.equal(1)
    expect(unknown.err).to.match(/does not know the API key/)
    const interrupted = await preview(['--out', file], company.key, AbortSignal.abort())
    expect(interrupted.code).to.equal(130)
    expect(await readFile(file, 'utf8')).to.equal('before')
    expect((await readdir(folder)).filter((name) => name.startsWith('kept'))).to.deep.equal(['kept.csv'])
    const nowhere = await preview(['--out', path.join(folder, 'none', 'x.csv')])
    expect(nowhere.code).to.equal(1)
    expect(nowhere.err).to.match(/cannot write/)
  })

  it('explains words that make no sense', async () => {
    const faults: [args: string[], text: RegExp][] = [
      [[], /--out is missing/],
      [['--out', 'x'], /--format is missing/],
      [['--out', 'x', '--format', 'xml'], /csv or ndjson/],
      [['--out', 'x.csv', '--at', 'yesterday'], /--at "yesterday" is not a time/],
      [['--out', 'x.csv', '--as-of', ''], /--as-of is empty/],
      [['--nonsense'], /nonsense/],
    ]
    for (const [args, text] of faults) {
      const { code, err } = await previewWith(args)
      expect(code, args.join(' ')).to.equal(2)
      expect(err).to.match(text)
    }
    const help = await previewWith(['--help'])
    expect(help).to.include({ code: 0, err: '' })
    expect(help.out).to.match(/usage: npm run preview/)
  })
})

const timeless = (summary: Summary) => ({ ...summary, usage_as_of: 0 })
