import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, unlinkSync } from 'node:fs'
import fs, { mkdir, readdir, readFile, rm, truncate, utimes, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import path from 'node:path'
import { expect } from 'chai'
import { Tally } from '../../../../clients/sdk/src/node.ts'
import { ReporterFullError, WrongCompanyError } from '../../../../clients/sdk/src/reporter/errors.ts'
import type { ReporterOptions, SpoolSettings } from '../../../../clients/sdk/src/reporter/options.ts'
import { parseLines } from '../../../../clients/sdk/src/reporter/spool/lines.ts'
import type { ReporterPoint } from '../../../../clients/sdk/src/reporter/spool/points.ts'
import type { SpoolTimings } from '../../../../clients/sdk/src/reporter/spool/spool.ts'
import { UsageReporter } from '../../../../clients/sdk/src/reporter/usage-reporter.ts'
import { PROJECT_ROOT } from '../../../../shared/config/project-root.ts'
import { makeSmallDisk } from '../../../faults/small-disk.ts'
import { failureOf } from '../../../support/failure-of.ts'
import type { Fate } from '../../../support/faulty-proxy.ts'
import { makeTempFolder } from '../../../support/temp-folder.ts'
import { until } from '../../../support/until.ts'
import { ACCOUNT, type FakeTally, fakeTally, METRIC } from './fake-tally.ts'
import type { ReportOrder } from './report.main.ts'
import { REPORTER_POINTS, startReporter } from './reporter-process.ts'

const EVENT = { account: ACCOUNT, metric: METRIC, quantity: '1' }
const DOWN: Fate = { status: 503 }
/** Nothing of another process is taken over, and nothing is merged. */
const CALM: SpoolTimings = { listMs: 10_000, deadMs: 60_000, mergeMs: 60_000 }

interface Opened {
  spool?: Partial<SpoolSettings>
  options?: ReporterOptions
  timings?: Partial<SpoolTimings>
  reached?: (point: ReporterPoint) => void
}

describe('the spool of the reporter', () => {
  let tally: FakeTally
  let dir: string
  let folder: string
  let reporters: UsageReporter[]

  beforeEach(async () => {
    tally = await fakeTally()
    dir = await makeTempFolder('spool')
    folder = path.join(dir, `live-${createHash('sha256').update(tally.url).digest('hex').slice(0, 8)}`)
    reporters = []
  })
  afterEach(async () => {
    await Promise.all(reporters.map((one) => one.close({ deadlineMs: 0 }).catch(() => undefined)))
    await tally.close()
    await rm(dir, { recursive: true })
  })

  function open({ spool, options, timings, reached = () => undefined }: Opened = {}): UsageReporter {
    const client = new Tally({ url: tally.url, apiKey: 'tally_live_key' })
    const settings = { lingerMs: 10, ...options, spool: { dir, ...spool } }
    const reporter = new UsageReporter(client, settings, { timings: { ...CALM, ...timings }, reached })
    reporters.push(reporter)
    return reporter
  }

  const files = async () => (await readdir(folder)).filter((name) => name.endsWith('.ndjson')).sort()
  const linesIn = async (name: string) => parseLines(await readFile(path.join(folder, name))).events
  const counted = () => [...tally.counted.values()].map(({ idempotency_key: key }) => key).sort()
  const numbers = (count: number) => Array.from({ length: count }, (_, n) => String(n)).sort()
  const becomes = async (condition: () => boolean) => {
    await until(() => Promise.resolve(condition()))
  }
  /** All is sent, and the last reporter knows that the files are gone. */
  const isEmpty = () =>
    until(async () => (await files()).length === 0 && reporters.at(-1)?.stats().spooledFiles === 0)

  it('has an event on the disk when report() resolves, and deletes the file when Tally has it', async () => {
    tally.fate = () => DOWN
    await open().report({ ...EVENT, key: 'k' })
    const [name = '', ...others] = await files()
    expect(others).to.deep.equal([])
    expect(name).to.match(/^\d{13}-[0-9a-f]{16}-1-1-\d+\.ndjson$/)
    expect(
      (await linesIn(name)).map((json) => (JSON.parse(json) as { idempotency_key: string }).idempotency_key),
    ).to.deep.equal(['k'])
    tally.fate = () => 'pass'
    await isEmpty()
    expect(counted()).to.deep.equal(['k'])
    expect(tally.batches[0]).to.deep.equal(tally.batches.at(-1))
  })

  it('syncs before it renames, and renames and syncs the folder before it resolves', async () => {
    const reporter = open()
    await reporter.report(EVENT)
    await reporter.flush()
    await isEmpty()
    const done: string[] = []
    const stop = await watchDisk(folder, done)
    await reporter
      .report(EVENT)
      .then(() => done.push('resolved'))
      .finally(stop)
    expect(done.slice(0, 4)).to.deep.equal(['datasync', 'rename', 'sync', 'resolved'])
  }).timeout(10_000)

  it('is sent by the next process once the process is gone', async () => {
    tally.fate = () => DOWN
    const first = open()
    for (let n = 0; n < 5; n++)
      await first.report({ ...EVENT, key: String(n), occurredAt: 1_700_000_000 + n })
    expect(await first.close({ deadlineMs: 0 })).to.deep.equal({ accepted: 0, kept: 5, rejected: 0 })
    tally.fate = () => 'pass'
    const second = open()
    await isEmpty()
    expect(counted()).to.deep.equal(numbers(5))
    for (const { occurred_at: at, idempotency_key: key } of tally.counted.values())
      expect(at).to.equal(1_700_000_000 + Number(key))
    expect(second.stats()).to.include({ accepted: 5, takenOver: 5, spooledFiles: 0, spooledBytes: 0 })
  })

  it('leaves the files of a process alone until it was silent for a minute', async () => {
    tally.fate = () => DOWN
    const first = open()
    await first.report({ ...EVENT, key: 'k' })
    const [name = ''] = await files()
    const nonce = name.split('-')[1] ?? ''
    await first.close({ deadlineMs: 0 })
    await writeFile(path.join(folder, `alive-${nonce}`), '.')
    await writeFile(path.join(folder, name.replace('.ndjson', '.tmp')), 'unfinished')
    tally.fate = () => 'pass'
    const second = open({ timings: { listMs: 20 } })
    await becomes(() => second.stats().spooledBytes === 0)
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(await files()).to.deep.equal([name])
    const longAgo = new Date(Date.now() - 61_000)
    await utimes(path.join(folder, `alive-${nonce}`), longAgo, longAgo)
    await isEmpty()
    expect(counted()).to.deep.equal(['k'])
    await until(async () => {
      const left = await readdir(folder)
      return !left.includes(`alive-${nonce}`) && !left.some((one) => one.endsWith('.tmp'))
    })
  })

  it('writes a group again whose unfinished file was cleared away', async () => {
    let cleared = 0
    const reporter = open({
      reached: (point) => {
        if (point !== 'group-written' || cleared++ > 2) return
        for (const name of readdirSync(folder)) if (name.endsWith('.tmp')) unlinkSync(path.join(folder, name))
      },
    })
    tally.fate = () => DOWN
    await reporter.report({ ...EVENT, key: 'k' })
    expect(cleared).to.equal(4)
    expect(await files()).to.have.length(1)
  })

  it('keeps a damaged line apart, and sends the others', async () => {
    tally.fate = () => DOWN
    const first = open()
    await Promise.all(numbers(9).map((key) => first.report({ ...EVENT, key })))
    await first.close({ deadlineMs: 0 })
    const [name = ''] = await files()
    const bytes = await readFile(path.join(folder, name))
    const at = bytes.indexOf('"idempotency_key":"4"') + 19
    bytes[at] = '5'.charCodeAt(0)
    await writeFile(path.join(folder, name), bytes)
    tally.fate = () => 'pass'
    const second = open()
    await isEmpty()
    expect(counted()).to.deep.equal(numbers(9).filter((key) => key !== '4'))
    expect(second.stats()).to.include({ damaged: 1, accepted: 8 })
    const [kept = ''] = await readdir(path.join(folder, 'damaged'))
    expect(await readFile(path.join(folder, 'damaged', kept), 'utf8')).to.contain('"idempotency_key":"5"')
  })

  it('writes an event that Tally refuses to rejected before it deletes the file', async () => {
    tally.fault = ({ quantity }) => (quantity === '-1' ? 'quantity: is odd' : undefined)
    const reporter = open()
    await reporter.report({ ...EVENT, key: 'bad', quantity: '-1' })
    await reporter.report({ ...EVENT, key: 'good' })
    await isEmpty()
    expect(counted()).to.deep.equal(['good'])
    const [day = ''] = await readdir(path.join(folder, 'rejected'))
    expect(day).to.equal(`${new Date().toISOString().slice(0, 10)}.ndjson`)
    const [line = '', ...others] = parseLines(await readFile(path.join(folder, 'rejected', day))).events
    expect(others).to.deep.equal([])
    expect(JSON.parse(line)).to.have.property('reason', 'quantity: is odd')
    expect(JSON.parse(line)).to.have.nested.property('event.idempotency_key', 'bad')
    expect(await reporter.close()).to.deep.equal({ accepted: 1, kept: 0, rejected: 1 })
  })

  it('loses none of the events that are refused at the same time', async () => {
    tally.fault = () => 'quantity: is odd'
    const reporter = open({ options: { batchEvents: 1 } })
    await Promise.all(numbers(40).map((key) => reporter.report({ ...EVENT, key })))
    await isEmpty()
    expect((await rejectedKeys(folder)).sort()).to.deep.equal(numbers(40))
    expect(reporter.stats()).to.include({ rejected: 40, spooledFiles: 0 })
  })

  it('keeps the file of a refused event until the event is written to rejected', async () => {
    tally.fault = () => 'quantity: is odd'
    const problems: string[] = []
    const reporter = open({ options: { onProblem: ({ text }) => problems.push(text) } })
    await until(() =>
      readdir(path.join(folder, 'rejected'))
        .then(() => true)
        .catch(() => false as const),
    )
    await rm(path.join(folder, 'rejected'), { recursive: true })
    await reporter.report({ ...EVENT, key: 'bad' })
    await becomes(() => problems.length > 0)
    expect(await files()).to.have.length(1)
    await mkdir(path.join(folder, 'rejected'))
    await isEmpty()
    expect(await rejectedKeys(folder)).to.deep.equal(['bad'])
  })

  it('holds what memory has no room for only on the disk, and sends it after the outage', async () => {
    tally.fate = () => DOWN
    const reporter = open({ options: { queueEvents: 50, batchEvents: 20 } })
    for (let wave = 0; wave < 10; wave++)
      await Promise.all(
        numbers(30).map((n) => reporter.report({ ...EVENT, key: `${wave * 30 + Number(n)}` })),
      )
    const { queuedEvents, spooledEvents } = reporter.stats()
    expect(queuedEvents).to.be.at.most(50)
    expect(spooledEvents).to.equal(300)
    tally.fate = () => 'pass'
    expect(await reporter.flush()).to.equal(true)
    expect(counted()).to.deep.equal(numbers(300))
    await isEmpty()
    expect(reporter.stats()).to.include({ queuedEvents: 0, spooledEvents: 0, spooledBytes: 0 })
  }).timeout(60_000)

  it('merges small files while Tally fails, those in memory and those that are not', async () => {
    tally.fate = () => DOWN
    const present: number[] = []
    const reporter = open({
      options: { queueEvents: 20, batchEvents: 20 },
      timings: { listMs: 50, mergeMs: 100 },
      reached: (point) => {
        if (point === 'files-merged')
          present.push(readdirSync(folder).filter((name) => name.endsWith('.ndjson')).length)
      },
    })
    for (let wave = 0; wave < 10; wave++)
      await Promise.all(numbers(6).map((n) => reporter.report({ ...EVENT, key: `${wave * 6 + Number(n)}` })))
    await until(async () => (await files()).length <= 4)
    expect(Math.min(...present), 'the small files are there until the merged one is').to.be.at.least(3)
    const lines = (await Promise.all((await files()).map(linesIn))).flat()
    expect(new Set(lines).size).to.equal(60)
    // Another merge may have begun. Until it has deleted its small files, their events are there twice.
    await becomes(() => reporter.stats().spooledEvents === 60)
    tally.fate = () => 'pass'
    expect(await reporter.flush()).to.equal(true)
    expect(counted()).to.deep.equal(numbers(60))
    await isEmpty()
  }).timeout(60_000)

  it('never sends a folder to another company', async () => {
    await open().report({ ...EVENT, key: 'first' })
    await becomes(() => tally.counted.size === 1)
    await reporters[0]?.close()
    expect(await readFile(path.join(folder, 'company'), 'utf8')).to.equal('company-1\n')
    tally.company = 'company-2'
    const other = open()
    await becomes(() => other.stats().state === 'blocked')
    expect(await failureOf(other.report(EVENT))).to.be.instanceOf(WrongCompanyError)
    expect(counted()).to.deep.equal(['first'])
  })

  it('refuses new events at a bound, and goes on sending', async () => {
    tally.fate = () => DOWN
    const reporter = open({ spool: { bytesMax: 1_000 } })
    let safe = 0
    let failure: unknown
    for (; failure === undefined; safe++)
      failure = await failureOf(reporter.report({ ...EVENT, key: String(safe) }))
    expect(failure).to.be.instanceOf(ReporterFullError)
    expect(safe).to.be.within(3, 6)
    const sizes = await Promise.all(
      (await files()).map(async (name) => (await readFile(path.join(folder, name))).length),
    )
    expect(sizes.reduce((sum, size) => sum + size, 0)).to.be.at.most(1_000)
    tally.fate = () => 'pass'
    await reporter.ready()
    await reporter.report({ ...EVENT, key: 'more' })
    await reporter.flush()
    expect(counted()).to.have.length(safe)
  })

  it('refuses new events when too many were set aside', async () => {
    await mkdir(path.join(folder, 'rejected'), { recursive: true })
    await writeFile(path.join(folder, 'rejected', '2026-01-01.ndjson'), '')
    await truncate(path.join(folder, 'rejected', '2026-01-01.ndjson'), 64 * 1_024 * 1_024)
    const reporter = open()
    await until(async () => (await failureOf(reporter.report(EVENT))) instanceof ReporterFullError)
  })

  it('refuses events while the disk cannot be written, and keeps those that were added', async () => {
    const reporter = open()
    await reporter.report({ ...EVENT, key: 'before' })
    await reporter.flush()
    await isEmpty()
    await rm(folder, { recursive: true })
    expect(await failureOf(reporter.report({ ...EVENT, key: 'lost' }))).to.be.instanceOf(ReporterFullError)
    expect(reporter.stats().state).to.equal('full')
    await mkdir(folder)
    await until(async () => (await failureOf(reporter.report({ ...EVENT, key: 'after' }))) === undefined)
    await reporter.flush()
    expect(counted()).to.deep.equal(['after', 'before'])
    expect(reporter.stats().state).to.equal('ok')
  })

  it('heals itself when the disk was full', async function () {
    const disk = await makeSmallDisk(this, 400_000)
    try {
      tally.fate = () => DOWN
      const reporter = open({ spool: { dir: disk.folder } })
      const safe: string[] = []
      let failure: unknown
      for (let n = 0; failure === undefined; n++) {
        const event = { ...EVENT, key: String(n), properties: { some: 'x'.repeat(12_000) } }
        failure = await failureOf(reporter.report(event).then(() => safe.push(event.key)))
      }
      expect(failure).to.be.instanceOf(ReporterFullError)
      expect(safe.length).to.be.greaterThan(10)
      expect(reporter.stats().state).to.equal('full')
      tally.fate = () => 'pass'
      await until(async () => (await failureOf(reporter.report({ ...EVENT, key: 'after' }))) === undefined)
      await reporter.flush()
      expect(counted()).to.have.members([...safe, 'after'])
      tally.fate = () => DOWN
      await reporter.report({ ...EVENT, key: 'kept' })
      expect(await reporter.close({ deadlineMs: 0 })).to.include({ kept: 1 })
      await disk.fillTo(0)
      tally.fate = () => 'pass'
      // A process that starts on a full disk makes room.
      open({ spool: { dir: disk.folder } })
      await becomes(() => counted().includes('kept'))
    } finally {
      await disk.remove()
    }
  }).timeout(60_000)

  it('writes ids where Tally can be reached, and else looks them up before the first attempt', async () => {
    tally.ids.set('accounts/acme', ACCOUNT)
    tally.fate = () => DOWN
    const event = { account: { externalId: 'acme' }, currency: 'usd', quantity: '1' }
    const reporter = open()
    await becomes(() => tally.paths.includes('/v2/caller'))
    await reporter.report({ ...event, key: 'a' })
    expect((await linesIn((await files())[0] ?? ''))[0]).to.contain(`"account_id":"${ACCOUNT}"`)
    await reporter.close({ deadlineMs: 0 })
    tally.lookUpFate = () => DOWN
    const offline = open()
    await becomes(() => offline.stats().state === 'failing')
    await offline.report({ ...event, key: 'b' })
    expect((await linesIn((await files()).at(-1) ?? ''))[0]).to.contain('"account_external_id":"acme"')
    await offline.close({ deadlineMs: 0 })
    tally.lookUpFate = () => 'pass'
    tally.fate = () => 'pass'
    open()
    await isEmpty()
    expect(counted()).to.deep.equal(['a', 'b'])
  })

  const orderOf = (order: Partial<ReportOrder>): ReportOrder => ({
    url: tally.url,
    apiKey: 'tally_live_key',
    options: { lingerMs: 10, batchEvents: 20, spool: { dir } },
    timings: CALM,
    event: EVENT,
    run: 'run',
    events: 40,
    wave: 10,
    pauseMs: 20,
    end: 'wait',
    ...order,
  })

  for (const point of REPORTER_POINTS)
    it(`counts each event once when the process is killed at ${point}`, async () => {
      tally.fault = ({ idempotency_key: key }) => (key.endsWith('7') ? 'quantity: is odd' : undefined)
      const isMerge = point === 'files-merged'
      if (isMerge) tally.fate = () => DOWN
      const timings = isMerge ? { listMs: 50, deadMs: 60_000, mergeMs: 100 } : CALM
      const { ended, tried, safe } = startReporter(
        orderOf({ timings, crash: { point, time: /merged|rejected/.test(point) ? 1 : 3 } }),
      )
      expect(await ended).to.equal('SIGKILL')
      tally.fate = () => 'pass'
      open({ timings: { deadMs: 0, listMs: 50 } })
      await isEmpty()
      const settled = new Set([...counted(), ...(await rejectedKeys(folder))])
      for (const key of safe) expect(settled, key).to.include(key)
      for (const key of settled) expect(tried, key).to.include(key)
      expect(counted().filter((key) => key.endsWith('7'))).to.deep.equal([])
    }).timeout(60_000)

  it('sends what was added before the process ends by itself', async () => {
    const { ended, output } = startReporter(
      orderOf({ options: { lingerMs: 60_000 }, events: 10, adds: true, end: 'nothing' }),
    )
    expect(await ended, output()).to.equal(0)
    expect(tally.counted.size).to.equal(10)
  })

  it('runs as the guide shows it', async () => {
    tally.ids.set('accounts/acme', ACCOUNT).set('metrics/tokens', METRIC)
    const guide = await readFile(path.join(PROJECT_ROOT, 'docs/guides/durable-reporter.md'), 'utf8')
    const [, code = ''] = /```ts\n([^]*?)```/.exec(guide) ?? []
    expect(code).to.contain('/var/lib/app/tally')
    const built = path.join(PROJECT_ROOT, 'dist/clients/sdk/src')
    const imported = code
      .replace("'@tally-metering/sdk/reporter'", `'${built}/reporter/index.js'`)
      .replace("'@tally-metering/sdk'", `'${built}/node.js'`)
    const script = `
      const [url, apiKey] = ['${tally.url}', 'tally_live_key']
      ${imported.replace('/var/lib/app/tally', dir)}`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' })
    expect((await once(child, 'close'))[0]).to.equal(0)
    expect([...tally.counted.values()].map((event) => [event.account_id, event.quantity])).to.deep.equal([
      [ACCOUNT, '4808'],
    ])
  })

  it('closes on a signal, and then ends by it', async () => {
    const { child, ended, tried, output } = startReporter(
      orderOf({ options: { lingerMs: 60_000, closeOnSignals: ['SIGTERM'] }, events: 10, adds: true }),
    )
    await becomes(() => tried.size === 10)
    child.kill('SIGTERM')
    expect(await ended, output()).to.equal('SIGTERM')
    expect(tally.counted.size).to.equal(10)
  })

  it('does not keep a process that has nothing to send', async () => {
    const startedAt = performance.now()
    const { ended, output } = startReporter(orderOf({ events: 0, end: 'nothing' }))
    expect(await ended, output()).to.equal(0)
    expect(performance.now() - startedAt).to.be.lessThan(9_000)
  }).timeout(15_000)
})

/** Notes what is asked of the disk, in order. @returns the function that ends this */
async function watchDisk(folder: string, done: string[]): Promise<() => void> {
  const handle = await fs.open(folder)
  const methods = Object.getPrototypeOf(handle) as Pick<typeof handle, 'datasync' | 'sync'>
  await handle.close()
  const { datasync, sync } = methods
  const { rename } = fs
  methods.datasync = async function (this: typeof handle) {
    await datasync.call(this)
    done.push('datasync')
  }
  methods.sync = async function (this: typeof handle) {
    await sync.call(this)
    done.push('sync')
  }
  fs.rename = async (from, to) => {
    await rename(from, to)
    done.push('rename')
  }
  syncBuiltinESMExports()
  return () => {
    Object.assign(methods, { datasync, sync })
    fs.rename = rename
    syncBuiltinESMExports()
  }
}

async function rejectedKeys(folder: string): Promise<string[]> {
  const rejected = path.join(folder, 'rejected')
  const names = await readdir(rejected)
  const texts = await Promise.all(names.map((name) => readFile(path.join(rejected, name))))
  return texts
    .flatMap((bytes) => parseLines(bytes).events)
    .map((json) => (JSON.parse(json) as { event: { idempotency_key: string } }).event.idempotency_key)
}
