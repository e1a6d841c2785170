import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { PROJECT_ROOT } from '../../../shared/config/project-root.ts'
import { makeAgreement, type PreviewBody } from '../../support/billing-over-http.ts'
import type { WorldJson } from '../../support/billing-vectors.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'
import { makeStoredWorld, type StoredWorld } from '../../support/stored-world.ts'

const START = 1_767_225_600
const DAY = 86_400

/**
 * The example of docs/guides/billing.md: 49 a month and 3 per million tokens, one late event and one corrected event.
 */
const WORLD: WorldJson = {
  contract: {
    id: 'contract',
    account_id: 'account',
    currency: 'usd',
    cadence: 'month',
    anchor_at: START,
    starts_at: START,
    lines: [{ id: 'contract_line_plan', starts_at: START, rate_card_id: 'card' }],
  },
  prices: {
    price_base: { currency: 'usd', model: 'flat', amount: '49' },
    price_tokens: { currency: 'usd', model: 'per_unit', unit_amount: '3', per: '1000000' },
  },
  rate_cards: {
    card: [
      { id: 'rate_base', starts_at: 0, price_id: 'price_base' },
      {
        id: 'rate_tokens',
        source: 'metric_tokens',
        aggregation: 'sum',
        starts_at: 0,
        price_id: 'price_tokens',
      },
    ],
  },
  events: [
    { ...tokens('event_first', '1234567', START + 4 * DAY) },
    {
      ...tokens('event_amended', '500000', START + 19.5 * DAY),
      corrections: [{ corrected_at: START + 35.5 * DAY, quantity: '400000' }],
    },
    { ...tokens('event_late', '265433', START + 30.5 * DAY), accepted_at: START + 33.5 * DAY },
  ],
}

function tokens(id: string, quantity: string, occurred_at: number) {
  return { id, source: 'metric_tokens', quantity, occurred_at, accepted_at: occurred_at }
}

