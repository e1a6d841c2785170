import { expect } from 'chai'
import fc from 'fast-check'
import { makeAgreement, type PreviewBody } from '../../support/billing-over-http.ts'
import { contractStage } from '../../support/contract-stage.ts'
import { randomWorld } from '../../support/random-worlds.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'
import { makeStoredWorld, type StoredWorld } from '../../support/stored-world.ts'

const SEED = Number.parseInt(process.env['FAULT_SEED'] ?? '0135274d', 16)
const WORLDS = 12
const DAY = 86_400
const now = Math.floor(Date.now() / 1_000)

type Summary = Omit<PreviewBody, 'lines'>
interface List {
  data: Summary[]
  has_more: boolean
}

describe('the list of invoice previews', function () {
  this.timeout(120_000)
  let running: RunningApi
  before(async () => {
    running = await startApi('invoice_list')
  })
  after(() => running.stop())

  const list = async ({ api }: StoredWorld, query: Record<string, number | string>): Promise<List> => {
    const params = Object.entries(query).map(([name, value]) => `${name}=${value}`)
    const answer = await api.get<List>(`/v2/invoice-previews?${params.join('&')}`)
    expect(answer.status, answer.text).to.equal(200)
    return answer.body
  }
  /** Reads all pages. */
  const listAll = async (world: StoredWorld, query: Record<string, number>): Promise<Summary[]> => {
    const all: Summary[] = []
    for (;;) {
      const last = all.at(-1)
      const page = await list(world, {
        ...query,
        limit: 5,
        ...(last && { starting_after: last.contract_id }),
      })
      all.push(...page.data)
      if (!page.has_more) return all
    }
  }

  it('has the preview of each contract in force then, whatever the others are', async () => {
    const company = await makeStoredWorld(running, WORLDS, 0)
    const drawn = fc.sample(randomWorld, { seed: SEED, numRuns: WORLDS })
    const contracts: string[] = []
    for (const [nth, { world }] of drawn.entries())
      contracts.push((await makeAgreement(running, ofAccount(company, nth), world)).contractId)
    let shown = 0
    let between = 0
    for (const { world, request } of drawn) {
      const at = request.second
      const as_of = request.as_of ?? now
      const listed = await listAll(company, { at, as_of })
      const alone: Summary[] = []
      for (const [nth, contract_id] of contracts.entries()) {
        const { starts_at, ends_at = null, cancel_at = null } = drawn[nth]?.world.contract ?? world.contract
        const end = Math.min(ends_at ?? Infinity, cancel_at ?? Infinity)
        if (at < starts_at || at >= end) {
          between++
          continue
        }
        const { lines, ...summary } = await company.api.create<PreviewBody>('/v2/invoice-previews', {
          contract_id,
          at,
          as_of,
        })
        shown += lines.length
        alone.push(summary)
      }
      expect(listed.map(timeless), `at ${at}, FAULT_SEED=${SEED.toString(16)}`).to.deep.equal(
        alone.map(timeless),
      )
    }
    expect(shown).to.be.greaterThan(WORLDS)
    expect(between, 'all contracts were in force all the time').to.be.greaterThan(0)
  })

  it('asks as much for a page of a hundred as for one', async function () {
    if (running.inside === undefined) return this.skip()
    const { counts } = running.inside
    const company = await makeStoredWorld(running, 50, 1)
    const cards: string[] = []
    const [metric_id = ''] = company.metrics
    const product = await company.api.create<{ id: string }>('/v2/products', { name: 'p' })
    const price = await company.api.create<{ id: string }>('/v2/prices', {
      product_id: product.id,
      currency: 'usd',
      model: 'per_unit',
      unit_amount: '1',
    })
    for (const rate of [
      { metric_id, price_id: price.id },
      { metric_id, group_by: 'region', prices: [{ value: 'eu', price_id: price.id }], price_id: price.id },
    ]) {
      const card = { name: 'c', currency: 'usd', rates: [rate] }
      cards.push((await company.api.create<{ id: string }>('/v2/rate-cards', card)).id)
    }
    for (const [nth, account_id] of company.accounts.entries()) {
      await company.store({ accountId: account_id, source: metric_id, quantity: '2', occurredAt: now - DAY })
      for (const rate_card_id of [cards[nth % 2], undefined])
        await company.api.create('/v2/contracts', {
          account_id,
          currency: 'usd',
          cadence: 'month',
          // No contract begins at midnight, and all have different periods.
          starts_at: now - 2 * DAY - nth * 4_001,
          lines: [
            rate_card_id === undefined ? { minimum_amount: '3' } : { rate_card_id },
            { credit: { amount: '1', currency: 'usd' } },
          ],
        })
    }
    const countsOf = async (limit: number) => {
      await list(company, { limit })
      counts.clear()
      const { data } = await list(company, { limit })
      expect(data).to.have.length(limit)
      expect(data.map(({ total }) => total)).to.deep.equal(
        Array.from({ length: limit }, (_, n) => (n % 2 === 0 ? '2' : '3')),
      )
      return { postgres: counts.postgres.length, clickhouse: counts.clickhouse.length }
    }
    const [one, hundred] = [await countsOf(1), await countsOf(100)]
    expect(hundred.postgres).to.equal(one.postgres)
    // The state of the rollups is cached for a second.
    for (const { clickhouse } of [one, hundred]) expect(clickhouse).to.be.within(2, 3)
  })

  it('is of now unless it is told, and leaves out contracts that were withdrawn', async () => {
    const company = await makeStoredWorld(running, 1, 0)
    const create = async (starts_at: number, ends_at?: number) =>
      (
        await company.api.create<{ id: string }>('/v2/contracts', {
          account_id: company.account,
          currency: 'usd',
          cadence: 'day',
          starts_at,
          ends_at,
          lines: [{ minimum_amount: '10' }],
        })
      ).id
    const over = await create(now - 5 * DAY, now - 3 * DAY)
    const running_ = await create(now - 4 * DAY)
    const toCome = await create(now + DAY)
    const withdrawn = await create(now + DAY)
    await company.api.create(`/v2/contracts/${withdrawn}/cancel`, { mode: 'immediate' })
    const ids = async (query: Record<string, number>) =>
      (await list(company, query)).data.map(({ contract_id }) => contract_id)
    expect(await ids({})).to.deep.equal([running_])
    expect(await ids({ at: now - 4 * DAY + 1 })).to.deep.equal([over, running_])
    expect(await ids({ at: now - 3 * DAY })).to.deep.equal([running_])
    expect(await ids({ at: now + 2 * DAY })).to.deep.equal([running_, toCome])
    expect(await ids({ at: 0 })).to.deep.equal([])
    expect((await list(company, {})).data[0]).to.include({ total: '10', status: 'active' })
  })

  it('shows the last second that can be named, in periods that end after it', async () => {
    const company = await makeStoredWorld(running, 1, 0)
    const last = 253_402_300_799 // of the year 9999
    const price_id = await contractStage(company.api).price({ model: 'flat', amount: '10' })
    for (const cadence of ['day', 'week', 'month', 'year']) {
      const { id } = await company.api.create<{ id: string }>('/v2/contracts', {
        account_id: company.account,
        currency: 'usd',
        cadence,
        anchor_at: now - 1,
        lines: [{ price_id }],
      })
      const { status, text, body } = await company.api.post<PreviewBody>('/v2/invoice-previews', {
        contract_id: id,
        at: last,
      })
      expect(status, text).to.equal(200)
      expect(body.period.end_at, cadence).to.be.above(last)
      expect(body.lines.map(({ end_at }) => end_at)).to.deep.equal([body.period.end_at])
    }
    expect((await list(company, { at: last })).data.map(({ total }) => total)).to.deep.equal(
      Array(4).fill('10'),
    )
  })

  it('refuses what lies in the future, and a page after nothing', async () => {
    const company = await makeStoredWorld(running, 1, 0)
    const refused = async (query: string, status: number, text: RegExp) => {
      const answer = await company.api.get(`/v2/invoice-previews?${query}`)
      expect([answer.status, answer.text]).to.satisfy(
        ([got, said]: [number, string]) => got === status && text.test(said),
        `${query}: ${answer.status} ${answer.text}`,
      )
    }
    await refused(`as_of=${now + DAY}`, 422, /as_of/)
    await refused('starting_after=00000000-0000-4000-8000-000000000000', 400, /starting_after/)
    await refused('at=x', 400, /at/)
  })
})

/** A company's world, for another one of its accounts. */
const ofAccount = (company: StoredWorld, nth: number): StoredWorld => ({
  ...company,
  account: company.accounts[nth] ?? '',
  grant: (fields) => company.grant({ account_id: company.accounts[nth], ...fields }),
})

/** Removes the time up to which an answer counts, because it differs in each answer. */
const timeless = (summary: Summary): Summary => ({ ...summary, usage_as_of: 0 })
