import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { randomInteger, seededRandom } from '../../clients/reporter/simulate/seeded-random.ts'
import { ROLLUP_POINTS, type RollupPoint } from '../../services/rollup/crash-points.ts'
import { type OpenedClickHouse, queryRows } from '../../shared/clickhouse/clickhouse.ts'
import { dimensionRepository } from '../../shared/clickhouse/dimensions.ts'
import { buildEpoch } from '../../shared/clickhouse/rollups/build-epoch.ts'
import { rollupEpochRepository } from '../../shared/clickhouse/rollups/rollup-epochs.ts'
import { rollupTables } from '../../shared/clickhouse/rollups/rollup-tables.ts'
import { dayOf } from '../../shared/clickhouse/rollups/usage-cover.ts'
import type { PreviewBody } from '../support/billing-over-http.ts'
import { namespaceOf } from '../support/by-hand.ts'
import { auditCopies } from '../support/dimension-stage.ts'
import { drawnPoints, SEED, tell } from '../support/fault-seed.ts'
import { expectLikePreview, sumLines } from '../support/rating-stage.ts'
import { countMarks, expectRollupsExact } from '../support/rollup-stage.ts'
import { until } from '../support/until.ts'
import { checkAccounts, checkLedger, checkUsage } from './check-ledger.ts'
import { BUSY_ROLLUPS, type FaultStage, openServerOf, startFaultStage } from './fault-stage.ts'

const DAY_S = 86_400
const HOUR_S = 3_600

/** Points of the first build, which runs if no rollups are in use. */
const NEED_BUILD: ReadonlySet<RollupPoint> = new Set(['rollup-building', 'rollup-built'])
/** Points that a service reaches when a day ends. */
const NEED_DAY_END: ReadonlySet<RollupPoint> = new Set(['rollup-days', 'rollup-totals', 'rollup-months'])
/** Points that a service reaches with each slot that ends. It reaches the others with each late batch. */
const OF_SLOTS: ReadonlySet<RollupPoint> = new Set([
  'rollup-closing',
  'rollup-slots',
  'rollup-slot-totals',
  'rollup-closed',
])
/** Points of the rating of contracts, which otherwise is done once a day. */
const OF_RATING: ReadonlySet<RollupPoint> = new Set(['rating-read', 'rating-stored', 'rating-noted'])
const BUSY_RATING = { ROLLUP_RATE_EVERY_S: '1' }
/** The point that comes when PostgreSQL went back to an earlier state. */
const NEEDS_EARLIER_STATE: RollupPoint = 'dimensions-emptied'

const LATE_TIMES = { min: 2, max: 5 }
const CRASH_MS = 60_000

