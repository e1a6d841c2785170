import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { LOADER_GROUP } from '../../shared/event-log/event-log.ts'
import { IS_LONG, tell } from '../support/fault-seed.ts'
import { findKafka } from '../support/kafka.ts'
import type { RunningService } from '../support/start-service.ts'
import { until } from '../support/until.ts'
import { checkLedger, checkUsage } from './check-ledger.ts'
import { type FaultStage, startFaultStage } from './fault-stage.ts'
import { appendBulk } from './poison.ts'

const BEFORE_MS = 5_000
const AWAY_MS = IS_LONG ? 120_000 : 10_000
const HANGING_MS = 7_000

/** The largest ratio of the 99th percentiles of reports with and without ClickHouse. */
const P99_RATIO_MAX = 2
/** Below this time the ratio is not checked, because other programs of the machine affect it too much. */
const P99_NOISE_MS = 200
const DRAIN_RATIO_MIN = 3
/**
 * The memory that a process may use in addition while ClickHouse is away: for buffers and batches, but not for the
 * backlog.
 */
const MORE_MEMORY_MB_MAX = 60
/** The number of records of 450 KB in the backlog, which is larger than that memory. */
const BULK_RECORDS = 160

describe('ClickHouse', function () {
  this.timeout(IS_LONG ? 600_000 : 150_000)
  let stage: FaultStage
  let bulk = 0

  before(async function () {
    const brokers = await findKafka(this)
    // Batches are small, so that the backlog of some seconds is many batches.
    const env = { LOADER_BATCH_BYTES_MAX: '1000000', LOADER_BATCH_ROWS_MAX: '2000' }
    stage = await startFaultStage('clickhouse_away', {
      brokers,
      env,
      load: { workers: 5, batchMax: 20, pauseMs: 150 },
    })
  })
  after(() => (stage as FaultStage | undefined)?.close())

  const lagNow = async (): Promise<number> =>
    (await stage.eventLog.lag(LOADER_GROUP)).reduce((sum, { committed, end }) => sum + end - committed, 0)

  const readyz = async ({ adminUrl }: RunningService): Promise<number> =>
    (await fetch(`http://${new URL(adminUrl).host}/readyz`)).status

  it('is killed while events pour in: reports do not notice, memory is bounded, the backlog drains', async () => {
    const { ledger, services, engines, toClickHouse } = stage
    const { gateway, loader } = services
    await ledger.during(async () => {
      await sleep(2_000) // work that is slow only at the first time has ended
      const from = performance.now()
      await sleep(BEFORE_MS)
      const memoryBefore = { gateway: await residentMb(gateway), loader: await residentMb(loader) }
      const awayFrom = performance.now()
      const endBefore = await endOf(stage)
      await engines.clickhouse.kill9()
      await sleep(AWAY_MS)
      expect(await readyz(loader), 'readyz of the loader').to.equal(503)
      expect(await readyz(gateway), 'readyz of the gateway').to.equal(200)
      const memory = { gateway: await residentMb(gateway), loader: await residentMb(loader) }
      await engines.clickhouse.restart()
      toClickHouse.target = engines.clickhouse.port
      const backAt = performance.now()
      const arrival = ((await endOf(stage)) - endBefore) / (backAt - awayFrom)
      const backlog = await lagNow()
      const readAtFirst = (await endOf(stage)) - backlog
      await until(async () => (await endOf(stage)) - (await lagNow()) > readAtFirst)
      const drainFrom = performance.now()
      await until(async () => (await lagNow()) <= arrival * 1_000) // the records of one second are always on their way
      const drainedAt = performance.now()
      const drained = (await endOf(stage)) - (await lagNow()) - readAtFirst
      const drain = drained / Math.max(1, drainedAt - drainFrom)
      const p99Before = p99(stage, from, awayFrom)
      const p99Away = p99(stage, awayFrom, backAt)
      tell(
        `p99 of a report ${p99Before.toFixed(1)} ms before, ${p99Away.toFixed(1)} ms while away: ratio ${(p99Away / p99Before).toFixed(2)}`,
      )
      tell(
        `${(arrival * 1_000).toFixed(0)} records/s came, a backlog of ${backlog}; drained at ${(drain * 1_000).toFixed(0)}/s, ` +
          `ratio ${(drain / arrival).toFixed(1)}, begun ${(drainFrom - backAt).toFixed(0)} ms after ClickHouse was back`,
      )
      for (const name of ['gateway', 'loader'] as const) {
        tell(`${name}: ${memoryBefore[name].toFixed(0)} MB before, ${memory[name].toFixed(0)} MB while away`)
        expect(memory[name] - memoryBefore[name], `MB more of the ${name}`).to.be.below(MORE_MEMORY_MB_MAX)
      }
      expect(p99Away).to.be.below(Math.max(p99Before * P99_RATIO_MAX, p99Before + P99_NOISE_MS))
      expect(drain / arrival).to.be.above(DRAIN_RATIO_MIN)
    })
    await checkUsage(stage)
    await until(async () => (await readyz(loader)) === 200)
  })

  it('hangs: the loader waits, leaves the backlog in the log, is not ready, and goes on by itself', async () => {
    const { ledger, services, toClickHouse } = stage
    await ledger.during(async () => {
      toClickHouse.become('holding')
      const before = await residentMb(services.loader)
      bulk = await appendBulk(stage, BULK_RECORDS)
      await sleep(HANGING_MS)
      const more = (await residentMb(services.loader)) - before
      tell(`loader: ${more.toFixed(0)} MB more, with ${((bulk * 450) / 1_000).toFixed(0)} MB behind`)
      expect(more, 'MB more').to.be.below(MORE_MEMORY_MB_MAX)
      expect(await readyz(services.loader)).to.equal(503)
      toClickHouse.become('passing')
      await until(async () => (await readyz(services.loader)) === 200)
    })
    await checkUsage(stage)
  })

  it('leaves a log, a list and dead letters that add up', () => checkLedger(stage, 0, bulk))
})

/** The number of all records that were ever appended. */
async function endOf({ eventLog }: FaultStage): Promise<number> {
  return (await eventLog.lag(LOADER_GROUP)).reduce((sum, { end }) => sum + end, 0)
}

/** The 99th percentile of the reports that were answered in a range of time. */
function p99({ ledger }: FaultStage, from: number, to: number): number {
  const times = ledger.attempts
    .filter(({ status, at }) => status === 202 && at >= from && at < to)
    .map(({ ms }) => ms)
    .sort((a, b) => a - b)
  return times[Math.ceil(times.length * 0.99) - 1] ?? NaN
}

/** The resident memory; Linux only. */
async function residentMb({ process: { pid } }: RunningService): Promise<number> {
  const status = await readFile(`/proc/${pid ?? 0}/status`, 'utf8').catch(() => '')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1_024
}
