import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { rateAccounts } from '../../../services/api/price-simulations/rate-accounts.ts'
import { simulateCard } from '../../../services/api/price-simulations/simulate-card.ts'
import { FairSemaphore } from '../../../shared/batching/fair-semaphore.ts'
import { queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { rawReadSemaphore } from '../../../shared/clickhouse/usage/raw-read-semaphore.ts'
import { simulatedUsageReader } from '../../../shared/clickhouse/usage/simulated-usage.ts'
import { newId } from '../../../shared/domain/ids.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { rateCardRepository } from '../../../shared/postgres/rate-cards.ts'
import { cardLineOf } from '../../support/billing-stage.ts'
import { readBillingVectors } from '../../support/billing-vectors.ts'
import { failureOf } from '../../support/failure-of.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'
import { makeStoredWorld, type StoredWorld } from '../../support/stored-world.ts'
import { until } from '../../support/until.ts'
import { makeCorrection } from '../../support/usage-event.ts'

const DAY = 86_400
const now = Math.floor(Date.now() / 1_000)
/** The end of a month that is over, from midnight to midnight. */
const END = now - (now % DAY) - 3 * DAY
const START = END - 30 * DAY
const NO_ACCOUNT = `account_${'0'.repeat(32)}`
const NO_CARD = `rate_card_${'0'.repeat(32)}`
/** At most five queries: marks, state of the rollups and usage; and marks and usage for the list of accounts. */
const CLICKHOUSE_MAX = 5

interface Named {
  id: string
}

describe('simulations over HTTP', function () {
  this.timeout(60_000)
  let running: RunningApi
  before(async () => {
    running = await startApi('simulations')
  })
  after(() => running.stop())

  /** Makes a company with a product, and functions for its usual resources. */
  async function makePricing(accounts = 1, metrics = 1) {
    const world = await makeStoredWorld(running, accounts, metrics)
    const create = async (path: string, body: object) => (await world.api.create<Named>(path, body)).id
    const product = await create('/v2/products', { name: 'p' })
    return {
      ...world,
      product,
      price: (terms: object, of: object = {}) =>
        create('/v2/prices', { product_id: product, currency: 'usd', ...terms, ...of }),
      card: (rates: readonly object[], of: object = {}) =>
        create('/v2/rate-cards', { name: 'c', currency: 'usd', rates, ...of }),
      /** Makes a contract whose only line follows a card. */
      follow: (account_id: string, rate_card_id: string, line: object = {}, of: object = {}) =>
        create('/v2/contracts', {
          ...{ account_id, currency: 'usd', cadence: 'month', starts_at: START },
          lines: [{ rate_card_id, ...line }],
          ...of,
        }),
      ask: (card: string, body: object = {}) =>
        world.api.post<SchemaOf<'Simulation'>>(`/v2/rate-cards/${card}/simulate`, {
          start_at: START,
          end_at: END,
          ...body,
        }),
      simulate: (card: string, body: object = {}) =>
        world.api.create<SchemaOf<'Simulation'>>(`/v2/rate-cards/${card}/simulate`, {
          start_at: START,
          end_at: END,
          ...body,
        }),
    }
  }
  const unit = (unit_amount: string) => ({ model: 'per_unit', unit_amount })
  const used = (world: StoredWorld, accountId: string, quantity: string, day = 1) =>
    world.makeEvent({
      ...{ accountId, quantity, source: world.metrics[0] ?? '' },
      occurredAt: START + day * DAY,
    })
  const figures = ({ data }: SchemaOf<'Simulation'>) =>
    data.map(({ baseline, candidate, difference }) => `${baseline} ${candidate} ${difference}`)

  for (const vector of readBillingVectors().simulations)
    it(`answer as the vectors, page by page: ${vector.id}`, async () => {
      const world = await makePricing(Object.keys(vector.usage).length)
      const accounts = world.accounts.toSorted()
      await running.store(
        Object.values(vector.usage).map((quantity, n) => used(world, accounts[n] ?? '', quantity)),
      )
      const { old, new: tried } = vector.prices
      const cardOf = async (terms: object) =>
        world.card([{ metric_id: world.metrics[0], price_id: await world.price(terms) }])
      const [card, against] = [await cardOf(tried), await cardOf(old)]
      const whole = await world.simulate(card, { against })
      const named = (id: string) => `account_${'abcde'[accounts.indexOf(id)] ?? '?'}`
      const withNames = ({ account_id: id, ...rest }: SchemaOf<'SimulatedAccount'>) => ({
        account_id: named(id),
        ...rest,
      })
      expect(whole.data.map(withNames)).to.deep.equal(vector.expect.data)
      expect(whole.has_more).to.equal(false)
      expect(whole.currency).to.equal('usd')
      const { quantiles, largest, in_other_currencies: left, ...totals } = whole.totals ?? expect.fail()
      expect(totals).to.deep.equal(vector.expect.totals)
      expect(quantiles).to.deep.equal({ p5: '-14', p25: '-2', p50: '1', p75: '1.99', p95: '2' })
      expect(largest.increases.map(withNames)).to.deep.equal(
        ['b', 'c', 'a'].map((letter) =>
          vector.expect.data.find(({ account_id: id }) => id === `account_${letter}`),
        ),
      )
      expect(largest.decreases.map(({ account_id: id }) => named(id))).to.deep.equal([
        'account_d',
        'account_e',
      ])
      expect(left).to.equal(0)

      const paged: SchemaOf<'SimulatedAccount'>[] = []
      for (const [limit, size, hasMore] of [
        [2, 2, true],
        [1, 1, true],
        [2, 2, false],
      ] as const) {
        const starting_after = paged.at(-1)?.account_id
        const page = await world.simulate(card, { against, limit, starting_after })
        expect([page.data.length, page.has_more]).to.deep.equal([size, hasMore])
        expect(page.totals).to.deep.equal(starting_after === undefined ? whole.totals : undefined)
        paged.push(...page.data)
      }
      expect(paged).to.deep.equal(whole.data)
    })

  it('set a changed card against what each account pays, with its own prices and discount, and change nothing', async () => {
    const world = await makePricing(4)
    const [plain = '', dear = '', agreed = '', free = ''] = world.accounts
    const [one, two, three] = [
      await world.price(unit('1')),
      await world.price(unit('2')),
      await world.price(unit('3')),
    ]
    const card = await world.card([{ metric_id: world.metrics[0], price_id: one }])
    const dearCard = await world.card([{ metric_id: world.metrics[0], price_id: two }])
    await world.follow(plain, card)
    await world.follow(dear, dearCard, { discount_percent: '10' })
    await world.follow(agreed, card, { price_overrides: [{ product_id: world.product, price_id: three }] })
    await running.store([plain, dear, agreed, free].map((account) => used(world, account, '10')))

    const ratesBefore = await world.api.get<{ data: Named[] }>(`/v2/rate-cards/${card}/rates`)
    const changes = {
      end: ratesBefore.body.data.map(({ id }) => id),
      add: [{ metric_id: world.metrics[0], price_id: await world.price(unit('5')) }],
    }
    const byAccount = async (body: object) => {
      const answer = await world.simulate(card, { account_ids: [plain, dear, agreed, free], ...body })
      return Object.fromEntries(
        figures(answer).map((text, n): [string, string] => [answer.data[n]?.account_id ?? '', text]),
      )
    }
    expect(await byAccount({ changes })).to.deep.equal({
      [plain]: '10 50 40',
      // The account's overrides and discount apply to any card.
      [dear]: '18 45 27',
      [agreed]: '30 30 0',
      [free]: '0 50 50',
    })
    expect(await byAccount({ changes, against: card })).to.deep.equal({
      [plain]: '10 50 40',
      [dear]: '10 50 40',
      [agreed]: '10 50 40',
      [free]: '10 50 40',
    })
    expect(await byAccount({ against: dearCard }), 'against another card').to.deep.include({
      [agreed]: '20 10 -10',
    })
    expect(await byAccount({ against: 'none' }), 'alone').to.deep.include({ [dear]: '0 10 10' })
    const ratesAfter = await world.api.get(`/v2/rate-cards/${card}/rates`)
    expect(ratesAfter.text).to.equal(ratesBefore.text)
  })

  it('rate all periods as after the changes, whenever these are', async () => {
    const world = await makePricing()
    const { account, metrics } = world
    const card = await world.card([{ metric_id: metrics[0], price_id: await world.price(unit('1')) }])
    const {
      body: { data },
    } = await world.api.get<{ data: Named[] }>(`/v2/rate-cards/${card}/rates`)
    await running.store([used(world, account, '10', 1), used(world, account, '10', 29)])
    const end = data.map(({ id }) => id)
    const add = { metric_id: metrics[0], price_id: await world.price(unit('5')) }
    const candidateOf = async (changes: object) =>
      (await world.simulate(card, { against: card, cadence: 'week', changes })).data[0]
    const figuresOf = (candidate: string, difference: string) => ({
      account_id: account,
      baseline: '20',
      candidate,
      difference,
    })
    const later = now + 40 * DAY
    expect(await candidateOf({ effective_at: later, end, add: [add] })).to.deep.equal(figuresOf('100', '80'))
    expect(await candidateOf({ end, add: [{ ...add, starts_at: later }] })).to.deep.equal(
      figuresOf('100', '80'),
    )
    expect(await candidateOf({ end })).to.deep.equal(figuresOf('0', '-20'))
    // No contract has followed the card, so its past can be changed.
    expect(await candidateOf({ effective_at: START + 10 * DAY, end, add: [add] })).to.deep.equal(
      figuresOf('100', '80'),
    )
  })

  it('rate by what is in force when the first period begins, without changes', async () => {
    const world = await makePricing()
    const [one, five] = [await world.price(unit('1')), await world.price(unit('5'))]
    const rate = { metric_id: world.metrics[0] }
    const middle = START + 15 * DAY
    const card = await world.card([
      { ...rate, price_id: one, ends_at: middle },
      { ...rate, price_id: five, starts_at: middle },
    ])
    await running.store([used(world, world.account, '1', 1), used(world, world.account, '1', 20)])
    await world.follow(world.account, card)
    expect(figures(await world.simulate(card, { cadence: 'week' }))).to.deep.equal(['2 2 0'])
    expect(figures(await world.simulate(card, { start_at: middle, cadence: 'week' }))).to.deep.equal([
      '5 5 0',
    ])
  })

  it('are of all who used something or follow a card within the time, and of nobody else', async () => {
    const world = await makePricing(8)
    const [user = '', follower = '', both = '', early = '', late = '', voided = '', ended = '', idle = ''] =
      world.accounts
    const card = await world.card([{ price_id: await world.price({ model: 'flat', amount: '7' }) }])
    await running.store([
      used(world, user, '1'),
      used(world, both, '1'),
      used(world, early, '1', -1 / DAY),
      used(world, late, '1', 30),
    ])
    const gone = used(world, voided, '1')
    await running.store([gone, makeCorrection(gone, { voided: true })])
    await world.follow(both, card)
    await world.follow(follower, card, { starts_at: END - 1 })
    await world.follow(ended, card, { ends_at: START - 1 }, { starts_at: START - 5 * DAY })
    const answer = await world.simulate(card)
    expect(answer.data.map(({ account_id: id }) => id)).to.deep.equal([user, follower, both].toSorted())
    // An account that follows the card only later has a baseline of 0.
    const byAccount = Object.fromEntries(answer.data.map((one) => [one.account_id, one.baseline]))
    expect(byAccount).to.deep.equal({ [user]: '0', [follower]: '0', [both]: '7' })
    expect(answer.totals).to.deep.include({ accounts: 3, candidate: '21', increased: 2, unchanged: 1 })
    expect((await world.simulate(card, { account_ids: [idle] })).data).to.have.length(1)
  })

  it('leave out who follows a card in another currency, and count them', async () => {
    const world = await makePricing(2)
    const [here = '', abroad = ''] = world.accounts
    const card = await world.card([{ metric_id: world.metrics[0], price_id: await world.price(unit('1')) }])
    const euros = await world.card([], { currency: 'eur' })
    await world.follow(abroad, euros, {}, { currency: 'eur' })
    await running.store([used(world, here, '1'), used(world, abroad, '1')])
    const answer = await world.simulate(card)
    expect(answer.data.map(({ account_id: id }) => id)).to.deep.equal([here])
    expect(answer.totals).to.deep.include({ accounts: 1, in_other_currencies: 1 })
    const named = await world.ask(card, { account_ids: [here, abroad] })
    expect([named.status, named.text]).to.deep.equal([
      422,
      'account_ids[1]: at start_at the account follows a card in another currency, which cannot be compared',
    ])
    // With `none` there is no baseline.
    const alone = await world.simulate(card, { against: 'none' })
    expect(alone.totals).to.deep.include({ accounts: 2, in_other_currencies: 0 })
    expect((await world.ask(card, { against: euros })).text).to.equal(
      'against: the rate card is in eur, not in usd',
    )
    expect(figures(await world.simulate(euros))).to.deep.equal(['0 0 0', '0 0 0'])
  })

  it('count each period as a whole one, also the last, which ends with the range', async () => {
    const world = await makePricing()
    const minimum = await world.price({ ...unit('1'), minimum_amount: '20' })
    const flat = await world.price({ model: 'flat', amount: '49' })
    const card = await world.card([{ metric_id: world.metrics[0], price_id: minimum }, { price_id: flat }])
    await world.follow(world.account, card, { ends_at: START + 2 * DAY })
    await running.store([used(world, world.account, '5', 1), used(world, world.account, '30', 29)])
    // 30 days are four weeks and two days.
    expect(figures(await world.simulate(card, { cadence: 'week' }))).to.deep.equal(['355 355 0'])
    expect(figures(await world.simulate(card))).to.deep.equal(['84 84 0'])
    const lines = (
      await world.simulate(card, { cadence: 'week', account_ids: [world.account], include_lines: true })
    ).data[0]?.lines
    expect(lines).to.have.length(2 * 5 * 2)
    expect(lines?.every(({ share }) => share.seconds === share.of)).to.equal(true)
    expect(lines?.at(-1)).to.include({ start_at: START + 28 * DAY, end_at: END })
  })

  it('show lines of both sides, and the query of each, which gives its quantity', async () => {
    const world = await makePricing()
    const { account, metrics } = world
    const [one, two] = [await world.price(unit('1')), await world.price(unit('2'))]
    const card = await world.card([
      { metric_id: metrics[0], group_by: 'region', prices: [{ value: 'eu', price_id: two }], price_id: one },
    ])
    await world.follow(account, card, { discount_percent: '50' })
    const events = [
      ['3', { region: 'eu' }],
      ['4', { region: 'us' }],
      ['0.5', {}],
    ] as const
    await world.store(
      ...events.map(([quantity, properties]) => ({
        ...{ source: metrics[0] ?? '', quantity, properties },
        occurredAt: START + DAY,
      })),
    )
    const { data } = await world.simulate(card, { account_ids: [account], include_lines: true })
    const contract = await world.api.get<{ data: Named[] }>(`/v2/contracts?account_id=${account}`)
    const contractLines = await world.api.get<{ data: Named[] }>(
      `/v2/contracts/${contract.body.data[0]?.id ?? ''}/lines`,
    )
    const shown = data[0]?.lines?.map(({ side, value, quantity, amount, contract_line_id: line }) => [
      side,
      value,
      quantity,
      amount,
      line === contractLines.body.data[0]?.id,
    ])
    expect(shown).to.deep.equal([
      ['baseline', 'eu', '3', '3', true],
      ['baseline', null, '4.5', '2.25', true],
      ['candidate', 'eu', '3', '3', true],
      ['candidate', null, '4.5', '2.25', true],
    ])
    const [database] = await queryRows<{ name: string }>(
      running.clickhouse,
      'SELECT currentDatabase() AS name',
      {},
    )
    for (const { query, quantity } of data[0]?.lines ?? []) {
      const text = (query ?? '')
        .replace('FROM events', `FROM ${database?.name ?? ''}_analytics.events`)
        .replace(/^SELECT (.*)$/m, 'SELECT toString($1) AS quantity')
      expect(await queryRows(running.clickhouse, text, {})).to.deep.equal([{ quantity }])
    }
    const plain = await world.simulate(card, {
      ...{ against: 'none', account_ids: [account], include_lines: true },
    })
    expect(plain.data[0]?.lines?.map((line) => line.contract_line_id)).to.deep.equal([null, null])
    expect((await world.simulate(card)).data[0]).not.to.have.property('lines')
  })

  it('ask as much for many accounts as for one, and for a later page of its accounts alone', async function () {
    if (running.inside === undefined) return this.skip()
    const { counts } = running.inside
    const world = await makePricing(12)
    const card = await world.card([{ metric_id: world.metrics[0], price_id: await world.price(unit('1')) }])
    const accounts = world.accounts.toSorted()
    for (const account of accounts.slice(0, 6)) await world.follow(account, card)
    await running.store(accounts.map((account) => used(world, account, '1')))
    const countsOf = async (body: object) => {
      counts.clear()
      await world.simulate(card, body)
      return { postgres: counts.postgres.length, clickhouse: counts.clickhouse.length }
    }
    const all = await countsOf({})
    expect(all.clickhouse).to.be.within(1, CLICKHOUSE_MAX)
    expect((await countsOf({ account_ids: accounts.slice(0, 1) })).postgres).to.equal(all.postgres)
    expect((await countsOf({ limit: 3, starting_after: accounts[3] })).clickhouse).to.be.at.most(
      CLICKHOUSE_MAX,
    )
    const { params } = counts.clickhouse.at(-1) ?? expect.fail()
    expect(params['accountIds']).to.deep.equal(accounts.slice(4, 7))
  })

  it('tell up to when reports were counted', async function () {
    if (running.inside === undefined) return this.skip()
    const { listedUpTo } = running.inside
    const world = await makePricing()
    const card = await world.card([])
    const second = listedUpTo.second
    listedUpTo.second = now - 3
    try {
      expect((await world.simulate(card)).usage_as_of).to.equal(now - 3)
    } finally {
      listedUpTo.second = second
    }
  })

  it('are given up between two accounts when nobody waits any more', async () => {
    const world = await makePricing(2)
    const usage = simulatedUsageReader(running.clickhouse, rawReadSemaphore())
    const gone = new AbortController()
    const ways = {
      periods: [{ startAt: START, endAt: END }],
      minorUnits: 2,
      candidate: { line: cardLineOf(), rates: [] },
      baseline: 'nothing' as const,
    }
    const rating = rateAccounts(
      { pool: running.pool, usage },
      world.namespaceId,
      ways,
      world.accounts,
      gone.signal,
    )
    const first = await rating.next()
    expect(first.done === true ? undefined : first.value.accountId).to.equal(world.account)
    gone.abort()
    expect(await failureOf(rating.next()))
      .to.be.instanceOf(DomainError)
      .with.property('code', 'overloaded')
  })

  it('rate no more at once than there are permits: each holds the usage it rates', async () => {
    const world = await makePricing()
    const card = await world.card([])
    const semaphore = new FairSemaphore({
      atOnce: 1,
      waitingMax: 1,
      waitMs: 10_000,
      rejection: (reason) => new Error(reason),
    })
    const releases: (() => void)[] = []
    const simulate = simulateCard({
      pool: running.pool,
      usage: {
        read: async () => {
          await new Promise<void>((resolve) => releases.push(resolve))
          return new Map()
        },
        listAccounts: () => Promise.resolve([]),
      },
      listedUpTo: () => Promise.resolve(now * 1_000_000),
      semaphore,
    })
    const ask = () =>
      simulate(
        world.namespaceId,
        {
          rateCardId: card,
          range: { startAt: START, endAt: END },
          ...{ cadence: undefined, changes: undefined, against: 'none' },
          accountIds: [world.account],
          page: { limit: 1, startingAfter: undefined },
        },
        now,
        new AbortController().signal,
      )
    const asked = [ask(), ask()]
    await until(() => Promise.resolve(releases.length > 0))
    await sleep(300)
    expect(releases.length, 'while the first is rated').to.equal(1)
    expect(await failureOf(ask())).to.have.property('message', 'too many queries are waiting')
    releases[0]?.()
    await until(() => Promise.resolve(releases.length === 2))
    releases[1]?.()
    await Promise.all(asked)
  })

  it('hold only a limited part of the usage at a time, with the same result', async () => {
    const world = await makePricing(5)
    const accounts = world.accounts.toSorted()
    const values = Array.from({ length: 30 }, (_, nth) => `region ${nth}`)
    const price_id = await world.price(unit('1'))
    const card = await world.card([
      {
        ...{ metric_id: world.metrics[0], group_by: 'region', price_id },
        prices: values.map((value) => ({ value, price_id })),
      },
    ])
    await world.store(
      ...accounts.flatMap((accountId, nth) =>
        values.slice((nth % 2) * 15).map((region) => ({
          ...{ accountId, quantity: `${nth + 1}.5`, properties: { region } },
          ...{ source: world.metrics[0] ?? '', occurredAt: START + DAY },
        })),
      ),
    )
    const rates = await inNamespace(running.pool, world.namespaceId, (db) =>
      rateCardRepository(db).listRatesOf(world.namespaceId, [card]),
    )
    const ways = {
      periods: [{ startAt: START, endAt: END }],
      minorUnits: 2,
      candidate: { line: cardLineOf({ rateCardId: card }), rates: rates.get(card) ?? [] },
      baseline: 'nothing' as const,
    }
    const reader = simulatedUsageReader(running.clickhouse, rawReadSemaphore())
    /** For each read: the number of accounts, and the number of rows unless there were too many. */
    const reads: [accounts: number, rows: number | undefined][] = []
    const usage: Pick<typeof reader, 'read'> = {
      async read(namespaceId, wanted, signal) {
        const read = await reader.read(namespaceId, wanted, signal)
        const rows = read && [...read.values()].flat(2).length
        reads.push(['first' in wanted.accounts ? NaN : wanted.accounts.length, rows])
        return read
      },
    }
    const rate = async (rowsMax?: number, rowsMaxOfOne?: number) => {
      reads.length = 0
      const deps = {
        pool: running.pool,
        usage,
        ...(rowsMax !== undefined && { rowsMax }),
        ...(rowsMaxOfOne !== undefined && { rowsMaxOfOne }),
      }
      const rated: object[] = []
      for await (const account of rateAccounts(
        deps,
        world.namespaceId,
        ways,
        accounts,
        new AbortController().signal,
      ))
        rated.push(account)
      return rated
    }
    const whole = await rate()
    expect(whole).to.have.length(5)
    expect(reads).to.deep.equal([[5, 120]])
    // The reader guesses two accounts at a time, which is too many, and tries two again after an account with few rows.
    const onesRows = [30, 15, 30, 15, 30].map((rows): [number, number] => [1, rows])
    const [one, ...others] = onesRows
    expect(await rate(44)).to.deep.equal(whole)
    expect(reads).to.deep.equal([[2, undefined], one, others[0], [2, undefined], ...others.slice(1)])
    // A single account with more rows is read up to a higher limit.
    expect(await rate(20)).to.deep.equal(whole)
    expect(reads).to.deep.equal(onesRows)
    const failure = await failureOf(rate(20, 29))
    expect(failure).to.be.instanceOf(DomainError).with.property('code', 'unprocessable')
    expect((failure as Error).message)
      .to.include(accounts[0])
      .and.to.include('more than 29 ways')
  })

  it('show nothing where there is nobody', async () => {
    const world = await makePricing()
    const answer = await world.simulate(await world.card([]))
    expect(answer).to.deep.include({ data: [], has_more: false })
    expect(answer.totals).to.deep.include({ accounts: 0, baseline: '0', difference: '0' })
    expect(answer.totals?.quantiles).to.deep.equal({ p5: '0', p25: '0', p50: '0', p75: '0', p95: '0' })
  })

  it('refuse what cannot be simulated', async () => {
    const world = await makePricing()
    const { account } = world
    const card = await world.card([])
    await world.follow(account, card)
    const stranger = await makePricing()
    const theirs = await stranger.card([])
    const refused: [body: object, status: number, text: RegExp][] = [
      [{ end_at: START }, 422, /^end_at: must be after start_at$/],
      [{ end_at: now + DAY }, 422, /^end_at: lies in the future$/],
      [{ start_at: END - 366 * DAY - 1 }, 422, /^end_at: lies more than 366 days after start_at$/],
      [{ include_lines: true }, 422, /^include_lines: needs account_ids$/],
      [{ against: NO_CARD }, 422, /^against: there is no such rate card$/],
      [{ against: theirs }, 422, /^against: there is no such rate card$/],
      [{ against: 'nothing' }, 400, /against/],
      [{ account_ids: [account, NO_ACCOUNT] }, 422, /^account_ids\[1\]: there is no such account$/],
      [{ account_ids: [stranger.account] }, 422, /^account_ids\[0\]: there is no such account$/],
      [{ account_ids: [account, account] }, 400, /account_ids/],
      [{ account_ids: [] }, 400, /account_ids/],
      [{ starting_after: NO_ACCOUNT }, 400, /starting_after/],
      [{ starting_after: stranger.account }, 400, /starting_after/],
      [{ account_ids: [account], starting_after: NO_ACCOUNT }, 400, /starting_after/],
      [{ limit: 101 }, 400, /limit/],
      [{ cadence: 'hour' }, 400, /cadence/],
      [{ changes: {} }, 422, /end/],
      [{ changes: { effective_at: START, end: [newId('rate')] } }, 422, /effective_at/],
      [{ changes: { add: [{ price_id: `price_${'0'.repeat(32)}` }] } }, 422, /add\[0\]/],
      [{ surprise: 1 }, 400, /surprise/],
    ]
    for (const [body, status, text] of refused) {
      const answer = await world.ask(card, body)
      expect([answer.status, answer.text], JSON.stringify(body)).to.satisfy(
        ([found, why]: [number, string]) => found === status && text.test(why),
      )
    }
    expect((await world.ask(card, { start_at: END - 366 * DAY })).status).to.equal(200)
    for (const none of [NO_CARD, theirs]) expect((await world.ask(none)).status).to.equal(404)
    expect((await world.ask(NO_CARD, { changes: { end: [newId('rate')] } })).status).to.equal(404)
  })

  it('refuse more than 100,000 accounts, and more periods than so many accounts can be rated in', async function () {
    // This many rows bypass the loader, which would mark them as late usage.
    if (running.inside === undefined) return this.skip()
    const world = await makePricing(1, 0)
    const card = await world.card([])
    await running.clickhouse.command({
      query: `
        INSERT INTO usage_events (namespace_id, account_id, source, occurred_at, event_id, quantity, properties, accepted_at, version)
        SELECT {namespaceId:String}, concat('account_', lower(leftPad(hex(number), 32, '0'))), 'usd',
          toDateTime({at:UInt32} + (number = 0) AS second, 'UTC'),
          concat('event_', lower(leftPad(hex(second), 8, '0')), lower(leftPad(hex(number), 24, '0'))),
          1, '{}', toDateTime64({at:UInt32}, 6, 'UTC'), 1
        FROM numbers(100001)`,
      query_params: { namespaceId: world.namespaceId, at: START + DAY },
    })
    const answer = await world.ask(card, { against: 'none' })
    expect([answer.status, answer.text]).to.deep.equal([
      422,
      'more than 100000 accounts used something or follow a card between start_at and end_at: name some as account_ids',
    ])
    // All but one.
    const range = { start_at: START - 4 * DAY, end_at: START + DAY + 1, cadence: 'day' }
    const often = await world.ask(card, { against: 'none', ...range })
    expect([often.status, often.text]).to.deep.equal([
      422,
      'cadence: 100000 accounts in 6 periods are more than can be rated at once, at most 500000 accounts times periods: ask for longer or fewer periods, or for some account_ids',
    ])
    const named = { against: 'none', account_ids: [world.account], ...range }
    expect((await world.ask(card, named)).status).to.equal(200)
  })
})
