import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { tell } from '../support/fault-seed.ts'
import { type KafkaBroker, startKafka } from '../support/kafka.ts'
import { until } from '../support/until.ts'
import { checkLedger, checkUsage } from './check-ledger.ts'
import { APPEND_TIMEOUT_MS, type FaultStage, startFaultStage } from './fault-stage.ts'

/** The time by which an answer may exceed its deadline on a busy machine. */
const LATE_MS = 2_500
const PAUSE_MS = 6_000

describe('the broker of the event log', function () {
  this.timeout(180_000)
  let kafka: KafkaBroker
  let stage: FaultStage

  before(async function () {
    kafka = await startKafka(this)
    stage = await startFaultStage('broker', { brokers: kafka.brokers })
  })
  after(async () => {
    ;(kafka as KafkaBroker | undefined)?.resume()
    await (stage as FaultStage | undefined)?.close()
    await (kafka as KafkaBroker | undefined)?.stop()
  })

  const acknowledgedSince = (at: number) => () =>
    Promise.resolve(stage.ledger.attempts.some((attempt) => attempt.status === 202 && attempt.at > at))

  /** Checks that a fault ends no process, and that no process must be started. */
  const withoutHelp = async (work: () => Promise<void>) => {
    const { gateway, loader, api } = stage.services
    const before = [gateway, loader, api].map(({ process: { pid } }) => pid)
    await work()
    for (const { name, process: child, output } of [gateway, loader, api])
      expect(child.exitCode ?? child.signalCode, `${name}: ${output().slice(-2_000)}`).to.equal(null)
    expect([gateway, loader, api].map(({ process: { pid } }) => pid)).to.deep.equal(before)
  }

  it('is killed and started again under load: reports wait, and nothing is lost or doubled', () =>
    withoutHelp(async () => {
      await stage.ledger.during(async () => {
        await sleep(1_500)
        await kafka.kill9()
        await sleep(1_000)
        await kafka.restart()
        const backAt = performance.now()
        await until(acknowledgedSince(backAt))
        tell(`reports were taken again ${(performance.now() - backAt).toFixed(0)} ms after the broker served`)
        await sleep(1_000)
      })
      await checkUsage(stage)
    }))

  it('hangs: reports are answered with 503 and Retry-After by their deadline, until it goes on', () =>
    withoutHelp(async () => {
      const { ledger } = stage
      await ledger.during(async () => {
        await sleep(1_000)
        await kafka.pause()
        const pausedAt = performance.now()
        await sleep(PAUSE_MS)
        kafka.resume()
        const backAt = performance.now()
        await until(acknowledgedSince(backAt))
        tell(`reports were taken again ${(performance.now() - backAt).toFixed(0)} ms after it went on`)
        const answered = ledger.attempts.filter(({ at }) => at > pausedAt)
        const refused = answered.filter(({ status }) => status === 503)
        expect(refused).not.to.deep.equal([])
        for (const { retryAfter } of refused) expect(retryAfter).to.equal('1')
        const longest = Math.max(...answered.map(({ ms }) => ms))
        tell(
          `${refused.length} reports were answered with 503, the longest wait was ${longest.toFixed(0)} ms`,
        )
        expect(longest).to.be.below(APPEND_TIMEOUT_MS + LATE_MS)
        await sleep(1_000)
      })
      await checkUsage(stage)
    }))

  it('leaves a log, a list and dead letters that add up', () => checkLedger(stage))
})
