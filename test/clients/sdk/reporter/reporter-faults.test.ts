import { readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import {
  type Random,
  randomInteger,
  seededRandom,
} from '../../../../clients/reporter/simulate/seeded-random.ts'
import { Tally } from '../../../../clients/sdk/src/node.ts'
import { folderNameOf } from '../../../../clients/sdk/src/reporter/spool/folder-name.ts'
import type { ReporterPoint } from '../../../../clients/sdk/src/reporter/spool/points.ts'
import { UsageReporter } from '../../../../clients/sdk/src/reporter/usage-reporter.ts'
import { ApiClient } from '../../../support/api-client.ts'
import { runProgram } from '../../../support/by-hand.ts'
import { IS_LONG, SEED, tell } from '../../../support/fault-seed.ts'
import { type Fate, type FaultyProxy, faultyProxy } from '../../../support/faulty-proxy.ts'
import { type RunningTally, startTally } from '../../../support/start-tally.ts'
import { makeTempFolder } from '../../../support/temp-folder.ts'
import { until } from '../../../support/until.ts'
import { type ReporterProcess, startReporter } from './reporter-process.ts'

const EVENTS = IS_LONG ? 1_000_000 : 20_000
const KILLS = IS_LONG ? 50 : 8
/** Processes that use one folder at the same time. */
const PROCESSES = IS_LONG ? 4 : 2
const WAVE = IS_LONG ? 500 : 100
const DELAY_MAX_MS = IS_LONG ? 20_000 : 300
/** A process that was stopped for longer is taken for dead. */
const TIMINGS = { listMs: 500, deadMs: 2_000, mergeMs: 1_000 }
const STOPPED_MS = 4_000
/** Events are listed some seconds after they are counted. */
const LISTED_MS = 4_000

const POINTS: readonly ReporterPoint[] = [
  'group-written',
  'group-synced',
  'group-renamed',
  'group-acknowledged',
  'batch-sent',
  'batch-answered',
  'file-deleted',
]

describe('reporters through failures', function () {
  this.timeout(IS_LONG ? 1_800_000 : 180_000)
  let tally: RunningTally
  let proxy: FaultyProxy
  let dir: string
  const random = seededRandom(`reporters ${SEED}`)

  before(async () => {
    // Why a separate Tally: it gets much load, and its log is audited.
    tally = await startTally()
    dir = await makeTempFolder('reporter-faults')
    proxy = await faultyProxy(tally.url, (_, at) => {
      proxy.seen.length = 0
      return at === '/v2/events/batch' ? fateOf(random) : 'pass'
    })
  })
  after(async () => {
    await proxy.close()
    await tally.discard()
    await rm(dir, { recursive: true })
  })

  it('count each event once, however often they are killed', async () => {
    tell(`seed ${SEED}, FAULT_SEED=${SEED} runs it again`)
    const api = new ApiClient(tally.url, tally.key)
    const account = await api.create<{ id: string }>('/v2/accounts', { name: 'Acme', external_id: 'acme' })
    const metric = await api.create<{ id: string }>('/v2/metrics', { name: 'tokens' })
    const startedAt = performance.now()
    const kills = { left: KILLS, made: 0 }
    const processes: ReporterProcess[] = []
    const event = { account: account.id, metric: metric.id, quantity: '0.1' }

    /** Starts one process after the other, until they have reported their share. */
    const lane = async (name: number) => {
      const share = Math.ceil(EVENTS / PROCESSES)
      for (let tried = 0, generation = 0; tried < share; generation++) {
        const isKilled = kills.left > 0
        if (isKilled) kills.left--
        const point = POINTS[randomInteger(random, POINTS.length)] ?? 'group-written'
        const one = startReporter({
          url: proxy.url,
          apiKey: tally.key,
          options: { spool: { dir }, batchEvents: WAVE },
          timings: TIMINGS,
          ...(isKilled && random() < 0.6 && { crash: { point, time: 1 + randomInteger(random, 40) } }),
          event,
          run: `run-${name}-${generation}`,
          events: share - tried,
          wave: WAVE,
          pauseMs: 0,
          end: 'close',
        })
        processes.push(one)
        if (isKilled) await killLater(one, random)
        await one.ended
        if (isKilled) kills.made++
        tried += one.tried.size
      }
    }
    await Promise.all(Array.from({ length: PROCESSES }, (_, name) => lane(name)))
    await drain(proxy.url, tally.key, dir)
    tell(`${kills.made} kills in ${Math.round((performance.now() - startedAt) / 1_000)} s`)

    const tried = new Set(processes.flatMap((one) => [...one.tried]))
    const safe = new Set(processes.flatMap((one) => [...one.safe]))
    expect(tried.size).to.be.at.least(EVENTS)
    const isCounted = async () => {
      const path = `/v2/accounts/${account.id}/balance?metric_id=${metric.id}`
      const { body } = await api.get<{ usage_total: string }>(path)
      return Number(body.usage_total) * 10 >= safe.size
    }
    // The list is long, so it is read only when it may be complete.
    await until(isCounted, 60_000)
    await sleep(LISTED_MS)
    const counted = await until(async () => {
      const keys = await countedKeys(tally, account.id, metric.id)
      return isSubset(safe, new Set(keys)) && keys
    }, 60_000)
    tell(`${tried.size} tried, ${safe.size} safe, ${counted.length} counted`)
    expect(new Set(counted).size, 'each once').to.equal(counted.length)
    expect(counted.filter((key) => !tried.has(key))).to.deep.equal([])
    const balance = await api.get<{ usage_total: string }>(
      `/v2/accounts/${account.id}/balance?metric_id=${metric.id}`,
    )
    expect(balance.body.usage_total).to.equal(tenths(counted.length))
    const audit = await runProgram('operator/main', { DATA_DIR: tally.dataFolder }, 'audit')
    expect(audit.code, audit.output).to.equal(0)
  })
})

const isSubset = (some: Set<string>, all: Set<string>) => [...some].every((key) => all.has(key))

const tenths = (count: number): string => `${Math.floor(count / 10)}.${count % 10}`.replace(/\.0$/, '')

function fateOf(random: Random): Fate | Promise<Fate> {
  const dice = random()
  if (dice < 0.03) return 'cut before'
  if (dice < 0.08) return 'cut after'
  if (dice < 0.1) return { status: 429, headers: { 'Retry-After': '0' }, body: 'rate limit exceeded' }
  if (dice < 0.12) return { status: 500, body: 'internal error' }
  if (dice < 0.14) return { status: 502, headers: { 'Content-Type': 'text/html' }, body: '<html>' }
  if (dice < 0.16) return { status: 503, headers: { 'Retry-After': '1' }, body: 'try again' }
  if (dice < 0.2) return sleep(DELAY_MAX_MS * random() ** 3).then((): Fate => 'pass')
  return 'pass'
}

/** Kills a process at a random moment, unless it was killed before. Some are stopped first, and taken for dead. */
async function killLater({ child, ended, safe }: ReporterProcess, random: Random): Promise<void> {
  let isOver = false
  void ended.then(() => (isOver = true))
  await until(() => Promise.resolve(isOver || safe.size > 0), 60_000)
  await Promise.race([ended, sleep(200 + randomInteger(random, 1_500))])
  if (random() < 0.3) {
    child.kill('SIGSTOP')
    await Promise.race([ended, sleep(STOPPED_MS)])
    child.kill('SIGCONT')
    await Promise.race([ended, sleep(randomInteger(random, 500))])
  }
  child.kill('SIGKILL')
}

/** Sends all that is left in the folder. */
async function drain(url: string, apiKey: string, dir: string): Promise<void> {
  const reporter = new UsageReporter(
    new Tally({ url, apiKey }),
    { spool: { dir } },
    { timings: { ...TIMINGS, deadMs: 0, listMs: 200 }, reached: () => undefined },
  )
  const folder = path.join(dir, folderNameOf(url, 'live'))
  await until(async () => !(await readdir(folder)).some((name) => name.endsWith('.ndjson')), 120_000)
  await reporter.close()
}

const PAGE = 100

/** The keys of all events that count, as often as they count. */
async function countedKeys(tally: RunningTally, accountId: string, metricId: string): Promise<string[]> {
  const keys: string[] = []
  for (let after = ''; ;) {
    const query = `limit=${PAGE}&account_id=${accountId}&metric_id=${metricId}${after}`
    const response = await fetch(`${tally.url}/v2/events?${query}`, { headers: { 'x-api-key': tally.key } })
    const page = (await response.json()) as {
      data: { id: string; properties: { key: string } }[]
      has_more: boolean
    }
    for (const { properties } of page.data) keys.push(properties.key)
    const last = page.data.at(-1)
    if (!page.has_more || last === undefined) return keys
    after = `&starting_after=${last.id}`
  }
}
