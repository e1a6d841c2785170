import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { runCommand } from '../support/by-hand.ts'
import { makeTempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'
import type { EventBody } from '../support/usage-world.ts'
import { checkAccounts, checkLedger, checkUsage } from './check-ledger.ts'
import { type FakeTime, makeFakeTime } from './fake-time.ts'
import { startTallyStage, type TallyStage } from './tally-stage.ts'

const HOUR_S = 3_600
const DAY_S = 24 * HOUR_S
/** The pause between reads of the list of events, which cost more than the reports. */
const FOLLOW_MS = 300
/** The time for which gateways wait for clocks that are behind, instead of three minutes. */
const SETTLES_S = 6

describe('a clock that is set, by libfaketime', function () {
  this.timeout(240_000)
  let time: FakeTime
  let stage: TallyStage
  let followed: Set<string>
  let following: Promise<void> | undefined
  let isFollowing: boolean

  /** Reads the list of events from the last id on, until it is stopped. */
  const follow = async () => {
    let last = ''
    while (isFollowing) {
      const after = last === '' ? '' : `&starting_after=${last}`
      const { body } = await stage.api.get<{ data: EventBody[] }>(`/v2/events?limit=100${after}`)
      for (const { id } of body.data) {
        followed.add(id)
        last = id
      }
      await sleep(FOLLOW_MS)
    }
  }
  const acknowledged = () => stage.ledger.count('acknowledged')
  const someAreTaken = async () => {
    const before = acknowledged()
    await until(() => Promise.resolve(acknowledged() > before + 50), 60_000)
  }
  /** Sends a report that is not in the ledger, because its account does not exist. */
  const report = () =>
    stage.api.post('/v2/events', {
      account_id: `account_${'0'.repeat(32)}`,
      currency: 'usd',
      quantity: '1',
      occurred_at: Math.floor(Date.now() / 1_000),
      idempotency_key: 'now',
    })
  /** Waits until reports get 503, with a text that says why. */
  const isPutOff = async (says: RegExp) => {
    const { headers } = await until(async () => {
      const answer = await report()
      return answer.status === 503 && says.test(answer.text) && answer
    })
    expect(await stage.isReady(), 'ready').to.equal(false)
    expect(headers.get('retry-after')).to.equal('5')
    const { status: reads } = await stage.api.get('/v2/events')
    expect(reads, 'reads').to.equal(200)
  }
  const doctorSays = async (says: RegExp) => {
    expect((await runCommand(stage.commandEnv['DATA_DIR'] ?? '', 'doctor')).output).to.match(says)
  }
  const start = async (env: Record<string, string>) => {
    const dataFolder = `${await makeTempFolder('clocks')}/data`
    stage = await startTallyStage('clocks', {
      dataFolder,
      env: { ...env, GATEWAY_CLOCK_SETTLES_S: String(SETTLES_S) },
    })
    followed = new Set()
    isFollowing = true
    following = follow()
    stage.ledger.start()
    await someAreTaken()
  }
  const isFollowed = async () => {
    const ids = () =>
      stage.ledger.events.flatMap(({ outcome, id }) => (outcome === 'acknowledged' && id) || [])
    await until(() => Promise.resolve(ids().every((id) => followed.has(id))), 60_000)
  }

  beforeEach(async function () {
    time = await makeFakeTime(this)
  })
  afterEach(async () => {
    isFollowing = false
    await following
    following = undefined
    await (stage as TallyStage | undefined)?.tally.stop()
    ;(time as FakeTime | undefined)?.remove()
  })

  it('of Tally alone: takes nothing while it is off, says so, and has nothing to mend afterwards', async () => {
    await start(time.env)
    for (const aheadS of [-HOUR_S, DAY_S]) {
      time.set(aheadS)
      await isPutOff(/^no usage is taken while this machine's clock and the database's differ: try again/)
      await doctorSays(/failed.*clock/)
      time.set(0)
      await until(() => stage.isReady())
      await someAreTaken()
    }
    await stage.ledger.stop()
    await checkLedger(stage)
    await isFollowed()
  })

  it('of Tally and its PostgreSQL: waits behind what it took, then goes on from there', async () => {
    await start(time.withPostgres)
    time.set(-HOUR_S)
    const behind = /^no usage is taken for some minutes, as the clock of this Tally lies behind/
    await isPutOff(behind)
    await until(() => stage.isReady())
    const { status, text } = await report() // an hour ahead of that clock, which is the true time
    expect(status, text).to.equal(503)
    expect(text).to.contain('more than five minutes ahead of a clock that may be behind')
    await doctorSays(/failed +times of acceptance: PostgreSQL's clock lies 3\d\d\d s behind/)
    time.set(0)
    await someAreTaken()

    time.set(DAY_S)
    await sleep(2_000)
    await someAreTaken()
    time.set(0)
    await isPutOff(behind)
    await until(() => stage.isReady())
    await someAreTaken()
    expect((await report()).status, 'a report for no account').to.equal(422)
    await stage.ledger.stop()
    await checkUsage(stage)
    await checkAccounts(stage)
    await isFollowed()
    const { code, output } = await runCommand(stage.commandEnv['DATA_DIR'] ?? '', 'audit')
    expect(code, output).to.equal(1)
    const findings = output.split('\n').filter((line) => /^[A-Z]{2,}/.test(line))
    expect(findings.filter((line) => !line.startsWith('ACCEPTED IN THE FUTURE'))).to.deep.equal([])
    expect(findings).not.to.deep.equal([])
  })
})
