import { setTimeout as sleep } from 'node:timers/promises'
import { type Random, randomInteger, seededRandom } from '../../clients/reporter/simulate/seeded-random.ts'
import { IS_LONG, SEED, tell } from '../support/fault-seed.ts'
import { type KafkaBroker, startKafka } from '../support/kafka.ts'
import { type OwnPostgres, startOwnPostgres } from '../support/own-postgres.ts'
import { until } from '../support/until.ts'
import { checkLedger } from './check-ledger.ts'
import { type FaultStage, LEASE_MS, startFaultStage } from './fault-stage.ts'

const DURATION_MS = IS_LONG ? 600_000 : 15_000
const PAUSE_MAX_MS = 1_500

/** A fault, which has ended when the promise resolves. */
type Fault = (random: Random) => Promise<void>

describe('everything at once', function () {
  this.timeout(DURATION_MS + 240_000)
  let kafka: KafkaBroker
  let postgres: OwnPostgres
  let stage: FaultStage

  before(async function () {
    kafka = await startKafka(this)
    postgres = await startOwnPostgres()
    stage = await startFaultStage('everything', {
      brokers: kafka.brokers,
      postgres,
      ...(IS_LONG ? { load: { pauseMs: 60 } } : {}),
    })
  })
  after(async () => {
    ;(kafka as KafkaBroker | undefined)?.resume()
    await (stage as FaultStage | undefined)?.close()
    await postgres.stop()
    await (kafka as KafkaBroker | undefined)?.stop()
  })

  it('processes, engines and connections fail side by side, by a seeded schedule: each event counts once', async () => {
    const faults: string[] = []
    const endAt = performance.now() + DURATION_MS
    /** Causes random faults of a list, one after the other. */
    const lane = async (name: string, list: Record<string, Fault>) => {
      const random = seededRandom(`everything, ${name} ${SEED}`)
      const names = Object.keys(list)
      while (performance.now() < endAt) {
        await sleep(PAUSE_MAX_MS * random())
        const chosen = names[randomInteger(random, names.length)] ?? ''
        faults.push(chosen)
        await list[chosen]?.(random)
      }
    }
    await stage.ledger.during(async () => {
      await Promise.all([
        lane('processes', processFaults(stage)),
        lane('engines', engineFaults(stage, kafka, postgres)),
        lane('connections', connectionFaults(stage)),
      ])
      await sleep(500)
    })
    tell(`${faults.length} faults: ${faults.join(', ')}`)
    await checkLedger(stage)
  })
})

/** Starts a service again if it cannot start because a server is away, like a supervisor. */
const supervise = (stage: FaultStage, name: 'gateway' | 'loader') =>
  until(
    () =>
      stage.restart(name).then(
        () => true,
        () => false,
      ),
    60_000,
  )

const processFaults = (stage: FaultStage): Record<string, Fault> => ({
  'gateway killed': async () => {
    await stage.services.gateway.kill9()
    await supervise(stage, 'gateway')
  },
  'loader killed': async () => {
    await stage.services.loader.kill9()
    await supervise(stage, 'loader')
  },
  'loader asleep': async () => {
    const { process: child } = stage.services.loader
    child.kill('SIGSTOP')
    await sleep(LEASE_MS * 2)
    child.kill('SIGCONT')
  },
  'second loader for a while': async (random) => {
    const loader = await stage.addLoader().catch(() => undefined)
    await sleep(1_000 * random())
    await loader?.kill9()
  },
})

const engineFaults = (
  stage: FaultStage,
  kafka: KafkaBroker,
  postgres: OwnPostgres,
): Record<string, Fault> => ({
  'broker killed': async () => {
    await kafka.kill9()
    await kafka.restart()
  },
  'broker asleep': async (random) => {
    await kafka.pause()
    await sleep(4_000 * random())
    kafka.resume()
  },
  'PostgreSQL killed': async () => {
    await postgres.kill9()
    await postgres.restart()
    stage.toPostgres.target = postgres.port()
  },
  'ClickHouse killed': async () => {
    const { clickhouse } = stage.engines
    await clickhouse.kill9()
    await clickhouse.restart()
    stage.toClickHouse.target = clickhouse.port
  },
})

const connectionFaults = (stage: FaultStage): Record<string, Fault> => {
  const proxies = [stage.toGateway, stage.toPostgres, stage.toClickHouse]
  const anyOf = (random: Random) => proxies[randomInteger(random, proxies.length)] ?? stage.toGateway
  return {
    'connections cut': (random) => {
      anyOf(random).cut()
      return Promise.resolve()
    },
    'connections stalled': async (random) => {
      const proxy = anyOf(random)
      proxy.become('holding')
      await sleep(2_000 * random())
      proxy.become('passing')
    },
    'connections refused': async (random) => {
      const proxy = anyOf(random)
      proxy.become('refusing')
      await sleep(1_000 * random())
      proxy.become('passing')
    },
  }
}
