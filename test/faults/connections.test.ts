import { setTimeout as sleep } from 'node:timers/promises'
import { seededRandom } from '../../clients/reporter/simulate/seeded-random.ts'
import { IS_LONG, SEED } from '../support/fault-seed.ts'
import { checkLedger, checkUsage } from './check-ledger.ts'
import { type FaultStage, startFaultStage } from './fault-stage.ts'

const ROUNDS = IS_LONG ? 600 : 18

describe('connections that are cut', function () {
  this.timeout(IS_LONG ? 900_000 : 120_000)
  const random = seededRandom(`connections ${SEED}`)
  let stage: FaultStage

  before(async () => {
    stage = await startFaultStage('connections')
  })
  after(() => (stage as FaultStage | undefined)?.close())

  it('between reporters and gateway, at any byte, lose and double nothing', async () => {
    await stage.ledger.during(async () => {
      for (let round = 0; round < ROUNDS; round++) {
        await sleep(250 * random())
        stage.toGateway.cut()
        if (random() < 0.7) continue
        stage.toGateway.become(random() < 0.5 ? 'holding' : 'refusing')
        await sleep(300 * random())
        stage.toGateway.cut() // the bytes that were held back are lost
        stage.toGateway.become('passing')
      }
    })
    await checkUsage(stage)
  })

  it('between services and their databases lose and double nothing', async () => {
    await stage.ledger.during(async () => {
      for (let round = 0; round < ROUNDS; round++) {
        await sleep(400 * random())
        const proxy = random() < 0.5 ? stage.toPostgres : stage.toClickHouse
        proxy.cut()
        if (random() < 0.7) continue
        proxy.become(random() < 0.5 ? 'holding' : 'refusing')
        await sleep(500 * random())
        proxy.become('passing')
      }
    })
    await checkUsage(stage)
  })

  it('leave a log, a list and dead letters that add up', () => checkLedger(stage))
})
