import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { KeepRollupsDeps } from '../../../services/rollup/keep-rollups.ts'
import { rollupMetrics } from '../../../services/rollup/rollup-metrics.ts'
import { buildEpoch } from '../../../shared/clickhouse/rollups/build-epoch.ts'
import { rollupTables } from '../../../shared/clickhouse/rollups/rollup-tables.ts'
import { DAY_S } from '../../../shared/domain/time-range.ts'
import { openMetrics } from '../../../shared/metrics/metrics.ts'
import { openKeeper } from '../../support/rollup-keeper.ts'
import { countMarks, expectRollupsExact, startRollupStage } from '../../support/rollup-stage.ts'
import { storeAsLoader } from '../../support/rollup-steps.ts'
import { until } from '../../support/until.ts'
import { makeReport, NAMESPACE } from '../../support/usage-event.ts'
import { seriesValue } from '../series-value.ts'

const HOUR_S = 3_600
const CONFIG = {
  pauseMs: 10,
  graceS: 10,
  orphanS: 600,
  lateAfterS: 0,
  rowsPerS: 100_000_000,
  queryTimeoutS: 30,
  dropAfterS: 0,
}

describe('the rollup service', function () {
  this.timeout(60_000)
  let stage: Awaited<ReturnType<typeof startRollupStage>>

  before(async () => {
    stage = await startRollupStage('keep_rollups', 300)
  })
  after(() => stage.close())

  const partsOf = () => ({ epochs: stage.epochs, tables: rollupTables(stage.computing, 30) })

  /** Runs the service until a condition is true. */
  async function keepUntil(
    parts: Partial<KeepRollupsDeps>,
    holds: (scrape: () => Promise<string>) => Promise<boolean>,
  ): Promise<void> {
    const metrics = openMetrics()
    const keeper = openKeeper(stage.computing, CONFIG, { metrics: rollupMetrics(metrics), ...parts })
    try {
      await until(() => holds(async () => (await metrics.scrape()).text), 30_000)
    } finally {
      await keeper.close()
    }
  }

  /** Stores a batch of one event like a loader. */
  async function storeLate(occurredAt: number): Promise<void> {
    const event = makeReport({ occurredAt, acceptedAt: (await stage.epochs.now()) * 1_000_000 })
    await storeAsLoader(stage, event)
  }

  const failing = () => Promise.reject(new Error('as the test has it'))

  it('works off late usage and drops what was replaced while slots cannot be closed', async () => {
    const { epochs, ...parts } = partsOf()
    const build = () => buildEpoch({ client: stage.computing, ...parts, epochs }, HOUR_S)
    const replaced = await build()
    await build()
    const now = await epochs.now()
    await storeLate(now - 3 * HOUR_S)
    await storeLate(now - 50 * DAY_S)
    expect(await countMarks(stage.client)).to.equal(2)
    const dropped: number[] = []
    const tables = {
      ...parts.tables,
      drop: async (old: readonly number[]) => {
        dropped.push(...old)
        await parts.tables.drop(old)
      },
    }
    let failedLate = NaN
    await sleep(1_100) // it was replaced more than dropAfterS ago
    await keepUntil({ ...parts, tables, epochs: { ...epochs, closing: failing } }, async (scrape) => {
      const text = await scrape()
      if (seriesValue(text, 'tally_rollup_failures_total{step="close"}') < 3) return false
      failedLate = seriesValue(text, 'tally_rollup_failures_total{step="late"}')
      return (await countMarks(stage.client)) === 0
    })
    expect(failedLate, 'failures of late work').to.equal(0)
    expect(dropped).to.deep.equal([replaced])
  })

  it('shows how far it is behind, which grows while no slot can be closed', async () => {
    const { epochs } = partsOf()
    let isFailing = false
    let failures = 0
    const behind = async (scrape: () => Promise<string>) =>
      seriesValue(await scrape(), 'tally_rollup_behind_seconds')
    const list = () => {
      if (!isFailing) return epochs.list()
      failures++
      return failing()
    }
    await keepUntil({ epochs: { ...epochs, list } }, async (scrape) => {
      const first = await behind(scrape)
      if (!(first >= 10 && first <= 311)) return false
      isFailing = true
      // A pass that began before may still close a slot.
      await until(() => Promise.resolve(failures > 0))
      const before = await behind(scrape)
      await sleep(2_000)
      const after = await behind(scrape)
      expect(after).to.be.within(before + 1.9, before + 4)
      return true
    })
  })

  it('works off fewer marks at once when it failed, until it succeeds', async () => {
    const { tables } = partsOf()
    const now = await stage.epochs.now()
    for (let each = 0; each < 12; each++) await storeLate(now - (50 + (each % 3)) * DAY_S)
    const tried: number[] = []
    const tooMany: typeof tables.listDays = (marks) => {
      tried.push(marks.length)
      return marks.length > 3 ? failing() : tables.listDays(marks)
    }
    await keepUntil(
      { tables: { ...tables, listDays: tooMany } },
      async () => (await countMarks(stage.client)) === 0,
    )
    expect(tried[0]).to.equal(12)
    expect(Math.min(...tried)).to.be.within(1, 3)
    await expectRollupsExact(stage.client, NAMESPACE)
  })
})
