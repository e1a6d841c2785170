import { expect } from 'chai'
import type { RollupPoint } from '../../../services/rollup/crash-points.ts'
import { formatAmount } from '../../../shared/amount/amount.ts'
import { dirtySlotRepository } from '../../../shared/clickhouse/rollups/dirty-slots.ts'
import { ROLLUP_TABLES } from '../../../shared/clickhouse/rollups/rollup-table-names.ts'
import { usageThroughRollups } from '../../../shared/clickhouse/usage/usage-through-rollups.ts'
import { monthOf } from '../../../shared/domain/month.ts'
import { ALL_TIME, DAY_S } from '../../../shared/domain/time-range.ts'
import { countingClickHouse, QueryCounts } from '../../support/count-queries.ts'
import {
  countMarks,
  expectRollupsExact,
  type RollupStage,
  setSlotLength,
  startRollupStage,
} from '../../support/rollup-stage.ts'
import { type RollupStep, storeAsLoader, takeRollupStep } from '../../support/rollup-steps.ts'
import { ACCOUNT, makeReport, NAMESPACE } from '../../support/usage-event.ts'

const TABLES = ['usage_events', ...ROLLUP_TABLES, 'usage_dirty_slots']

describe('a month of usage', function () {
  this.timeout(240_000)
  let stage: RollupStage
  /** The end of the last month whose slots have all ended. */
  let edge = 0
  let stored = 0

  before(async () => {
    stage = await startRollupStage('rollup_months', 300)
  })
  after(() => stage.close())
  beforeEach(() => begin())

  /** Makes rollups up to ten minutes before the month's end, of usage in this month and long before. */
  async function begin(): Promise<void> {
    for (const table of TABLES) await stage.client.command({ query: `TRUNCATE TABLE ${table}` })
    await setSlotLength(stage.client, 300)
    edge = monthOf((await stage.epochs.now()) - DAY_S)
    stored = 0
    for (const daysBefore of [400, 20, 3]) await store(edge - daysBefore * DAY_S)
    await take(await closing('rebuild', edge - 600))
    await take({ kind: 'late' })
  }

  async function store(occurredAt: number): Promise<void> {
    await storeAsLoader(stage, makeReport({ occurredAt, acceptedAt: (await stage.epochs.now()) * 1_000_000 }))
    stored++
  }

  /** Closes or rebuilds up to a slot, although the clock continues. */
  const closing = async (kind: 'close' | 'rebuild', upTo: number): Promise<RollupStep> => ({
    kind,
    upTo: (await stage.epochs.now()) - upTo - 150,
  })

  const take = (step: RollupStep, crashAt?: RollupPoint, pause?: () => Promise<void>) =>
    takeRollupStep(stage.computing, step, crashAt, pause)

  /**
   * How many events there are, as one finds who has just been started: with all there is, and with what lies before the
   * month's end.
   */
  async function expectRight(when: string): Promise<void> {
    const reader = usageThroughRollups(stage.client)
    const count = async (startAt: number, endAt: number) => {
      const usage = await reader.aggregate(NAMESPACE, { range: { startAt, endAt }, accountId: ACCOUNT })
      return Number(usage.get('usd')?.count ?? 0n)
    }
    const sum = (await reader.sumByAccount(NAMESPACE, [ACCOUNT])).get(ACCOUNT)?.get('usd')
    expect(
      [
        await count(0, ALL_TIME.endAt),
        await count(edge - 500 * DAY_S, edge),
        sum === undefined ? 0 : Number(formatAmount(sum)),
      ],
      when,
    ).to.deep.equal([stored, stored, stored])
  }

  async function expectWorkedOff(when: string): Promise<void> {
    await take(await closing('close', edge + 300))
    while ((await countMarks(stage.client)) > 0) await take({ kind: 'late' })
    await expectRight(`${when}, worked off`)
    expect((await expectRollupsExact(stage.client, NAMESPACE)).months, 'months').to.equal(2)
  }

  it('is read from its rollup once it has ended', async () => {
    const counts = new QueryCounts()
    const reader = usageThroughRollups(countingClickHouse(stage.client, counts))
    const range = { startAt: edge - 500 * DAY_S, endAt: edge }
    const daysOf = (daysBefore: number) =>
      counts.clickhouse.some(
        ({ query, params }) =>
          query.includes('FROM usage_by_month ') &&
          params['monthTo0'] === new Date((edge - daysBefore * DAY_S) * 1_000).toISOString().slice(0, 10),
      )
    await take(await closing('close', edge + 300))
    const byMonth = await reader.aggregateByPeriod(NAMESPACE, 'month', { range, accountId: ACCOUNT })
    expect([...byMonth].map(([month, usage]) => [month, usage.get('usd')?.count]).sort()).to.deep.equal([
      [monthOf(edge - 400 * DAY_S), 1n],
      [monthOf(edge - 3 * DAY_S), 2n],
    ])
    expect(daysOf(1), 'whether its last day is in a month').to.equal(true)
    await expectWorkedOff('closed')
  })

  // The last late usage of a day, while another service closes the month. The other service runs completely between any
  // two statements.
  it('has all its usage, whenever some is late while it is closed', async () => {
    for (let nth = 1, isOver = false; !isOver; nth += 2) {
      await begin()
      let left = nth
      const when = `late after ${nth} statements`
      await take(await closing('close', edge), undefined, async () => {
        if (--left !== 0) return
        await expectRight(`${when}, before that`)
        await store(edge - 3 * DAY_S)
        await take({ kind: 'late' })
        await expectRight(when)
      })
      isOver = left > 0
      await expectRight(when)
      await expectWorkedOff(when)
    }
  })

  it('has all its usage, whenever it is closed while late usage is worked off', async () => {
    for (let nth = 1, isOver = false; !isOver; nth += 2) {
      await begin()
      await store(edge - 3 * DAY_S)
      let left = nth
      const when = `closed after ${nth} statements`
      await take({ kind: 'late' }, undefined, async () => {
        if (--left !== 0) return
        await expectRight(`${when}, before that`)
        await take(await closing('close', edge))
        await expectRight(when)
      })
      isOver = left > 0
      await expectRight(when)
      await expectWorkedOff(when)
    }
  })

  for (const point of ['rollup-totals', 'rollup-months', 'rollup-late-days', 'rollup-late-months'] as const)
    it(`has all its usage when the service crashes at ${point}`, async () => {
      const isLate = point.startsWith('rollup-late')
      if (isLate) {
        await take(await closing('close', edge + 300))
        await store(edge - 3 * DAY_S)
      }
      const step = isLate ? { kind: 'late' as const } : await closing('close', edge + 300)
      expect(await take(step, point), 'whether it crashed').to.equal(true)
      await expectRight('crashed')
      await expectWorkedOff('crashed')
    })

  it('of which a day is corrected for all accounts at once is computed again', async () => {
    await take(await closing('close', edge + 300))
    const day = edge - 3 * DAY_S
    await store(day)
    await take({ kind: 'late' })
    // A mark of a whole day, for all accounts.
    await stage.writing.command({
      query: `INSERT INTO usage_events SELECT * REPLACE (unhex(hex(generateUUIDv4())) AS id) FROM usage_events
        WHERE occurred_at = toDateTime({day:UInt32}, 'UTC') LIMIT 1`,
      query_params: { day },
    })
    stored++
    await dirtySlotRepository(stage.writing).placeReady(
      [{ namespaceId: NAMESPACE, accountId: '', slot: day, kind: 'day' }],
      '7',
      await stage.epochs.now(),
    )
    await expectRight('marked')
    await expectWorkedOff('of all accounts')
  })
})
