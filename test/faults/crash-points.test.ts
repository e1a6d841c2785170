import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { GATEWAY_POINTS } from '../../services/gateway/crash-points.ts'
import { LOADER_POINTS, type LoaderPoint } from '../../services/loader/crash-points.ts'
import { randomInteger, seededRandom } from '../../services/reporter/simulate/seeded-random.ts'
import { runProgram } from '../support/by-hand.ts'
import { checkLedger, checkUsage } from '../support/check-ledger.ts'
import { SEED, startFaultStage, type FaultStage } from '../support/fault-stage.ts'
import { findKafka } from '../support/kafka.ts'
import { appendRefusedLines } from '../support/poison.ts'
import type { ServiceName } from '../support/start-service.ts'
import { until } from '../support/until.ts'

/** Points that a batch gets to only when ClickHouse refuses a line of it. */
const NEED_POISON: ReadonlySet<LoaderPoint> = new Set(['loader-inserting', 'loader-buried'])

/** The highest number of times that a point is passed before the crash. */
const GATEWAY_TIMES_MAX = 30
const LOADER_TIMES_MAX = 5

for (const where of ['PostgreSQL', 'Kafka'])
  describe(`a crash at a named point, with the event log on ${where},`, function () {
    this.timeout(120_000)
    const random = seededRandom(`crash points ${SEED}`)
    let stage: FaultStage
    let dead = 0

    before(async function () {
      const brokers = where === 'Kafka' ? await findKafka(this) : undefined
      stage = await startFaultStage(`crash_${where.toLowerCase()}`, brokers === undefined ? {} : { brokers })
    })
    after(() => stage.close())

    /** Has a service crash at a point under load, and starts it again, with the reporters still at it. */
    const crash = async (name: 'gateway' | 'loader', point: string, timesMax: number, poison: boolean) => {
      const service = stage.services[name]
      await service.stop()
      await stage.restart(name, { CRASH_AT: `${point}:${1 + randomInteger(random, timesMax)}` })
      const child = service.process
      const ended = once(child, 'exit')
      await stage.ledger.during(async () => {
        await until(async () => {
          if (poison) dead += await appendRefusedLines(stage.eventLog)
          await Promise.race([ended, sleep(200)])
          return child.exitCode !== null || child.signalCode !== null
        })
        await stage.restart(name)
        await sleep(200)
      })
      expect(child.signalCode, service.output()).to.equal('SIGKILL')
      await checkUsage(stage)
    }

    for (const point of GATEWAY_POINTS)
      it(`of the gateway (${point}) loses and doubles nothing`, () =>
        crash('gateway', point, GATEWAY_TIMES_MAX, false))

    for (const point of LOADER_POINTS)
      it(`of the loader (${point}) loses and doubles nothing`, () =>
        crash('loader', point, LOADER_TIMES_MAX, NEED_POISON.has(point)))

    it('leaves a log, a list and dead letters that add up', () => checkLedger(stage, dead))
  })

describe('CRASH_AT', () => {
  it('is refused with the other settings when it names no point', async () => {
    const points: [ServiceName, readonly string[]][] = [
      ['gateway', GATEWAY_POINTS],
      ['loader', LOADER_POINTS],
    ]
    for (const [name, known] of points)
      for (const wrong of ['nowhere:1', `${known[0] ?? ''}:0`, known[0] ?? '']) {
        const { code, output } = await runProgram(`${name}/main`, { CRASH_AT: wrong })
        expect(code).to.equal(1)
        expect(output).to.contain('DATABASE_URL')
        expect(output).to.contain(
          `CRASH_AT must be POINT:N with N from 1 to 1000000 and POINT one of ${known.join(', ')}\n`,
        )
      }
  })
})