describe('what the documents say of billing', function () {
  this.timeout(60_000)
  let running: RunningApi
  before(async () => {
    // Why in one layout: invoice-worlds reads with the same statements in the other.
    running = await startApi('billing_document')
  })
  after(() => running.stop())

  it('of a closed month, and what came later, is what is answered', async () => {
    const document = await readFile(path.join(PROJECT_ROOT, 'docs/guides/billing.md'), 'utf8')
    const told = [...document.matchAll(/^ *```json\n([\s\S]*?)^ *```$/gm)].map(
      ([, json = '']) => JSON.parse(json) as Record<string, unknown>,
    )
    const requests = told.filter((block) => 'known_at' in block)
    const [difference] = told.filter((block) => 'since' in block)
    expect(requests).to.have.length(2)

    const world = await makeStoredWorld(running, 1, 0)
    const { contractId: contract_id, labels } = await makeAgreement(running, world, WORLD)
    const ask = (request: object) =>
      world.api.create<PreviewBody>('/v2/invoice-previews', { ...request, contract_id })
    const [issued, later] = [await ask(requests[0] ?? {}), await ask(requests[1] ?? {})]
    expect(issued.total).to.equal('54.2')
    expect(later.total).to.equal('54.7')
    expect(named(later.difference, labels)).to.deep.equal(difference)
  })

  describe('of what surprises is so:', () => {
    let world: StoredWorld
    let product: string
    const NEXT = START + 31 * DAY // 1 February
    const make = async (target: string, body: object): Promise<string> =>
      (await world.api.create<{ id: string }>(target, body)).id
    const priceOf = (terms: object) => make('/v2/prices', { product_id: product, currency: 'usd', ...terms })
    const contractOf = (lines: object[], terms: object = {}) =>
      make('/v2/contracts', {
        account_id: world.account,
        currency: 'usd',
        cadence: 'month',
        starts_at: START,
        lines,
        ...terms,
      })
    const fee = async (amount: string) => ({ price_id: await priceOf({ model: 'flat', amount }) })
    const previewOf = (contract_id: string, at = START, more: object = {}) =>
      world.api.create<PreviewBody>('/v2/invoice-previews', { contract_id, at, ...more })
    const grantOf = (amount: string, effective_at: number, more: object = {}) =>
      world.grant({ currency: 'usd', amount, effective_at, ...more })
    const creditOf = ({ total, credit_total, amount_due }: PreviewBody) => [total, credit_total, amount_due]

    const beginAnew = async () => {
      world = await makeStoredWorld(running, 1, 1)
      product = await make('/v2/products', { name: 'p' })
    }
    beforeEach(beginAnew)

    it('a grant pays the fee that bought it, unless it begins with the end of that fee’s period', async () => {
      const bought = await contractOf([await fee('1000')])
      await grantOf('1000', START)
      expect(creditOf(await previewOf(bought))).to.deep.equal(['1000', '1000', '0'])
      await beginAnew()
      // A separate contract, and a grant that is effective at the end of its period.
      const commitment = await contractOf([await fee('1000')], { cadence: 'day', ends_at: START + DAY })
      const used = await contractOf([await fee('30')])
      await grantOf('1000', START + DAY)
      expect(creditOf(await previewOf(commitment))).to.deep.equal(['1000', '0', '1000'])
      expect(creditOf(await previewOf(used))).to.deep.equal(['30', '30', '0'])
    })

    it('a discount of 100 % leaves the minimum of a price', async () => {
      const price_id = await priceOf({ model: 'per_unit', unit_amount: '0.1', minimum_amount: '20' })
      const contract = await contractOf([{ price_id, quantity: '500', discount_percent: '100' }])
      const { lines, total } = await previewOf(contract)
      expect([lines[0]?.bound, lines[0]?.amount, total]).to.deep.equal(['minimum', '20', '20'])
    })

    it('the minimum of a contract of years does not see contracts of months', async () => {
      const yearly = await contractOf([{ minimum_amount: '1200' }], { cadence: 'year' })
      await contractOf([await fee('100')])
      const { subtotal, minimum_adjustment } = await previewOf(yearly)
      expect([subtotal, minimum_adjustment]).to.deep.equal(['0', '1200'])
    })

    it('two contracts are shown the same credit until one of them is settled', async () => {
      const contracts = [await contractOf([await fee('80')]), await contractOf([await fee('70')])]
      await grantOf('100', START)
      const due = async (at: number) =>
        Promise.all(contracts.map(async (contract) => (await previewOf(contract, at)).credit_total))
      expect(await due(START)).to.deep.equal(['80', '70'])
      await grantOf('-80', NEXT - 1)
      expect((await due(START))[1]).to.equal('20')
    })

    it('a debit that was forgotten gives the credit again, and sending all debits again finds it', async () => {
      const contract = await contractOf([await fee('30')])
      const grant = await grantOf('100', START)
      const left = async (at: number) => (await previewOf(contract, at)).credit_total
      expect(await left(START)).to.equal('30')
      expect(creditOf(await previewOf(contract, NEXT))).to.deep.equal(['30', '30', '0'])
      const debit = (month: string, effective_at: number) =>
        world.api.post<object>(
          '/v2/grants',
          { account_id: world.account, currency: 'usd', amount: '-30', effective_at },
          { headers: { 'Idempotency-Key': `settle-${contract}-${month}-${grant}` } },
        )
      const months = [START, NEXT, NEXT + 28 * DAY, NEXT + 59 * DAY] as const
      expect((await debit('2026-01', NEXT)).status).to.equal(200)
      // No debit is made for February, so March and April use 30 of the credit that February has used already.
      expect((await debit('2026-03', NEXT + 59 * DAY)).status).to.equal(200)
      expect(await left(months[3])).to.equal('30')
      const again = [
        await debit('2026-01', NEXT),
        await debit('2026-02', NEXT + 28 * DAY),
        await debit('2026-03', NEXT + 59 * DAY),
      ]
      expect(again.map(({ status }) => status)).to.deep.equal([409, 200, 409])
      expect(await left(months[3])).to.equal('10')
    })

    const rated = async (rate: object) => {
      const rates = [{ metric_id: world.metrics[0], ...rate }]
      const card = await make('/v2/rate-cards', { name: 'c', currency: 'usd', rates })
      return contractOf([{ rate_card_id: card }])
    }

    it('a value without events has a line only where its rounded amount is not 0', async () => {
      const minimum = (minimum_amount: string) =>
        priceOf({ model: 'per_unit', unit_amount: '1', minimum_amount })
      const contract = await rated({
        group_by: 'model',
        prices: [
          { value: 'crumb', price_id: await minimum('0.004') },
          { value: 'half', price_id: await minimum('0.005') },
          { value: 'none', price_id: await priceOf({ model: 'per_unit', unit_amount: '1' }) },
        ],
      })
      const { lines } = await previewOf(contract, START, { as_of: START + 1 })
      expect(lines.map(({ value, amount }) => [value, amount])).to.deep.equal([['half', '0.01']])
    })

    it('packages are filled by the sum of a period, not by each event', async () => {
      const contract = await rated({
        price_id: await priceOf({ model: 'package', package_size: '1000', package_amount: '10' }),
      })
      const source = world.metrics[0] ?? ''
      await world.store(
        { source, quantity: '1', occurredAt: START + 5 },
        { source, quantity: '999', occurredAt: START + 9 },
      )
      expect((await previewOf(contract, START, { as_of: START + 60 })).total).to.equal('10')
    })

    it('of events of one second the latest is the one accepted last, by microseconds that are not shown', async () => {
      const contract = await rated({
        aggregation: 'latest',
        price_id: await priceOf({ model: 'per_unit', unit_amount: '1' }),
      })
      const source = world.metrics[0] ?? ''
      const at = (micros: number) => (START + 9) * 1_000_000 + micros
      await world.store(
        { source, quantity: '7', occurredAt: START + 5, acceptedAt: at(2), key: 'a' },
        { source, quantity: '5', occurredAt: START + 5, acceptedAt: at(1), key: 'b' },
      )
      const { lines } = await previewOf(contract, START, { as_of: START + 60 })
      expect(lines[0]?.quantity).to.equal('7')
      const listed = await world.api.get<{ data: { accepted_at: number }[] }>('/v2/events')
      expect(listed.body.data.map(({ accepted_at }) => accepted_at)).to.deep.equal([START + 9, START + 9])
    })
  })
})

/** Replaces ids by the document's names, in the document's order. */
function named(difference: PreviewBody['difference'], labels: ReadonlyMap<string, string>): unknown {
  const events = WORLD.events.map(({ id, occurred_at }) => [occurred_at, `${id}…`] as const)
  const json = JSON.stringify(difference, (_name, value: unknown) =>
    typeof value === 'string' && labels.has(value) ? `${labels.get(value) ?? ''}…` : value,
  )
  const shown = JSON.parse(json) as NonNullable<PreviewBody['difference']>
  return {
    ...shown,
    // Among rates with equal starts the ids decide, which are random.
    lines: shown.lines.toSorted((a, b) => ((a.rate_id ?? '') < (b.rate_id ?? '') ? -1 : 1)),
    events: shown.events.map((one) => ({ ...one, event_id: new Map(events).get(one.occurred_at) })),
  }
}
