import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { keepDimensions } from '../../../services/rollup/keep-dimensions.ts'
import { keepRated } from '../../../services/rollup/keep-rated.ts'
import { queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { dimensionRepository } from '../../../shared/clickhouse/dimensions.ts'
import { closeAll } from '../../../shared/lifecycle/close-all.ts'
import { openMetrics } from '../../../shared/metrics/metrics.ts'
import type { PreviewBody } from '../../support/billing-over-http.ts'
import { openCopier } from '../../support/dimension-stage.ts'
import { testLog } from '../../support/log.ts'
import { expectLikePreview, openRater, sumLines } from '../../support/rating-stage.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'
import { makeStoredWorld, type StoredWorld } from '../../support/stored-world.ts'
import { until } from '../../support/until.ts'

const DAY = 86_400
const now = Math.floor(Date.now() / 1_000)
const today = now - (now % DAY)
/** What is promised. */
const SOON_MS = 60_000

describe('rated usage of contracts that were changed since the last run', function () {
  this.timeout(180_000)
  let running: RunningApi
  let copier: ReturnType<typeof openCopier>
  let database: string

  before(async () => {
    running = await startApi('rated_soon')
    copier = openCopier(running.pool, running.clickhouse)
    const [row] = await queryRows<{ name: string }>(
      running.clickhouse,
      'SELECT currentDatabase() AS name',
      {},
    )
    database = row?.name ?? ''
  })
  after(() => running.stop())

  /** A contract of an account of its own, with usage on each of the last days, and a period for each of these days. */
  const makeContract = async (world: StoredWorld, days: number) => {
    const make = async (target: string, body: object) =>
      (await world.api.create<{ id: string }>(target, body)).id
    const account_id = await make('/v2/accounts', { name: 'n' })
    const [metric_id = ''] = world.metrics
    const product_id = await make('/v2/products', { name: 'n' })
    const terms = { product_id, currency: 'usd', model: 'per_unit', unit_amount: '0.37', per: '7' }
    const price_id = await make('/v2/prices', terms)
    const rates = [{ metric_id, price_id }]
    const rate_card_id = await make('/v2/rate-cards', { name: 'n', currency: 'usd', rates })
    await world.store(
      ...Array.from({ length: days }, (_, nth) => ({
        accountId: account_id,
        source: metric_id,
        quantity: `${nth}.${nth + 1}`,
        occurredAt: today - nth * DAY,
        acceptedAt: (today - nth * DAY) * 1_000_000,
      })),
    )
    return make('/v2/contracts', {
      account_id,
      currency: 'usd',
      cadence: 'day',
      anchor_at: today,
      starts_at: today - (days - 1) * DAY,
      lines: [{ rate_card_id }],
    })
  }
  const linesOf = async ({ namespaceId }: StoredWorld, contractId: string) => {
    const lines = await sumLines(running.clickhouse, `${database}_analytics.rated_usage`, namespaceId)
    return lines.filter(({ contract_id }) => contract_id === contractId)
  }
  /** How many periods of a contract are rated, after a comparison of each with its preview. */
  const countPeriods = async (world: StoredWorld, contract_id: string): Promise<number> => {
    const lines = await linesOf(world, contract_id)
    const starts = [...new Set(lines.map(({ period_start }) => period_start))]
    for (const at of starts)
      expectLikePreview(
        lines.filter(({ period_start }) => period_start === at),
        await world.api.create<PreviewBody>('/v2/invoice-previews', { contract_id, at }),
      )
    return starts.length
  }

  it('has the periods of a new contract, and those of a changed one, without a run', async () => {
    const world = await makeStoredWorld(running)
    const rater = openRater(running)
    const contract = await makeContract(world, 3)
    expect(await rater.turn(), 'before it is copied').to.equal(undefined)
    await copier.copyAll()
    expect(await rater.turnAll()).to.equal(3)
    expect(await countPeriods(world, contract)).to.equal(3)
    expect(await rater.turnAll(), 'nothing changed').to.equal(0)
    await world.api.patch(`/v2/contracts/${contract}`, { name: 'another' })
    await copier.copyAll()
    expect(await rater.turnAll(), 'of a changed one').to.equal(3)
    // Another process knows nothing of this, and has nothing to do.
    expect(await openRater(running).turnAll()).to.equal(0)
    expect(await countPeriods(world, contract)).to.equal(3)
  })

  it('leaves to runs what they do: usage that comes later, and later days', async () => {
    const world = await makeStoredWorld(running)
    const contract = await makeContract(world, 3)
    await copier.copyAll()
    const rater = openRater(running)
    await rater.turnAll()
    const { account_id } = (await world.api.get<{ account_id: string }>(`/v2/contracts/${contract}`)).body
    await world.store({
      accountId: account_id,
      source: world.metrics[0] ?? '',
      quantity: '5.5',
      occurredAt: today - DAY,
      acceptedAt: Date.now() * 1_000,
    })
    expect(await rater.turnAll()).to.equal(0)
    await rater.run({ dueAt: Date.now() / 1_000 + 2 })
    expect(await countPeriods(world, contract)).to.equal(3)
  })

  it('loses the periods that a changed contract does not have any more', async () => {
    const world = await makeStoredWorld(running)
    const contract = await makeContract(world, 3)
    await copier.copyAll()
    const rater = openRater(running)
    await rater.turnAll()
    await world.change(
      'UPDATE contracts SET ends_at = to_timestamp($1), updated_at = clock_timestamp() WHERE contract_id = $2',
      [today - DAY, contract],
    )
    await copier.copyAll()
    await rater.turnAll()
    expect(await countPeriods(world, contract)).to.equal(1)
  })

  it('lets companies take turns, and contracts of a company', async () => {
    const greedy = await makeStoredWorld(running)
    const long = await makeContract(greedy, 25)
    const short = await makeContract(greedy, 2)
    const other = await makeStoredWorld(running)
    const contract = await makeContract(other, 2)
    await copier.copyAll()
    const rater = openRater(running)
    const turns = []
    for (let turn = await rater.turn(); turn !== undefined; turn = await rater.turn())
      turns.push([turn, await countPeriods(other, contract), await countPeriods(greedy, short)])
    expect(turns.filter(([rated]) => rated !== 0)).to.deep.equal([
      [10, 0, 0],
      [2, 2, 0],
      [2, 2, 2],
      [10, 2, 2],
      [5, 2, 2],
    ])
    expect(await countPeriods(greedy, long)).to.equal(25)
  })

  it('has them also while a run is under way', async () => {
    const world = await makeStoredWorld(running)
    await makeContract(world, 2)
    const other = await makeStoredWorld(running)
    const rater = openRater(running)
    let contract: string | undefined
    let rated = 0
    const busy = openRater(running, undefined, async () => {
      if (contract !== undefined) return
      // The run has begun, and does not know of it.
      contract = await makeContract(other, 2)
      await copier.copyAll()
      await rater.turnAll()
      rated = await countPeriods(other, contract)
    })
    await busy.run()
    expect(rated).to.equal(2)
  })

  it('keeps them when the run ends, whenever they were made', async () => {
    const world = await makeStoredWorld(running)
    const rater = openRater(running)
    const runWith = async (onTurn: (nth: number) => Promise<void>) => {
      await makeContract(world, 2) // so that the run has something to rate after it has listed the contracts
      let turns = 0
      await sleep(1_000 - (Date.now() % 1_000)) // two runs of one second are the same run
      await openRater(running, undefined, () => onTurn(++turns)).run()
      return turns
    }
    // The first half of the turns are those of open periods, before anything is removed.
    const turns = await runWith(() => Promise.resolve())
    let made = 0
    for (let nth = Math.floor(turns / 2); nth <= turns; nth++) {
      let contract: string | undefined
      await runWith(async (turn) => {
        if (turn !== nth) return
        contract = await makeContract(world, 2)
        await copier.copyAll()
        await rater.turnAll()
      })
      if (contract === undefined) continue
      made++
      expect(await countPeriods(world, contract), `made at turn ${nth} of ${turns}`).to.equal(2)
    }
    expect(made).to.be.greaterThan(2)
  })

  it('goes on with the others if a contract cannot be rated, which the next run tries again', async () => {
    const world = await makeStoredWorld(running)
    const contracts = [await makeContract(world, 1), await makeContract(world, 1)]
    await copier.copyAll()
    let left = 1
    const rater = openRater(running, (point) => {
      if (point === 'rating-read' && left-- > 0) throw new Error('not rated')
    })
    await rater.turnAll()
    expect(rater.failed).to.deep.equal(contracts.slice(0, 1))
    const count = async () =>
      [await countPeriods(world, contracts[0] ?? ''), await countPeriods(world, contracts[1] ?? '')].join()
    expect(await count()).to.equal('0,1')
    await rater.run()
    expect(await count()).to.equal('1,1')
  })

  it('looks at all of them again if no contract can be rated', async () => {
    const world = await makeStoredWorld(running)
    let left = 0
    const rater = openRater(running, (point) => {
      if (point === 'rating-read' && left-- > 0) throw new Error('not rated')
    })
    await rater.turnAll()
    for (let nth = 0; nth < 3; nth++) await makeContract(world, 1)
    await copier.copyAll()
    left = 3
    const failure: unknown = await rater.turnAll().catch((err: unknown) => err)
    expect(failure).to.be.an('error').with.property('message', 'not rated')
    expect(await rater.turnAll()).to.equal(3)
  })

  it('leaves contracts to the run that was due since they were changed', async () => {
    const world = await makeStoredWorld(running)
    const contract = await makeContract(world, 1)
    await world.change(`UPDATE contracts SET updated_at = now() - interval '1 hour' WHERE contract_id = $1`, [
      contract,
    ])
    await copier.copyAll()
    const rater = openRater(running)
    expect(await rater.turnAll()).to.equal(0)
    await rater.run()
    expect(await countPeriods(world, contract)).to.equal(1)
  })

  it('follows changes after PostgreSQL went back to an earlier state', async () => {
    const world = await makeStoredWorld(running)
    const rater = openRater(running)
    await makeContract(world, 1)
    await copier.copyAll()
    await rater.turnAll()
    const contract = await makeContract(world, 1)
    await copier.copyAll()
    // It counts changes from the beginning, and has come to one.
    const copies = dimensionRepository(running.clickhouse)
    const { fill } = await copies.current()
    await copies.note({ fill: fill + 2, position: 1 })
    await rater.turnAll()
    expect(await countPeriods(world, contract)).to.equal(1)
  })

  it('has them within a minute', async () => {
    const { pool, clickhouse } = running
    const log = testLog
    const metrics = openMetrics()
    const listedUpTo = () => Promise.resolve(Date.now() * 1_000)
    const keepers = [
      keepDimensions({ pool, clickhouse, metrics, log }, 1_000),
      keepRated({ pool, clickhouse, listedUpTo, metrics, log }, DAY, 0),
    ]
    try {
      const world = await makeStoredWorld(running)
      const first = await makeContract(world, 1)
      await until(async () => (await countPeriods(world, first)) === 1, SOON_MS)
      const second = await makeContract(world, 2)
      await until(async () => (await countPeriods(world, second)) === 2, SOON_MS)
    } finally {
      await closeAll(keepers, log)
    }
  })
})
