import { expect } from 'chai'
import { randomInteger, seededRandom } from '../../../clients/reporter/simulate/seeded-random.ts'
import { formatAmount } from '../../../shared/amount/amount.ts'
import { latestUsageAt } from '../../../shared/clickhouse/events/latest-usage.ts'
import { usageEventRepository } from '../../../shared/clickhouse/events/usage-events.ts'
import { makeLatestSums } from '../../../shared/clickhouse/usage/latest-sums.ts'
import { usageThroughRollups } from '../../../shared/clickhouse/usage/usage-through-rollups.ts'
import type { SumsByAccount } from '../../../shared/domain/balance.ts'
import type { UsageEvent } from '../../../shared/domain/usage-event.ts'
import { usageEventToLine } from '../../../shared/usage-lines/log-line.ts'
import { subjectOf } from '../../../shared/usage-lines/log-line-subjects.ts'
import { countingClickHouse, QueryCounts, usageQueriesOf } from '../../support/count-queries.ts'
import { type RollupStage, startRollupStage } from '../../support/rollup-stage.ts'
import { makeCorrection, makeReport, NAMESPACE } from '../../support/usage-event.ts'

const SEED = 'added usage'
const WRITES = 60
const ACCOUNTS = ['a', 'b', 'c', 'd'].map((digit) => `account_${digit.repeat(32)}`)
const SOURCES = ['usd', 'eur', `metric_${'1'.repeat(32)}`]
const QUANTITIES = ['1', '0.000000000000000001', '99999999999999999999.999999999999999999', '-3.5', '0']

const texts = (sums: SumsByAccount) =>
  [...sums].map(([account, bySource]) => [
    account,
    [...bySource].map(([source, sum]) => `${source} ${formatAmount(sum)}`).sort(),
  ])

describe('sums to which new usage is added', function () {
  this.timeout(60_000)
  let stage: RollupStage
  before(async () => {
    stage = await startRollupStage('added_usage', 300)
  })
  after(() => stage.close())

  it('are those of the events, whatever comes again, is corrected, fails or is of before the start', async () => {
    const random = seededRandom(SEED)
    const one = <T>(of: readonly T[]): T => of[randomInteger(random, of.length)] as T
    const now = await stage.epochs.now()
    const usage = usageEventRepository(stage.writing)
    const insert = (events: readonly UsageEvent[]) =>
      usage.insertLines(Buffer.from(events.map(usageEventToLine).join('\n')))
    const made = (occurredAt: number) =>
      makeReport({ accountId: one(ACCOUNTS), source: one(SOURCES), quantity: one(QUANTITIES), occurredAt })
    const known = Array.from({ length: 20 }, () => made(now - randomInteger(random, 100)))
    await insert(known)

    const latestSums = makeLatestSums((await latestUsageAt(stage.client)) + 1)
    const counts = new QueryCounts()
    const reader = usageThroughRollups(countingClickHouse(stage.client, counts), latestSums)
    const expectExact = async (moment: string) => {
      const [found, right] = [
        await reader.sumByAccount(NAMESPACE, ACCOUNTS),
        await stage.raw.sumByAccount(NAMESPACE, ACCOUNTS),
      ]
      expect(texts(found), `${moment} (seed ${SEED})`).to.deep.equal(texts(right))
    }
    const lineOf = (): UsageEvent => {
      const kind = randomInteger(random, 12)
      if (kind === 0) return one(known)
      if (kind === 1) return makeCorrection(one(known), { quantity: one(QUANTITIES), voided: random() < 0.5 })
      return made(kind === 2 ? now - randomInteger(random, 1_000) : now + 1 + randomInteger(random, 200))
    }
    let asked = 0
    for (let write = 0; write < WRITES; write++) {
      const events = Array.from({ length: 1 + randomInteger(random, 4) }, lineOf)
      known.push(...events)
      const [fails, isStored] = [random() < 0.1, random() < 0.5]
      const lines = Buffer.from(events.map(usageEventToLine).join('\n') + one(['', '\n']))
      const store = () =>
        latestSums.whileStoring(lines, events.map(subjectOf), async () => {
          if (!fails || isStored) await insert(events)
          // A read that begins now must find the usage that other readers can see now.
          const reading = expectExact(`while write ${write} is under way`)
          await Promise.race([reading, new Promise(setImmediate)])
          if (fails) throw new Error('not stored, or so it seems')
          return { reading }
        })
      const stored = await store().catch(() => undefined)
      await stored?.reading
      counts.clear()
      await expectExact(`after write ${write}`)
      if (usageQueriesOf(counts).length > 0) asked++
    }
    expect(asked, 'writes after which something was read').to.be.within(1, WRITES * 0.7)
  })
})
