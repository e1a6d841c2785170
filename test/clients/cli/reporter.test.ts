import { appendFile, chown, readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { readLines } from '../../../clients/reporter/spool/spool-lines.ts'
import { Tally } from '../../../clients/sdk/src/node.ts'
import { UsageReporter } from '../../../clients/sdk/src/reporter/index.ts'
import { encodeLine } from '../../../clients/sdk/src/reporter/spool/lines.ts'
import { makeTempFolder } from '../../support/temp-folder.ts'
import { CALLER, type FakeTally, type Outcome, runTally, startFakeTally } from './run-tally.ts'

const ACCOUNT = `account_${'0'.repeat(32)}`
const METRIC = `metric_${'0'.repeat(32)}`
const KEY = 'tally_live_key'
const QUANTITY = '12345678901234567890.000000000000000001'

interface Sent {
  quantity: string
  idempotency_key: string
}

describe('tally reporter', function () {
  this.timeout(30_000)
  let fake: FakeTally
  let dir: string
  let env: Record<string, string>
  /** What the fake Tally does with events. */
  let mode: 'accepts' | 'refuses' | 'is away'
  let counted: Map<string, string>

  beforeEach(async () => {
    mode = 'is away'
    counted = new Map()
    fake = await startFakeTally((req, res) => {
      const chunks: Buffer[] = []
      req.on('data', (chunk: Buffer) => chunks.push(chunk))
      req.on('end', () => {
        const json = (status: number, body: object) =>
          res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
        if (req.url === '/v2/caller') return json(200, CALLER)
        if (mode === 'is away') return res.writeHead(503).end('not now')
        const { events } = JSON.parse(Buffer.concat(chunks).toString()) as { events: Sent[] }
        if (mode === 'refuses')
          return res.writeHead(422).end(events.map((_, at) => `events[${at}].account_id: unknown`).join('\n'))
        for (const event of events) counted.set(event.idempotency_key, event.quantity)
        return json(202, { accepted: events.length, event_ids: events.map(() => 'event_1') })
      })
    })
    dir = await makeTempFolder('spool')
    env = { TALLY_URL: fake.url, TALLY_API_KEY: KEY }
  })
  afterEach(() => fake.end())

  const run = (...words: string[]) => runTally(['reporter', ...words], { env })
  const linesOf = ({ out }: Outcome) =>
    out
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  const status = async () => linesOf(await run('status', dir))[0]

  /** Leaves events in the spool, as a process that could not send them. */
  const spool = async (...keys: string[]) => {
    const reporter = new UsageReporter(new Tally({ url: fake.url, apiKey: KEY }), { spool: { dir } })
    for (const key of keys)
      await reporter.report({
        account: ACCOUNT,
        metric: METRIC,
        quantity: QUANTITY,
        occurredAt: 1_790_000_000,
        key,
      })
    return reporter.close({ deadlineMs: 0 })
  }

  it('shows what waits, and sends it when Tally is back', async () => {
    await spool('a', 'b', 'c')
    expect(await status()).to.include({ company: CALLER.company.id, events: 3, rejected: 0, processes: 0 })
    const early = await run('drain', dir, '--wait', '1')
    expect(early.code).to.equal(75)
    expect(early.err).to.match(/^tally: 3 events are left; try again later$/m)
    mode = 'accepts'
    const drained = await run('drain', dir)
    expect([drained.code, linesOf(drained)[0]]).to.deep.include.members([0])
    expect(linesOf(drained)[0]).to.include({ accepted: 3, left: 0 })
    expect([...counted]).to.have.deep.members(['a', 'b', 'c'].map((key) => [key, QUANTITY]))
    expect(await status()).to.include({ events: 0, files: 0, oldest_at: null })
  })

  it('lists what Tally refused, and sends it again byte for byte', async () => {
    await spool('a', 'b')
    mode = 'refuses'
    const refused = await run('drain', dir)
    expect([refused.code, linesOf(refused)[0]?.['rejected']]).to.deep.equal([1, 2])
    const rejected = linesOf(await run('rejected', dir))
    expect(rejected.map(({ reason }) => reason)).to.deep.equal(Array(2).fill('account_id: unknown'))
    const events = rejected.map(({ event }) => event as string)
    const [folder = ''] = await readdir(dir)
    const file = path.join(
      dir,
      folder,
      'rejected',
      (await readdir(path.join(dir, folder, 'rejected')))[0] ?? '',
    )
    await appendFile(file, '1 00000000 {"cut')
    expect(linesOf(await run('retry-rejected', dir))).to.deep.equal([{ folder, events: 2 }])
    expect(await status()).to.include({ events: 2, rejected: 0, damaged: 1 })
    const [name = ''] = (await readdir(path.join(dir, folder))).filter((one) => one.endsWith('.ndjson'))
    expect(readLines(await readFile(path.join(dir, folder, name))).whole).to.deep.equal(events)
    mode = 'accepts'
    expect(linesOf(await run('drain', dir))[0]).to.include({ accepted: 2, left: 0 })
    expect([...counted.keys()]).to.have.members(['a', 'b'])
    expect(linesOf(await run('retry-rejected', dir))).to.deep.equal([{ folder, events: 0 }])
  })

  it('leaves what was refused today to a process that uses the folder', async () => {
    await spool('a')
    mode = 'refuses'
    await run('drain', dir)
    const living = new UsageReporter(new Tally({ url: fake.url, apiKey: KEY }), { spool: { dir } })
    while ((await status())?.['processes'] !== 1) await new Promise((resolve) => setTimeout(resolve, 20))
    const kept = await run('retry-rejected', dir)
    expect(linesOf(kept)[0]).to.include({ events: 0 })
    expect(kept.err).to.include('what was refused today stays')
    await living.close()
    expect(linesOf(await run('retry-rejected', dir))[0]).to.include({ events: 1 })
  })

  it('keeps lines of refused events that it cannot read', async () => {
    await spool('a')
    const [folder = ''] = await readdir(dir)
    const strange = '{"rejected_at":1.5,"reason":"r","event":{}}'
    await appendFile(
      path.join(dir, folder, 'rejected', '2026-11-01.ndjson'),
      encodeLine('{"rejected_at":1,"reason":"r","event":{}}') + encodeLine(strange),
    )
    expect(linesOf(await run('retry-rejected', dir))).to.deep.equal([{ folder, events: 1 }])
    const damaged = path.join(dir, folder, 'damaged')
    const [name = ''] = await readdir(damaged)
    expect(await readFile(path.join(damaged, name), 'utf8')).to.equal(encodeLine(strange))
  })

  it('leaves folders of other users alone, because their programs could not read its files', async function () {
    if (process.getuid?.() !== 0) return this.skip()
    await spool('a')
    const [folder = ''] = await readdir(dir)
    await chown(path.join(dir, folder), 12_345, 12_345)
    mode = 'accepts'
    for (const words of ['drain', 'retry-rejected']) {
      const { code, err } = await run(words, dir)
      expect([code, err]).to.satisfy(([c, e]: [number, string]) => c === 1 && e.includes("sudo -u '#12345'"))
    }
  })

  it('sends nothing of another address, of another company, or of a folder that is no spool', async () => {
    await spool('a')
    mode = 'accepts'
    const other = await runTally(['reporter', 'drain', dir], {
      env: { ...env, TALLY_URL: `${fake.url}/other` },
    })
    expect([other.code, other.err]).to.satisfy(
      ([code, err]: [number, string]) => code === 1 && err.includes('give the address as the program has it'),
    )
    const [folder = ''] = await readdir(dir)
    const empty = await makeTempFolder('no-spool')
    for (const words of [['status'], ['rejected'], ['drain'], ['retry-rejected']]) {
      const { code, err } = await run(...words, empty)
      expect([code, err]).to.satisfy(([c, e]: [number, string]) => c === 1 && e.includes('is no spool'))
    }
    const noted = path.join(dir, folder, 'company')
    await appendFile(noted, 'x')
    const wrong = await run('drain', dir)
    expect(wrong.code).to.equal(1)
    expect(wrong.err).to.match(/^tally: the spool belongs to company .* events are kept$/m)
    expect(counted.size).to.equal(0)
  })
})
