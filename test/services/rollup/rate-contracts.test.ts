import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'
import { ROLLUP_POINTS } from '../../../services/rollup/crash-points.ts'
import { lastDue } from '../../../services/rollup/keep-rated.ts'
import { makeAnalystViews } from '../../../shared/clickhouse/analyst-views.ts'
import { queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { deleteNamespaces } from '../../../shared/clickhouse/events/delete-namespaces.ts'
import { ratingRunRepository } from '../../../shared/clickhouse/rated-periods.ts'
import { companyRepository } from '../../../shared/postgres/companies.ts'
import { inNamespace, withTransaction } from '../../../shared/postgres/core/transaction.ts'
import { namespaceClockRepository } from '../../../shared/postgres/namespace-clocks.ts'
import {
  type Agreement,
  keepRevisions,
  makeAgreement,
  type PreviewBody,
} from '../../support/billing-over-http.ts'
import { type InvoiceCase, readBillingVectors } from '../../support/billing-vectors.ts'
import { openCopier } from '../../support/dimension-stage.ts'
import { failureOf } from '../../support/failure-of.ts'
import { randomWorld } from '../../support/random-worlds.ts'
import { expectLikePreview, openRater, sumLines } from '../../support/rating-stage.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'
import { makeStoredWorld, type StoredWorld } from '../../support/stored-world.ts'
import { makeCorrection } from '../../support/usage-event.ts'

const IS_LONG = process.env['FAULT_LONG'] === '1'
const SEED = Number.parseInt(process.env['FAULT_SEED'] ?? '0135274d', 16)
const WORLDS = IS_LONG ? 500 : 12
const DAY = 86_400
const now = Math.floor(Date.now() / 1_000)
const today = now - (now % DAY)
/** Periods of a week. The third one is open. */
const START = today - 16 * DAY
const WEEK = 7 * DAY

/** A card of all models, a minimum of the contract, seats, and usage without a rate. */
const WORLD: InvoiceCase['world'] = {
  contract: {
    id: 'contract',
    account_id: 'account',
    currency: 'usd',
    cadence: 'week',
    anchor_at: START,
    starts_at: START,
    lines: [
      { id: 'line_card', starts_at: START, rate_card_id: 'card', discount_percent: '3.3' },
      { id: 'line_seats', starts_at: START + 9 * DAY, price_id: 'price_seat', quantity: '10' },
      { id: 'line_minimum', starts_at: START, minimum_amount: '1000' },
    ],
  },
  prices: {
    price_seat: { product_id: 'seats', currency: 'usd', model: 'per_unit', unit_amount: '12' },
    price_large: { product_id: 'tokens', currency: 'usd', model: 'per_unit', unit_amount: '3', per: '7' },
    price_small: {
      product_id: 'tokens',
      currency: 'usd',
      model: 'graduated',
      tiers: [
        { up_to: '10', unit_amount: '0.5', flat_amount: '1' },
        { up_to: null, unit_amount: '0.1' },
      ],
    },
    price_package: {
      product_id: 'calls',
      currency: 'usd',
      model: 'package',
      package_size: '3',
      package_amount: '10',
    },
    price_least: {
      product_id: 'seconds',
      currency: 'usd',
      model: 'per_unit',
      unit_amount: '0.01',
      minimum_amount: '20',
    },
    price_fee: { product_id: 'fee', currency: 'usd', model: 'flat', amount: '49' },
  },
  rate_cards: {
    card: [
      { id: 'rate_fee', starts_at: 0, price_id: 'price_fee' },
      {
        id: 'rate_tokens',
        source: 'metric_tokens',
        starts_at: 0,
        group_by: 'model',
        prices: [{ value: 'large', price_id: 'price_large' }],
        price_id: 'price_small',
      },
      {
        id: 'rate_calls',
        source: 'metric_calls',
        aggregation: 'count',
        starts_at: 0,
        price_id: 'price_package',
      },
      {
        id: 'rate_seconds',
        source: 'metric_seconds',
        aggregation: 'avg',
        starts_at: 0,
        price_id: 'price_least',
      },
    ],
  },
  events: Array.from({ length: 60 }, (_, nth) => {
    const source = ['metric_tokens', 'metric_calls', 'metric_seconds', 'metric_storage'][nth % 4] ?? ''
    const occurred_at = START + Math.floor((nth * (now - START)) / 61)
    return {
      id: `event_${nth}`,
      source,
      quantity: `${nth}.${nth}1`,
      occurred_at,
      accepted_at: occurred_at,
      properties: nth % 3 === 0 ? {} : { model: nth % 3 === 1 ? 'large' : 'small' },
    }
  }),
}

describe('rated usage', function () {
  this.timeout(IS_LONG ? 1_800_000 : 120_000)
  let running: RunningApi
  let database: string

  before(async () => {
    running = await startApi('rated_usage')
    const [row] = await queryRows<{ name: string }>(
      running.clickhouse,
      'SELECT currentDatabase() AS name',
      {},
    )
    database = row?.name ?? ''
  })
  after(() => running.stop())

  const summed = ({ namespaceId }: { namespaceId: string }, upTo?: string) =>
    sumLines(running.clickhouse, `${database}_analytics.rated_usage`, namespaceId, upTo)
  const preview = ({ api }: StoredWorld, body: object) =>
    api.create<PreviewBody>('/v2/invoice-previews', body)
  const dayText = (second: number) => new Date(second * 1_000).toISOString().slice(0, 10)

  /** Compares all periods of a contract with their previews. @returns for each, whether it is final */
  const expectEqual = async (world: StoredWorld, { contractId }: Agreement, what?: string) => {
    const all = (await summed(world)).filter(({ contract_id }) => contract_id === contractId)
    const starts = [...new Set(all.map(({ period_start }) => period_start))]
    for (const at of starts)
      expectLikePreview(
        all.filter(({ period_start }) => period_start === at),
        await preview(world, { contract_id: contractId, at }),
        what,
      )
    return starts.map((at) => all.find(({ period_start }) => period_start === at)?.is_final)
  }
  const makeWorld = async () => {
    const world = await makeStoredWorld(running, 1, 0)
    return { world, agreement: await makeAgreement(running, world, WORLD) }
  }
  /** The name that the database gives to what a world calls so. */
  const named = (agreement: Agreement, label: string) => agreement.ids.get(label) ?? label

  it('has all periods, those that are over as final, and rates only what must be', async () => {
    const { world, agreement } = await makeWorld()
    const rater = openRater(running)
    await rater.run()
    expect(await expectEqual(world, agreement)).to.deep.equal([true, true, false])
    expect(await rater.run({ dueAt: now - 10 }), 'a run that was done').to.equal(0)
    await later()
    expect(await rater.run(), 'the open period').to.equal(1)
  })

  /** A run is due in another second than the one before. */
  const later = () => new Promise((resolve) => setTimeout(resolve, 1_100))

  it('follows late usage, corrections and changes of the contract, in periods that were final', async () => {
    const { world, agreement } = await makeWorld()
    const rater = openRater(running)
    await rater.run()
    const versions = async () => {
      const rows = await queryRows<{ start: number; rated: string }>(
        running.clickhouse,
        `SELECT toUInt32(period_starts_at) AS start, toString(any(rated_at)) AS rated FROM ${database}_analytics.rated_usage
          WHERE contract_id = {id:String} GROUP BY period_starts_at ORDER BY start`,
        { id: agreement.contractId },
      )
      return rows.map(({ rated }) => rated)
    }
    const changed = async (work: () => Promise<unknown>) => {
      const before = await versions()
      await later()
      await work()
      await rater.run()
      expect(await expectEqual(world, agreement)).to.deep.equal([true, true, false])
      return (await versions()).map((version, index) => version !== before[index])
    }
    const tokens = named(agreement, 'metric_tokens')
    let [event] = await world.store() // none
    expect(
      await changed(async () => {
        ;[event] = await world.store({
          source: tokens,
          properties: { model: 'large' },
          quantity: '1000000',
          occurredAt: START + 3 * DAY,
          acceptedAt: Date.now() * 1_000,
        })
      }),
      'late usage',
    ).to.deep.equal([true, false, true])
    if (event === undefined) throw new Error('no event')
    const voided = makeCorrection(event, { voided: true, correctedAt: (Date.now() + 1_200) * 1_000 })
    expect(
      await changed(async () => {
        await keepRevisions(running, world, [event as never, voided])
        await running.store([voided])
      }),
      'a correction',
    ).to.deep.equal([true, false, true])
    expect(
      await changed(() => world.api.patch(`/v2/contracts/${agreement.contractId}`, { name: 'another' })),
      'a change of the contract',
    ).to.deep.equal([true, true, true])
  })

  /** Agreements of accounts of one company, whose usage is read together. */
  const makeTogether = async () => {
    const world = await makeStoredWorld(running, 3, 0)
    const [first = '', second = '', third = ''] = world.accounts
    const worlds = [
      { account: first, moved: 0, priced: WORLD.rate_cards },
      { account: second, moved: 5 * 3_600, priced: WORLD.rate_cards },
      // Nothing that this card has a rate for is split by a property.
      { account: third, moved: DAY, priced: { card: (WORLD.rate_cards['card'] ?? []).slice(-2) } },
    ]
    const agreements: Agreement[] = []
    for (const { account, moved, priced } of worlds) {
      const at = START + moved
      const lines = WORLD.contract.lines.map((line) => ({
        ...line,
        starts_at: line.starts_at + moved,
      }))
      const contract = { ...WORLD.contract, anchor_at: at, starts_at: at, lines }
      const makeEvent = (event: Parameters<StoredWorld['makeEvent']>[0]) =>
        world.makeEvent({ ...event, accountId: account })
      const ofAccount = { ...world, account, makeEvent }
      agreements.push(await makeAgreement(running, ofAccount, { ...WORLD, contract, rate_cards: priced }))
    }
    // The first contract splits this metric by model, and the third one has no rate for it.
    const source = named(agreements[0] as Agreement, 'metric_tokens')
    const stored = { accountId: third, source, quantity: '1.5', occurredAt: START + 3 * DAY }
    const models = ['large', 'small', 'tiny', 'large']
    await world.store(
      ...models.map((model, nth) => ({ ...stored, key: `key ${nth}`, properties: { model } })),
    )
    return { world, agreements }
  }

  it('is what the previews say of contracts whose usage is read together', async () => {
    const { world, agreements } = await makeTogether()
    const rater = openRater(running)
    await rater.run()
    expect(rater.together(world.namespaceId), 'periods of a read').to.deep.equal([3, 6])
    for (const agreement of agreements)
      expect(await expectEqual(world, agreement)).to.deep.equal([true, true, false])
  })

  it('rates the others if one of those whose usage is read together cannot be read', async () => {
    const { world, agreements } = await makeTogether()
    const rater = openRater(running)
    rater.unreadable.add(agreements[1]?.contractId ?? '')
    expect(await failureOf(rater.run())).to.be.an('error')
    const starts = []
    for (const agreement of agreements) starts.push((await expectEqual(world, agreement)).length)
    expect(starts).to.deep.equal([3, 0, 3])
    rater.unreadable.clear()
    await later()
    await rater.run()
    for (const agreement of agreements)
      expect(await expectEqual(world, agreement)).to.deep.equal([true, true, false])
  })

  it('has no line that a later rating does not have', async () => {
    const world = await makeStoredWorld(running, 1, 0)
    const agreement = await makeAgreement(running, world, { ...WORLD, events: [] })
    const tokens = named(agreement, 'metric_tokens')
    const [event] = await world.store({
      source: tokens,
      properties: { model: 'large' },
      quantity: '5',
      occurredAt: START + 3 * DAY,
      acceptedAt: (START + 3 * DAY) * 1_000_000,
    })
    if (event === undefined) throw new Error('no event')
    const rater = openRater(running)
    await rater.run()
    const isThere = async () => (await summed(world)).some(({ value }) => value === 'large')
    expect(await isThere()).to.equal(true)
    await later()
    const voided = makeCorrection(event, { voided: true, correctedAt: Date.now() * 1_000 })
    await keepRevisions(running, world, [event, voided])
    await running.store([voided])
    await rater.run()
    expect(await isThere()).to.equal(false)
    await expectEqual(world, agreement)
  })

  it('loses the periods that a contract does not have any more', async () => {
    const { world, agreement } = await makeWorld()
    const rater = openRater(running)
    await rater.run()
    await later()
    await world.change(
      `UPDATE contracts SET ends_at = to_timestamp($1), updated_at = clock_timestamp() WHERE contract_id = $2`,
      [START + WEEK, agreement.contractId],
    )
    await rater.run()
    expect(await expectEqual(world, agreement)).to.deep.equal([true])
    // PostgreSQL went back to a state without the contract.
    await running.clickhouse.insert({
      table: 'rated_periods',
      values: [{ namespace_id: world.namespaceId, contract_id: randomUUID(), starts_at: 0, version: '1' }],
      format: 'JSONEachRow',
    })
    await later()
    await rater.run()
    const ids = await queryRows(
      running.clickhouse,
      'SELECT DISTINCT contract_id FROM rated_periods FINAL WHERE namespace_id = {namespaceId:String}',
      { namespaceId: world.namespaceId },
    )
    expect(ids).to.deep.equal([{ contract_id: agreement.contractId }])
  })

  it('follows the clock of a test company', async () => {
    const { world, agreement } = await makeWorld()
    await inNamespace(running.pool, world.namespaceId, (db) =>
      namespaceClockRepository(db).setAhead(world.namespaceId, WEEK * 1_000),
    )
    await openRater(running).run()
    expect(await expectEqual(world, agreement)).to.deep.equal([true, true, true, false])
  })

  for (const point of ROLLUP_POINTS.filter((name) => name.startsWith('rating-')))
    it(`has whole periods after a crash (${point})`, async () => {
      const { world, agreement } = await makeWorld()
      await makeWorld() // so that the point is reached twice in each run
      for (const times of [1, 2]) {
        await later()
        let left = times
        const crashing = openRater(running, (at) => {
          if (at === point && --left <= 0) throw new Error('crashed')
        })
        expect(await failureOf(crashing.run()), 'a crash').to.be.an('error')
        await expectEqual(world, agreement)
        const rater = openRater(running)
        await rater.run()
        expect(await expectEqual(world, agreement)).to.deep.equal([true, true, false])
      }
    })

  it('goes on at once after a clock that was ahead has gone back', async () => {
    const { world, agreement } = await makeWorld()
    const rater = openRater(running)
    const { now: realNow } = Date
    try {
      Date.now = () => realNow() + 2 * DAY * 1_000
      await rater.run()
    } finally {
      Date.now = realNow
    }
    await world.store({
      source: named(agreement, 'metric_tokens'),
      properties: { model: 'large' },
      quantity: '1000000',
      occurredAt: START + 8 * DAY,
      acceptedAt: Date.now() * 1_000,
    })
    const dueAt = Date.now() / 1_000
    await rater.run({ dueAt })
    expect(await expectEqual(world, agreement)).to.deep.equal([true, true, false])
    const [row] = await queryRows<{ is_past: number }>(
      running.clickhouse,
      `SELECT max(rated_at) <= now64(6) AS is_past FROM ${database}_analytics.rated_usage
        WHERE contract_id = {id:String} AND NOT is_final`,
      { id: agreement.contractId },
    )
    expect(row).to.deep.equal({ is_past: 1 })
    expect(await rater.run({ dueAt }), 'a run that was done').to.equal(0)
  })

  it('rates everything again after PostgreSQL went back to an earlier state', async () => {
    const { world, agreement } = await makeWorld()
    const copier = openCopier(running.pool, running.clickhouse)
    await copier.copyAll()
    const rater = openRater(running)
    await rater.run()
    // The earlier state has no seats, and the copies had reached less.
    await world.change(
      'UPDATE contract_lines SET ends_at = starts_at WHERE contract_id = $1 AND price_id IS NOT NULL',
      [agreement.contractId],
    )
    await running.pool.query('UPDATE dimension_copy SET reached = 0')
    await copier.copyAll()
    expect(copier.refills).to.have.length(1)
    await later()
    await rater.run()
    expect(await expectEqual(world, agreement)).to.deep.equal([true, true, false])
  })

  it('rates periods that are over, even if the next run is due before open ones are done', async () => {
    const { world, agreement } = await makeWorld()
    await openRater(running).run({ until: 0 })
    expect(await expectEqual(world, agreement)).to.deep.equal([true, true, false])
  })

  it('is not called complete while a contract cannot be rated, and rates the others', async () => {
    const { world, agreement } = await makeWorld()
    const { world: other } = await makeWorld()
    const upTo = async ({ namespaceId }: StoredWorld) =>
      (
        await queryRows<{ up_to: string }>(
          running.clickhouse,
          'SELECT toString(max(complete_up_to)) AS up_to FROM rating_runs WHERE namespace_id = {namespaceId:String}',
          { namespaceId },
        )
      )[0]?.up_to
    let left = 1
    const failing = openRater(running, (point) => {
      if (point === 'rating-read' && left-- > 0) throw new Error('not rated')
    })
    const dueAt = Date.now() / 1_000
    const failure = await failureOf(failing.run({ dueAt }))
    expect(String(failure)).to.match(/^Error: contract \S+ could not be rated$/)
    expect([await upTo(world), await upTo(other)].filter((at) => at !== '0')).to.have.length(1)
    await openRater(running).run({ dueAt })
    expect([await upTo(world), await upTo(other)].filter((at) => at !== '0')).to.have.length(2)
    expect(await expectEqual(world, agreement)).to.deep.equal([true, true, false])
  })

  it('is due at ten past midnight, or as often as is set', () => {
    expect(lastDue(today + 599, DAY)).to.equal(today - DAY + 600)
    expect(lastDue(today + 600, DAY)).to.equal(today + 600)
    expect(lastDue(today + DAY - 1, DAY)).to.equal(today + 600)
    expect(lastDue(today + 7_199, 3_600)).to.equal(today + 4_200)
    expect(lastDue(today + 7, 5)).to.equal(today + 5)
  })

  it('stops between two periods, and goes on there', async () => {
    await makeWorld()
    const stopping = new AbortController()
    let rated = 0
    const rater = openRater(running, (point) => {
      if (point === 'rating-stored' && ++rated === 2) stopping.abort()
    })
    await later()
    const dueAt = Date.now() / 1_000
    expect(await rater.run({ dueAt, signal: stopping.signal })).to.equal(2)
    await rater.run({ dueAt })
    expect(await rater.run({ dueAt })).to.equal(0)
  })

  it('follows usage that arrives between an interrupted run and its end', async () => {
    const { world, agreement } = await makeWorld()
    const stopping = new AbortController()
    let [rated, stopAfter] = [0, Infinity]
    const rater = openRater(running, (point) => {
      if (point === 'rating-stored' && ++rated === stopAfter) stopping.abort()
    })
    await rater.run()
    await later()
    const open = await rater.run()
    await world.api.patch(`/v2/contracts/${agreement.contractId}`, { name: 'another' })
    await later()
    const dueAt = Date.now() / 1_000
    stopAfter = rated + open + 1
    // Open periods come first, and then the newest that is over.
    expect(await rater.run({ dueAt, signal: stopping.signal })).to.equal(open + 1)
    await world.store({
      source: named(agreement, 'metric_tokens'),
      properties: { model: 'large' },
      quantity: '1000000',
      occurredAt: START + 8 * DAY,
      acceptedAt: Date.now() * 1_000,
    })
    for (let nth = 0; nth < 5; nth++) await later() // or it is so new that the next run looks for it anyway
    expect(await rater.run({ dueAt }), 'the other period that is over').to.equal(1)
    await later()
    await rater.run()
    expect(await expectEqual(world, agreement)).to.deep.equal([true, true, false])
  })

  it('follows usage that arrived since a run that is forgotten', async () => {
    const { world, agreement } = await makeWorld()
    const { namespaceId } = world
    const rater = openRater(running)
    await rater.run({ dueAt: now - 31 * DAY })
    await world.store({
      source: named(agreement, 'metric_tokens'),
      properties: { model: 'large' },
      quantity: '1000000',
      occurredAt: START + 8 * DAY,
      acceptedAt: Date.now() * 1_000,
    })
    await running.clickhouse.command({ query: 'OPTIMIZE TABLE rating_runs FINAL' })
    const runs = await ratingRunRepository(running.clickhouse).list(now)
    expect(runs.get(namespaceId)).to.equal(undefined)
    await later()
    await rater.run()
    expect(await expectEqual(world, agreement)).to.deep.equal([true, true, false])
  })

  it('is of one company in its views, and gone after a reset', async () => {
    const { world, agreement } = await makeWorld()
    const { world: other } = await makeWorld()
    await openRater(running).run()
    const into = `${database}_company_7`
    const { namespaceId } = world
    await makeAnalystViews(running.clickhouse, { database, into, namespaceId })
    const found = await queryRows<{ contract_id: string; account_id: string }>(
      running.clickhouse,
      `SELECT DISTINCT contract_id, account_id FROM ${into}.rated_usage`,
      {},
    )
    expect(found).to.deep.equal([{ contract_id: agreement.contractId, account_id: world.account }])
    const { rows } = await running.pool.query<{ company_id: string }>(
      'SELECT company_id FROM namespaces WHERE namespace_id = $1',
      [namespaceId],
    )
    await withTransaction(running.pool, (db) =>
      companyRepository(db).replaceNamespace(rows[0]?.company_id ?? '', randomUUID()),
    )
    await deleteNamespaces(running.clickhouse)([namespaceId], new AbortController().signal)
    await later()
    await openRater(running).run()
    expect(await summed(world)).to.deep.equal([])
    expect(await summed(other)).to.not.deep.equal([])
  })

  for (const { id, world, request } of readBillingVectors().invoices)
    it(`is what the preview says: ${id}`, async () => {
      const stored = await makeStoredWorld(running, 1, 0)
      const { contractId } = await makeAgreement(running, stored, world)
      const { second, as_of = now } = request
      await openRater(running).rateOne(stored.namespaceId, contractId, second, as_of)
      expectLikePreview(
        await summed(stored),
        await preview(stored, { contract_id: contractId, at: second, as_of }),
      )
    })

  it('is what the preview says, at the end of each day, of random worlds', async () => {
    for (const [nth, { world, request }] of fc
      .sample(randomWorld, { seed: SEED, numRuns: WORLDS })
      .entries()) {
      const what = `world ${nth} of FAULT_SEED=${SEED.toString(16)}`
      const stored = await makeStoredWorld(running, 1, 0)
      const { contractId } = await makeAgreement(running, stored, world)
      const { second, as_of = now } = request
      await openRater(running).rateOne(stored.namespaceId, contractId, second, as_of)
      const asked = { contract_id: contractId, at: second }
      const last = await preview(stored, { ...asked, as_of })
      expectLikePreview(await summed(stored), last, what)
      const end = Math.min(as_of, last.period.end_at)
      for (const share of [0.2, 0.7]) {
        const within = last.period.start_at + Math.floor((end - last.period.start_at) * share)
        const midnight = (Math.floor(within / DAY) + 1) * DAY
        if (midnight >= end || midnight <= last.period.start_at) continue
        const then = await preview(stored, { ...asked, as_of: midnight })
        const rows = await summed(stored, dayText(midnight - 1))
        // Lines that begin later are shown on the day on which they begin.
        const begun = then.lines.filter((line) => line.start_at < midnight)
        const amounts = (lines: readonly { contract_line_id: string | null; amount: string }[]) =>
          lines.map(({ contract_line_id: line, amount }) => `${line ?? ''} ${amount}`).sort()
        expect(amounts(rows.filter(({ kind }) => kind === 'usage' || kind === 'fixed')), what).to.deep.equal(
          amounts(begun),
        )
      }
    }
  })
})
