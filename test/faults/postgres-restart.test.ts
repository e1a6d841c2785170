import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { IS_LONG, tell } from '../support/fault-seed.ts'
import { findKafka } from '../support/kafka.ts'
import { type OwnPostgres, startOwnPostgres } from '../support/own-postgres.ts'
import { until } from '../support/until.ts'
import { checkLedger, checkUsage } from './check-ledger.ts'
import { type FaultStage, startFaultStage } from './fault-stage.ts'

const RESTARTS = IS_LONG ? 20 : 1
const AWAY_MS = 1_000

for (const where of ['PostgreSQL', 'Kafka'])
  describe(`PostgreSQL that is killed and started again, with the event log on ${where},`, function () {
    this.timeout(IS_LONG ? 600_000 : 120_000)
    let postgres: OwnPostgres
    let stage: FaultStage

    before(async function () {
      const brokers = where === 'Kafka' ? await findKafka(this) : undefined
      postgres = await startOwnPostgres()
      stage = await startFaultStage(`pg_restart_${where.toLowerCase()}`, {
        postgres,
        ...(brokers === undefined ? {} : { brokers }),
      })
    })
    after(async () => {
      await (stage as FaultStage | undefined)?.close()
      await (postgres as OwnPostgres | undefined)?.stop()
    })

    it('costs nothing but time, and no process needs help', async () => {
      const { gateway, loader, api } = stage.services
      for (let n = 0; n < RESTARTS; n++) {
        await stage.ledger.during(async () => {
          await sleep(1_000)
          await postgres.kill9()
          await sleep(AWAY_MS)
          await postgres.restart()
          stage.toPostgres.target = postgres.port()
          const backAt = performance.now()
          await until(() =>
            Promise.resolve(stage.ledger.attempts.some(({ status, at }) => status === 202 && at > backAt)),
          )
          tell(
            `reports were taken again ${(performance.now() - backAt).toFixed(0)} ms after PostgreSQL served`,
          )
          await sleep(500)
        })
        await checkUsage(stage)
      }
      for (const { name, process: child, output } of [gateway, loader, api])
        expect(child.exitCode ?? child.signalCode, `${name}: ${output().slice(-2_000)}`).to.equal(null)
    })

    it('leaves a log, a list and dead letters that add up', () => checkLedger(stage))
  })
