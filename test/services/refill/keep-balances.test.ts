import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { RefillConfig } from '../../../services/refill/config.ts'
import type { Keeper } from '../../../services/refill/keep-balances.ts'
import { openRefill } from '../../../services/refill/open-refill.ts'
import { type Metrics, openMetrics } from '../../../shared/metrics/metrics.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { contractStage } from '../../support/contract-stage.ts'
import { testLog } from '../../support/log.ts'
import { makeRefillWorld, type RefillWorld } from '../../support/refill-world.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'
import { until } from '../../support/until.ts'
import { seriesValue } from '../series-value.ts'

/** Only the sweep at the start runs, so that later refills are not found by a sweep. */
const RARELY_MS = 3_600_000
const WITHIN_MS = 5_000
/** In microseconds. */
const LONG_AGO = 1_767_225_600_000_000

describe('the refill service', function () {
  this.timeout(60_000)
  let running: RunningApi
  let keepers: Keeper[] = []

  before(async () => {
    running = await startApi('keep_balances')
  })
  afterEach(async () => {
    await Promise.all(keepers.map((keeper) => keeper.close()))
    keepers = []
  })
  after(() => running.stop())

  const open = (
    config: Partial<RefillConfig> = {},
    { listedUpTo = () => (Date.now() - 2_000) * 1_000, metrics = openMetrics() } = {},
  ): Metrics => {
    const { pool, clickhouse } = running
    const parts = {
      ...{ pool, clickhouse, metrics, log: testLog },
      listedUpTo: () => Promise.resolve(listedUpTo()),
    }
    const settings = {
      ...{ checkMs: 100, sweepMs: RARELY_MS, creditsMs: RARELY_MS, intervalMs: 0, perDayMax: 1_000 },
      ...config,
    }
    keepers.push(openRefill(parts, settings))
    return metrics
  }
  /** Opens the service, and waits until its first sweep has ended. */
  const opened = async (...args: Parameters<typeof open>) => {
    const metrics = open(...args)
    await sweeps(metrics, 1)
    return metrics
  }
  const sweeps = (metrics: Metrics, count: number) =>
    until(async () => (await read(metrics, 'tally_refill_sweep_duration_seconds_count')) >= count)
  const read = async (metrics: Metrics, series: string): Promise<number> =>
    seriesValue((await metrics.scrape()).text, series)
  const refilled = (world: RefillWorld, times: number, withinMs = WITHIN_MS) =>
    until(async () => (await world.refills()).length === times, withinMs)
  const makeWorld = async () => {
    const world = await makeRefillWorld(running)
    await world.grantMetric({ amount: '50' })
    return world
  }

  it('finds what is below its minimum when it starts', async () => {
    const world = await makeRefillWorld(running)
    open()
    await refilled(world, 1)
    expect(await world.balance()).to.equal('50')
  })

  it('refills within seconds of usage, late usage and corrections, without a sweep', async () => {
    const world = await makeWorld()
    const metrics = await opened()
    const event = await world.use('39')
    await world.use('2')
    await refilled(world, 1)
    await world.store({
      source: world.metric,
      quantity: '45',
      occurredAt: 1_600_000_000,
      acceptedAt: Date.now() * 1_000,
    })
    await refilled(world, 2)
    const corrected = await world.correct(event, { quantity: '79.5' })
    await refilled(world, 3)
    await world.correct(corrected, { quantity: '0' })
    expect(await world.balance()).to.equal('129.5')
    await sleep(1_000)
    expect(await world.refills()).to.have.length(3)
    expect(await read(metrics, 'tally_refill_attempts_total{outcome="refilled"}')).to.equal(3)
  })

  it('refills within seconds of a correction to usage of long ago', async () => {
    const world = await makeWorld()
    const [old] = await world.store({ source: world.metric, quantity: '1', acceptedAt: LONG_AGO })
    if (old === undefined) throw new Error('nothing was stored')
    const metrics = await opened()
    await sweeps(metrics, 2) // the first look asks for one more
    const corrected = await world.correct(old, { quantity: '41' })
    await refilled(world, 1)
    await world.correct(corrected, { quantity: '81.5' })
    await refilled(world, 2)
    expect(await read(metrics, 'tally_refill_sweep_duration_seconds_count')).to.equal(2)
  })

  it('refills within seconds of a void, an archiving, a debit and a changed configuration, and pauses', async () => {
    const world = await makeWorld()
    const more = [await world.grantMetric({ amount: '100' }), await world.grantMetric({ amount: '100' })]
    await world.use('241') // 9 are left
    await opened()
    await refilled(world, 1)
    await world.api.post(`/v2/grants/${more[0] ?? ''}/void`, {})
    await refilled(world, 2)
    await world.api.post(`/v2/grants/${more[1] ?? ''}/archive`, {})
    await refilled(world, 3)
    await world.grantMetric({ amount: '-41' })
    await refilled(world, 4)
    await world.patch({ is_active: false, minimum_balance: '60', target_balance: '70' })
    await world.use('1')
    await sleep(1_000)
    expect(await world.refills()).to.have.length(4)
    await world.patch({ is_active: true })
    await refilled(world, 5)
    expect(await world.balance()).to.equal('70')
    const another = await makeRefillWorld(running)
    await refilled(another, 1)
  })

  describe('with contracts', () => {
    const DAY_S = 86_400
    /** Makes a contract that gives one dollar for each day, and counts its grants. */
    const makeContract = async (startsAt: number) => {
      const caller = await running.newCaller()
      const { api } = caller
      const stage = contractStage(api)
      const lines = [{ credit: { amount: '1', currency: 'usd' } }]
      const contract = await stage.contract({ cadence: 'day', starts_at: startsAt, lines })
      const count = async () =>
        (await api.get<{ data: unknown[] }>(`/v2/grants?contract_v1_id=${contract.id}`)).body.data.length
      const given = (times: number) => until(async () => (await count()) === times, WITHIN_MS)
      return { ...caller, contract, given }
    }
    const nowS = () => Math.floor(Date.now() / 1_000)

    it('gives their credit within seconds of their making, their changes and a clock that is moved', async () => {
      const metrics = await opened()
      const { api, contract, given } = await makeContract(nowS() - 2 * DAY_S)
      await given(3)
      await api.create(`/v2/contracts/${contract.id}/changes`, {
        add: [{ credit: { amount: '2', currency: 'usd' } }],
      })
      await given(4)
      const { status } = await api.request('POST', '/v2/test/clock/advance', { seconds: DAY_S }, {})
      expect(status).to.equal(200)
      await given(6)
      expect(await read(metrics, 'tally_refill_contract_credits_total')).to.equal(6)
      expect(await read(metrics, 'tally_refill_failures_total{step="credits"}')).to.equal(0)
    })

    it('gives at its start what became due while it was away, and what nobody tells of when it is due', async () => {
      const { given } = await makeContract(nowS() - DAY_S)
      open({ creditsMs: 500 })
      await given(2)
      const soon = await makeContract(nowS() + 2)
      await soon.given(1)
    })
  })

  it('goes through all configurations again and again: what nobody tells is found', async () => {
    const world = await makeWorld()
    const soon = Math.ceil(Date.now() / 1_000) + 2
    await world.grantMetric({ amount: '-45', effective_at: soon })
    const expiring = await makeRefillWorld(running, { minimum_balance: '-1', target_balance: '50' })
    await expiring.use('45')
    await expiring.grantMetric({ amount: '45', expires_at: soon })
    await opened({ sweepMs: 1_000 })
    await Promise.all([refilled(world, 1), refilled(expiring, 1)])
  })

  it('misses nothing that was accepted long before it is stored', async () => {
    const world = await makeWorld()
    const acceptedAt = (Date.now() - 600_000) * 1_000
    let listedUpTo = acceptedAt - 1_000_000
    await opened({}, { listedUpTo: () => listedUpTo })
    await world.store({ source: world.metric, quantity: '41', acceptedAt })
    listedUpTo = Date.now() * 1_000
    await refilled(world, 1)
  })

  it('holds back refills that come too fast, and makes them when their time has come', async () => {
    const world = await makeWorld()
    const metrics = await opened({ intervalMs: 3_000 })
    await world.use('41')
    await refilled(world, 1)
    await world.use('41')
    await until(async () => (await read(metrics, 'tally_refill_attempts_total{outcome="too_soon"}')) === 1)
    await refilled(world, 2)
    const [first, second] = await createdAt(world)
    expect((second ?? 0) - (first ?? 0)).to.be.within(3_000, 3_000 + WITHIN_MS)
  })

  /** In milliseconds; the API shows seconds. */
  const createdAt = async ({ namespaceId }: RefillWorld): Promise<number[]> => {
    const { rows } = await inNamespace(running.pool, namespaceId, (db) =>
      db.query<{ created_at: Date }>('SELECT created_at FROM refills ORDER BY occurrence'),
    )
    return rows.map((row) => row.created_at.getTime())
  }

  it('refills each once when several services look after the same balances', async () => {
    const worlds = await Promise.all(Array.from({ length: 10 }, () => makeWorld()))
    await Promise.all(Array.from({ length: 3 }, () => opened({ sweepMs: 500 })))
    for (let round = 1; round <= 3; round++) {
      await Promise.all(worlds.map((world) => world.use('41')))
      await Promise.all(worlds.map((world) => refilled(world, round, 15_000)))
    }
    await sleep(1_000)
    for (const world of worlds)
      expect((await world.refills()).map(({ amount }) => amount)).to.deep.equal(['41', '41', '41'])
  })
})
