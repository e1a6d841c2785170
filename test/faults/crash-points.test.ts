import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { randomInteger, seededRandom } from '../../clients/reporter/simulate/seeded-random.ts'
import { readGatewayServiceConfig } from '../../services/gateway/config.ts'
import { GATEWAY_POINTS } from '../../services/gateway/crash-points.ts'
import { readLoaderServiceConfig } from '../../services/loader/config.ts'
import { LOADER_POINTS } from '../../services/loader/crash-points.ts'
import { readRefillServiceConfig } from '../../services/refill/config.ts'
import { REFILL_POINTS } from '../../services/refill/crash-points.ts'
import { readRollupServiceConfig } from '../../services/rollup/config.ts'
import { ROLLUP_POINTS } from '../../services/rollup/crash-points.ts'
import { EnvReader } from '../../shared/config/env-reader.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../shared/postgres/core/transaction.ts'
import { namespaceOf } from '../support/by-hand.ts'
import { drawnPoints, IS_LONG, SEED } from '../support/fault-seed.ts'
import { findKafka } from '../support/kafka.ts'
import { until } from '../support/until.ts'
import { checkLedger, checkUsage } from './check-ledger.ts'
import { type FaultStage, startFaultStage } from './fault-stage.ts'
import { appendRefusedLines } from './poison.ts'

/** Points that a batch reaches only if ClickHouse refuses one of its lines. */
const NEED_POISON: ReadonlySet<string> = new Set(['loader-inserting', 'loader-dead-lettered'])

/** Points that the relay reaches only if a correction was not sent. */
const NEED_UNSENT: ReadonlySet<string> = new Set(['gateway-relayed'])

/**
 * Points around operations of the log. The code at the other points does not depend on the log, so only FAULT_LONG=1
 * tries those on Kafka too.
 */
const OF_THE_LOG: ReadonlySet<string> = new Set([
  'gateway-appending',
  'gateway-appended',
  'gateway-sending',
  'gateway-sent',
  'gateway-relayed',
  'loader-gathered',
  'loader-committing',
  'loader-committed',
])

/**
 * The number of times that a service passes a point before it crashes. A service is armed at its start, so it must
 * first process and check the work of the crashed one.
 */
const GATEWAY_TIMES = { min: 8, max: 16 }
const LOADER_TIMES = { min: 4, max: 6 }
const RARE_TIMES = { min: 1, max: 3 }

const POISON_EVERY_MS = 400
/** The longest time until a service reaches its point for the last time. */
const CRASH_MS = 90_000

for (const where of ['PostgreSQL', 'Kafka'])
  describe(`a crash at a named point, with the event log on ${where},`, function () {
    this.timeout(240_000)
    this.bail(true) // the next service is armed by the test before
    const random = seededRandom(`crash points ${SEED}`)
    let stage: FaultStage
    let dead = 0

    before(async function () {
      const brokers = where === 'Kafka' ? await findKafka(this) : undefined
      stage = await startFaultStage(`crash_${where.toLowerCase()}`, {
        ...(brokers === undefined ? {} : { brokers }),
        env: { LOADER_FLUSH_MS: '250' }, // the loader passes its points once for each batch
        load: { corrects: 0.4 },
      })
    })
    after(() => (stage as FaultStage | undefined)?.close())

    /** The settings by which the next service crashes at a point; empty after the last point. */
    const arm = (point: string | undefined): Record<string, string> => {
      if (point === undefined) return {}
      const { min, max } = timesOf(point)
      return { CRASH_AT: `${point}:${min + randomInteger(random, max - min + 1)}` }
    }

    /** Waits until a service crashes under load, and starts the next one while the reporters continue. */
    const crash = async (name: 'gateway' | 'loader', point: string, next: string | undefined) => {
      const service = stage.services[name]
      const child = service.process
      const ended = once(child, 'exit')
      await stage.ledger.during(async () => {
        await until(async () => {
          if (NEED_POISON.has(point)) dead += await appendRefusedLines(stage.eventLog)
          if (NEED_UNSENT.has(point)) await forgetSent(stage.pool)
          await Promise.race([ended, sleep(POISON_EVERY_MS)])
          return hasEnded(child)
        }, CRASH_MS)
        await stage.restart(name, arm(next))

        await startedAgain(name, next, stage.ledger.stop())
      })
      expect(child.signalCode, service.output()).to.equal('SIGKILL')
      await startedAgain(name, next, stage.drained())
      await checkUsage(stage)
    }

    /**
     * Reporters continue until the next service is ready, which takes long on a busy machine. If it reaches its point
     * in that time, it is started again.
     */
    const startedAgain = async (
      name: 'gateway' | 'loader',
      next: string | undefined,
      work: Promise<unknown>,
    ) => {
      const done = work.then(() => 'done')
      done.catch(() => undefined) // awaited below
      for (;;) {
        const child = stage.services[name].process
        const ended = hasEnded(child) ? Promise.resolve() : once(child, 'exit')
        if ((await Promise.race([done, ended])) === 'done') return
        await stage.restart(name, arm(next))
      }
    }

    const tried = (point: string) => where === 'PostgreSQL' || IS_LONG || OF_THE_LOG.has(point)
    for (const [name, points] of [
      ['gateway', drawnPoints(GATEWAY_POINTS.filter(tried))],
      ['loader', drawnPoints(LOADER_POINTS.filter(tried))],
    ] as const)
      describe(`of the ${name}`, () => {
        before(async () => {
          await stage.services[name].kill9()
          await stage.restart(name, arm(points[0]))
        })
        for (const [index, point] of points.entries())
          it(`(${point}) loses and doubles nothing`, () => crash(name, point, points[index + 1]))
      })

    // In a nested suite, because mocha runs the tests of a suite before its nested suites.
    describe('of either', () => {
      it('leaves a log, a list and dead letters that add up', () => checkLedger(stage, dead))
    })
  })

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

function timesOf(point: string): { min: number; max: number } {
  if (NEED_POISON.has(point) || NEED_UNSENT.has(point)) return RARE_TIMES
  return point.startsWith('gateway-') ? GATEWAY_TIMES : LOADER_TIMES
}

/** Makes the state of a gateway that crashed after it committed some corrections. */
async function forgetSent(pool: Pool): Promise<void> {
  const namespaceId = await namespaceOf(pool, 'default')
  await inNamespace(pool, namespaceId, (db) =>
    db.query(`UPDATE event_revisions SET sent_at = NULL WHERE (event_id, revision) IN
      (SELECT event_id, revision FROM event_revisions WHERE revision > 0 ORDER BY made_at LIMIT 3)`),
  )
}

describe('CRASH_AT', () => {
  const services: [readConfig: (read: EnvReader) => unknown, points: readonly string[]][] = [
    [readGatewayServiceConfig, GATEWAY_POINTS],
    [readLoaderServiceConfig, LOADER_POINTS],
    [readRefillServiceConfig, REFILL_POINTS],
    [readRollupServiceConfig, ROLLUP_POINTS],
  ]

  it('is refused with the other settings when it names no point', () => {
    for (const [readConfig, points] of services)
      for (const wrong of ['nowhere:1', `${points[0] ?? ''}:0`, points[0] ?? '']) {
        const read = new EnvReader({ CRASH_AT: wrong })
        readConfig(read)
        expect(() => {
          read.done()
        }, wrong)
          .to.throw(`CRASH_AT must be POINT:N with N from 1 to 1000000 and POINT one of ${points.join(', ')}`)
          .with.property('message')
          .that.contains('DATABASE_URL')
      }
  })
})