describe('a crash of the rollup service at a named point', function () {
  this.timeout(180_000)
  const random = seededRandom(`rollup crash points ${SEED}`)
  let stage: FaultStage
  let clickhouse: OpenedClickHouse
  let contracts: string[]

  before(async () => {
    stage = await startFaultStage('crash_rollup', {
      env: BUSY_ROLLUPS,
      load: { corrects: 0.3, spanS: 2 * DAY_S, workers: 3, pauseMs: 120 },
    })
    clickhouse = await openServerOf(stage.env)
    contracts = await makeContracts()
  })
  after(async () => {
    await (clickhouse as OpenedClickHouse | undefined)?.close()
    await (stage as FaultStage | undefined)?.close()
  })

  for (const point of drawnPoints(ROLLUP_POINTS))
    it(`(${point}) changes no answer`, async () => {
      const { rollup } = stage.services
      if (point === NEEDS_EARLIER_STATE)
        await until(async () => (await dimensionRepository(clickhouse.client).current()).position > 0)
      await rollup.kill9()
      if (NEED_BUILD.has(point)) await forgetRollups()
      if (NEED_DAY_END.has(point)) await rebuildUpToYesterday()
      if (point === NEEDS_EARLIER_STATE) await stage.pool.query('UPDATE dimension_copy SET reached = 0')
      await stage.ledger.during(async () => {
        const startedAt = performance.now()
        await crashAt(point)
        tell(`crashed after ${Math.round(performance.now() - startedAt)} ms`)
        await checkReads()
        await stage.restart('rollup')
        await sleep(1_000)
      })
      await checkUsage(stage)
      await checkAccounts(stage)
    })

  it('leaves books that add up, and rollups that say what the events say', async () => {
    await checkLedger(stage)
    await until(async () => (await countMarks(clickhouse.client)) === 0, 60_000)
    const namespaceId = await namespaceOf(stage.pool, 'default')
    tell(
      `${JSON.stringify(await expectRollupsExact(clickhouse.client, namespaceId))} rows agree with the events`,
    )
  })

  it('leaves copies for analysts that are equal', async () => {
    const { findings, totals } = await auditCopies(stage.pool, clickhouse.client, CRASH_MS)
    expect(findings).to.deep.equal([])
    for (const table of ['accounts', 'metrics', 'event_revisions'])
      expect(totals.find((one) => one.table === table)?.postgres.rows, table).to.be.above(0)
  })

  it('leaves rated usage that is what previews say', async () => {
    const namespaceId = await namespaceOf(stage.pool, 'default')
    await stage.services.rollup.kill9()
    await stage.restart('rollup', BUSY_RATING)
    const settled = Math.floor(Date.now() / 1_000)
    const view = 'tally_analytics.rated_usage'
    await until(async () => {
      const [row] = await queryRows<{ count: string; at: number }>(
        clickhouse.client,
        `SELECT count(DISTINCT contract_id) AS count, toUInt32(min(rated_at)) AS at
          FROM ${view} WHERE NOT is_final AND period_starts_at <= now64()`,
        {},
      )
      return Number(row?.count) === contracts.length && Number(row?.at) > settled
    }, CRASH_MS)
    // Late usage of periods that are over is rated when their namespace is done.
    await until(async () => {
      const [row] = await queryRows<{ up_to: number }>(
        clickhouse.client,
        "SELECT toUInt32(complete_up_to) AS up_to FROM tally_analytics.freshness WHERE view = 'rated_usage'",
        {},
      )
      return (row?.up_to ?? 0) > settled
    }, CRASH_MS)
    const lines = await sumLines(clickhouse.client, view, namespaceId)
    for (const contract_id of contracts) {
      const ofContract = lines.filter((line) => line.contract_id === contract_id)
      const periods = [...new Set(ofContract.map(({ period_start }) => period_start))]
      expect(periods.length).to.be.above(2)
      for (const at of periods)
        expectLikePreview(
          ofContract.filter(({ period_start }) => period_start === at),
          await stage.api.create<PreviewBody>('/v2/invoice-previews', { contract_id, at }),
        )
    }
  })

  /** Contracts with periods of a day, some of which are over, for all usage of the stage's accounts. */
  async function makeContracts(): Promise<string[]> {
    const make = async (target: string, body: object) =>
      (await stage.api.create<{ id: string }>(target, body)).id
    const product_id = await make('/v2/products', { name: 'usage' })
    const terms = { product_id, currency: 'usd', model: 'per_unit', unit_amount: '0.37', per: '7' }
    const price_id = await make('/v2/prices', terms)
    const rates = [{ currency: 'usd', price_id }]
    const rate_card_id = await make('/v2/rate-cards', { name: 'usage', currency: 'usd', rates })
    const starts_at = Math.floor(Date.now() / 1_000) - 3 * DAY_S
    const made: string[] = []
    for (const account_id of stage.accounts)
      made.push(
        await make('/v2/contracts', {
          account_id,
          currency: 'usd',
          cadence: 'day',
          starts_at,
          lines: [{ rate_card_id }],
        }),
      )
    return made
  }

  /** Starts the service, and waits until it has crashed at the point. */
  async function crashAt(point: RollupPoint): Promise<void> {
    const { min, max } = LATE_TIMES
    const isRare =
      NEED_BUILD.has(point) ||
      NEED_DAY_END.has(point) ||
      OF_SLOTS.has(point) ||
      point === NEEDS_EARLIER_STATE ||
      point === 'rating-noted'
    const times = isRare ? 1 : min + randomInteger(random, max - min + 1)
    const before = stage.services.rollup.process
    const rating = OF_RATING.has(point) ? BUSY_RATING : {}
    await stage.restart('rollup', { CRASH_AT: `${point}:${times}`, ...rating }).catch((err: unknown) => {
      // The service may reach the point before it is ready.
      if (!(err instanceof Error) || !/^rollup ended: *$/.test(err.message)) throw err
    })
    const { rollup } = stage.services
    const child = rollup.process
    if (child === before) return
    await until(() => Promise.resolve(child.exitCode !== null || child.signalCode !== null), CRASH_MS).catch(
      (err: unknown) => {
        throw new Error(`it was not reached: ${rollup.output()}`, { cause: err })
      },
    )
    expect(child.signalCode, rollup.output()).to.equal('SIGKILL')
  }

  /** Checks that readers find all usage from the events while no service keeps rollups. */
  async function checkReads(): Promise<void> {
    const counts = async () => {
      const { status, body } = await stage.api.get<{ events_consumed: { quantity: string }[] }>(
        `/v2/accounts/${stage.accounts[0] ?? ''}/usage?start_at=0&end_at=4294967295&aggregation=count`,
      )
      expect(status).to.equal(200)
      return body.events_consumed.reduce((sum, { quantity }) => sum + Number(quantity), 0)
    }
    const first = await counts()
    await until(async () => (await counts()) > first)
  }

  /** Removes all rollups, so that none are in use, as before the first build. */
  async function forgetRollups(): Promise<void> {
    const epochs = rollupEpochRepository(clickhouse.client)
    for (const { epoch } of await epochs.list()) await epochs.giveUp(epoch, await epochs.now())
  }

  /** Builds an epoch that ends an hour before the last day ended. */
  async function rebuildUpToYesterday(): Promise<void> {
    const { client } = clickhouse
    const epochs = rollupEpochRepository(client)
    const now = await epochs.now()
    await buildEpoch({ client, epochs, tables: rollupTables(client, 60) }, now - dayOf(now) + HOUR_S)
  }
})
