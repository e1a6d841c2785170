import { readdir, readFile, rm } from 'node:fs/promises'
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
import type { UsageEvent } from '../../../../clients/sdk/src/reporter/usage-event.ts'
import { UsageReporter } from '../../../../clients/sdk/src/reporter/usage-reporter.ts'
import { askAt } from '../../../support/analysts.ts'
import { runProgram } from '../../../support/by-hand.ts'
import { IS_LONG, SEED, tell } from '../../../support/fault-seed.ts'
import { type Fate, type FaultyProxy, faultyProxy } from '../../../support/faulty-proxy.ts'
import { type RunningTally, startTally } from '../../../support/start-tally.ts'
import { makeTempFolder } from '../../../support/temp-folder.ts'
import { until } from '../../../support/until.ts'
import type { ReportOrder } from './report.main.ts'
import { REPORTER_POINTS, type ReporterProcess } from './reporter-process.ts'

const WAVE = IS_LONG ? 500 : 100
const DELAY_MAX_MS = IS_LONG ? 20_000 : 300
/** A process that was stopped for longer is taken for dead. */
const TIMINGS = { listMs: 500, deadMs: 2_000, mergeMs: 1_000 }
const STOPPED_MS = 4_000
const COUNTED_MS = 60_000
/** One query reads the keys of all events, also on a busy machine. */
const ANALYST_LIMITS = { ANALYST_QUERY_TIMEOUT_S: '300', ANALYST_QUERY_MEMORY_MB: '4096' }
const LOOK_EVERY_MS = 250
/** Calls of the test itself may take long on a busy machine. */
const RETRIES = 20
/** Processes write faster than the proxy lets them send. */
const DRAINED_MS = IS_LONG ? 1_200_000 : 120_000

/** Without those that a run may not reach: nothing is refused, and there may be nothing to merge. */
const POINTS = REPORTER_POINTS.filter((point) => point !== 'rejected-written' && point !== 'files-merged')

export interface FaultyRun {
  events: number
  kills: number
  /** A function for each process that uses the folder at the same time. */
  starters: readonly ((order: ReportOrder) => ReporterProcess)[]
}

/** The processes of a run, and the memory that each used at most. */
interface Reported {
  processes: ReporterProcess[]
  /** In MB, by the place of the starter. Empty on a system that does not tell. */
  megabytes: number[]
}

/** A Tally of its own behind a proxy that cuts, delays and answers 429 to 503, and a folder for the spool. */
export class FaultyStage {
  private readonly random: Random
  private readonly tally: RunningTally
  private readonly proxy: FaultyProxy
  private readonly dir: string

  private constructor(random: Random, tally: RunningTally, proxy: FaultyProxy, dir: string) {
    this.random = random
    this.tally = tally
    this.proxy = proxy
    this.dir = dir
  }

  static async start(): Promise<FaultyStage> {
    const random = seededRandom(`reporters ${SEED}`)
    const tally = await startTally({ env: ANALYST_LIMITS })
    const proxy = await faultyProxy(tally.url, (_, at) => {
      proxy.seen.length = 0
      return at === '/v2/events/batch' ? fateOf(random) : 'pass'
    })
    return new FaultyStage(random, tally, proxy, await makeTempFolder('reporter-faults'))
  }

  async discard(): Promise<void> {
    await this.proxy.close()
    await this.tally.discard()
    await rm(this.dir, { recursive: true })
  }

  /**
   * Reports by processes that are killed, and sends what they leave. Then it checks that every event that was safe
   * counts, each once.
   *
   * @returns how much memory the processes used at most, in MB, by the place of the starter
   */
  async countsEachOnce(run: FaultyRun): Promise<number[]> {
    tell(`seed ${SEED}, FAULT_SEED=${SEED} runs it again`)
    const client = new Tally({ url: this.tally.url, apiKey: this.tally.key, maxRetries: RETRIES })
    const account = await client.accounts.create({ name: 'Acme', external_id: 'acme' })
    const metric = await client.metrics.create({ name: 'tokens' })
    const event = { account: account.id, metric: metric.id, quantity: '0.1' }
    const { processes, megabytes } = await this.report(run, event)
    const tried = new Set(processes.flatMap((one) => [...one.tried]))
    const safe = new Set(processes.flatMap((one) => [...one.safe]))
    expect(tried.size).to.be.at.least(run.events)
    const total = async () =>
      (await client.accounts.balance(account.id, { metric_id: metric.id })).usage_total
    const counted = await until(async () => {
      const keys = await this.countedKeys()
      return isSubset(safe, new Set(keys)) && (await total()) === tenths(keys.length) && keys
    }, COUNTED_MS)
    tell(`${tried.size} tried, ${safe.size} safe, ${counted.length} counted`)
    expect(new Set(counted).size, 'each once').to.equal(counted.length)
    expect(counted.filter((key) => !tried.has(key))).to.deep.equal([])
    const audit = await runProgram('operator/main', { DATA_DIR: this.tally.dataFolder }, 'audit')
    expect(audit.code, audit.output).to.equal(0)
    return megabytes
  }

  /** The keys of all events that count, as often as they count. Analysts get a million at once, and the API lists 100. */
  private async countedKeys(): Promise<string[]> {
    const password = (await readFile(path.join(this.tally.dataFolder, 'analyst-password'), 'utf8')).trim()
    const authorization = `Basic ${Buffer.from(`analyst:${password}`).toString('base64')}`
    const query = "SELECT JSONExtractString(properties, 'key') FROM events FORMAT TSV"
    const { status, text } = await askAt(this.tally.analystUrl, query, {}, { authorization })
    expect(status, text.slice(0, 1_000)).to.equal(200)
    return text.trimEnd().split('\n')
  }

  /** @param event what all events have */
  private async report(run: FaultyRun, event: UsageEvent): Promise<Reported> {
    const { starters } = run
    const { random } = this
    const startedAt = performance.now()
    const kills = { left: run.kills, made: 0 }
    const processes: ReporterProcess[] = []
    const megabytes: number[] = []

    /** Starts one process after the other, until they have reported their share. */
    const lane = async (start: FaultyRun['starters'][number], name: number) => {
      const share = Math.ceil(run.events / starters.length)
      for (let tried = 0, generation = 0; tried < share; generation++) {
        const isKilled = kills.left > 0
        if (isKilled) kills.left--
        const point = POINTS[randomInteger(random, POINTS.length)] ?? 'group-written'
        const one = start({
          url: this.proxy.url,
          apiKey: this.tally.key,
          options: { spool: { dir: this.dir }, batchEvents: WAVE },
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
        const watched = watchMemory(one, (most) => (megabytes[name] = Math.max(megabytes[name] ?? 0, most)))
        if (isKilled) await killLater(one, random)
        await Promise.all([one.ended, watched])
        if (isKilled) kills.made++
        else expect(await one.ended, one.output()).to.equal(0)
        tried += one.tried.size
      }
    }
    await Promise.all(starters.map(lane))
    await this.drain()
    tell(`${kills.made} kills in ${Math.round((performance.now() - startedAt) / 1_000)} s`)
    return { processes, megabytes }
  }

  /** Sends all that is left in the folder. */
  private async drain(): Promise<void> {
    const { url } = this.proxy
    const reporter = new UsageReporter(
      new Tally({ url, apiKey: this.tally.key }),
      { spool: { dir: this.dir } },
      { timings: { ...TIMINGS, deadMs: 0, listMs: 200 }, reached: () => undefined },
    )
    const folder = path.join(this.dir, folderNameOf(url, 'live'))
    await until(async () => !(await readdir(folder)).some((name) => name.endsWith('.ndjson')), DRAINED_MS)
    await reporter.close()
  }
}

/** Notes the most memory that a process had, in MB, while it lives. */
async function watchMemory({ child, ended }: ReporterProcess, note: (most: number) => void): Promise<void> {
  for (
    let isOver = false;
    !isOver;
    isOver = await Promise.race([ended.then(() => true), sleep(LOOK_EVERY_MS, false)])
  ) {
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '')
    const [, most] = /VmHWM:\s+(\d+) kB/.exec(status) ?? []
    if (most !== undefined) note(Math.round(Number(most) / 1_024))
  }
}

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
