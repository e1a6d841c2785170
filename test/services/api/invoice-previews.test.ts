import { expect } from 'chai'
import { queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import type { InvoiceCase } from '../../support/billing-vectors.ts'
import { makeAgreement, type Agreement, type PreviewBody } from '../../support/billing-over-http.ts'
import { startApi, type RunningApi } from '../../support/start-api.ts'
import { makeStoredWorld, type StoredWorld } from '../../support/stored-world.ts'

const DAY = 86_400
const now = Math.floor(Date.now() / 1_000)
const START = now - 10 * DAY
/** How far rollups reach, which is known for a second; which of them lack something; and usage. */
const CLICKHOUSE_MAX = 3
const NO_CONTRACT = '00000000-0000-4000-8000-000000000000'

/** Ten days into a month: seats, calls by region, and storage that nothing rates. */
const WORLD: InvoiceCase['world'] = {
  contract: {
    id: 'contract',
    account_id: 'account',
    currency: 'usd',
    cadence: 'month',
    anchor_at: START,
    starts_at: START,
    lines: [
      { id: 'line_card', starts_at: START, rate_card_id: 'card' },
      { id: 'line_seats', starts_at: START, price_id: 'price_seat', quantity: '10' },
    ],
  },
  prices: {
    price_seat: { product_id: 'seats', currency: 'usd', model: 'per_unit', unit_amount: '12' },
    price_eu: { product_id: 'calls', currency: 'usd', model: 'per_unit', unit_amount: '2' },
    price_rest: { product_id: 'calls', currency: 'usd', model: 'per_unit', unit_amount: '1' },
  },
  rate_cards: {
    card: [
      {
        id: 'rate_calls',
        source: 'metric_calls',
        aggregation: 'sum',
        starts_at: 0,
        group_by: 'region',
        prices: [{ value: 'eu', price_id: 'price_eu' }],
        price_id: 'price_rest',
      },
    ],
  },
  events: [
    event('event_1', 'metric_calls', '3', 1, { region: 'eu' }),
    event('event_2', 'metric_calls', '4', 2, { region: 'us' }),
    event('event_3', 'metric_calls', '0.5', 9),
    event('event_4', 'metric_storage', '7', 3),
  ],
}

function event(id: string, source: string, quantity: string, day: number, properties: object = {}) {
  const occurred_at = START + day * DAY
  return { id, source, quantity, occurred_at, accepted_at: occurred_at, properties: { ...properties } }
}

describe('invoice previews over HTTP', function () {
  this.timeout(60_000)
  let running: RunningApi
  let world: StoredWorld
  let agreement: Agreement

  before(async () => {
    running = await startApi('invoice_previews')
    world = await makeStoredWorld(running, 1, 0)
    agreement = await makeAgreement(running, world, WORLD)
  })
  after(() => running.stop())

  const ask = (body: object) => world.api.post<PreviewBody>('/v2/invoice-previews', body)
  const preview = async (body: object = {}): Promise<PreviewBody> => {
    const { status, text, body: answer } = await ask({ contract_id: agreement.contractId, ...body })
    expect(status, text).to.equal(200)
    return answer
  }
  const amounts = ({ lines }: PreviewBody) =>
    Object.fromEntries(
      lines.map(({ contract_line_id: line, value, amount }) => [
        `${agreement.labels.get(line) ?? ''} ${value ?? '-'}`,
        amount,
      ]),
    )

  it('show the period of now so far: each line, the total, what is not rated', async () => {
    const answer = await preview()
    expect(amounts(answer)).to.deep.equal({
      'line_card eu': '6',
      'line_card -': '4.5',
      'line_seats -': '120',
    })
    expect(answer).to.include({ status: 'active', subtotal: '130.5', total: '130.5', amount_due: '130.5' })
    expect(answer.as_of).to.be.within(now, now + 600)
    expect(answer.unrated).to.have.length(1)
    expect(answer.unrated[0]).to.include({ event_count: 1, quantity: '7' })
    const [eu] = answer.lines.filter(({ value }) => value === 'eu')
    expect(eu).to.include({ event_count: 1, quantity: '3', billable_quantity: '3', exact_amount: '6' })
    expect(eu?.share.seconds).to.equal(eu?.share.of)
  })

  it('count what occurred before as_of, and nothing else', async () => {
    const occurredAt = START + 2 * DAY
    // What nothing was used of makes no line.
    expect(amounts(await preview({ as_of: occurredAt }))).to.deep.equal({
      'line_card eu': '6',
      'line_seats -': '120',
    })
    expect(amounts(await preview({ as_of: occurredAt + 1 }))).to.include({ 'line_card -': '4' })
  })

  it('show the query of each line, which gives its quantity', async () => {
    // The view is the analysts' own, which stands in a database of theirs; here it is read as the services may.
    const { lines } = await preview()
    for (const { query, quantity, rate_id } of lines) {
      expect(query === null).to.equal(rate_id === null)
      if (query === null) continue
      const database = `${(await queryRows<{ name: string }>(running.clickhouse, 'SELECT currentDatabase() AS name', {}))[0]?.name ?? ''}_analytics`
      const rows = await queryRows<Record<string, string>>(
        running.clickhouse,
        query
          .replace('FROM events', `FROM ${database}.events`)
          .replace(/^SELECT (.*)$/m, 'SELECT toString($1) AS quantity'),
        {},
      )
      expect(rows.map((row) => row['quantity'])).to.deep.equal([quantity])
    }
  })

  it('ask as much for many lines as for one', async function () {
    if (running.inside === undefined) return this.skip()
    const { counts } = running.inside
    const countsOf = async (contractId: string) => {
      await ask({ contract_id: contractId })
      counts.clear()
      expect((await ask({ contract_id: contractId })).status).to.equal(200)
      return { postgres: counts.postgres.length, clickhouse: counts.clickhouse.length }
    }
    const many = await makeStoredWorld(running, 1, 0)
    const lines = Array.from({ length: 100 }, (_, n) => ({
      id: `line_${n}`,
      starts_at: START,
      price_id: 'price_seat',
      quantity: String(n),
    }))
    const rates = Array.from({ length: 50 }, (_, n) => ({
      id: `rate_${n}`,
      source: `metric_${n}`,
      aggregation: 'sum' as const,
      starts_at: 0,
      ...(n % 2 === 0
        ? { group_by: 'region', prices: [{ value: 'eu', price_id: 'price_eu' }], price_id: 'price_rest' }
        : { price_id: 'price_rest' }),
    }))
    const { contractId } = await makeAgreement(running, many, {
      ...WORLD,
      contract: { ...WORLD.contract, lines: [...WORLD.contract.lines.slice(0, 1), ...lines] },
      rate_cards: { card: rates },
    })
    const few = await countsOf(agreement.contractId)
    expect(few.clickhouse).to.be.within(1, CLICKHOUSE_MAX)
    const answer = await many.api.post<PreviewBody>('/v2/invoice-previews', { contract_id: contractId })
    expect(answer.body.lines.length).to.be.greaterThan(100)
    counts.clear()
    await many.api.post('/v2/invoice-previews', { contract_id: contractId })
    expect(counts.postgres.length).to.equal(few.postgres)
    expect(counts.clickhouse.length).to.be.at.most(CLICKHOUSE_MAX)
  })

  it('show what a change would come to, exactly as after it, and change nothing', async () => {
    const [seats] = await linesOf('line_seats')
    const changes = {
      effective_at: now + DAY,
      end: [seats],
      add: [{ price_id: idOf('price_seat'), quantity: '20', starts_at: now + DAY }],
    }
    const before = await world.api.get(`/v2/contracts/${agreement.contractId}/lines`)
    const as_of = now
    const tried = await preview({ as_of, changes })
    expect(tried.total).not.to.equal((await preview({ as_of })).total)
    const after = await world.api.get(`/v2/contracts/${agreement.contractId}/lines`)
    expect(after.text).to.equal(before.text)
    await world.api.create(`/v2/contracts/${agreement.contractId}/changes`, changes)
    expect(withoutIds(await preview({ as_of }))).to.deep.equal(withoutIds(tried))
  })

  it('show what a cancellation would come to, exactly as after it, and cancel nothing', async () => {
    const [as_of, cancel_at] = [now, now + 5 * DAY]
    const tried = await preview({ as_of, cancel_at })
    expect(tried.period.end_at).to.equal(cancel_at)
    expect((await preview({ as_of })).period.end_at).not.to.equal(cancel_at)
    const path = `/v2/contracts/${agreement.contractId}`
    await world.api.create(`${path}/cancel`, { mode: 'at', cancel_at })
    expect(withoutIds(await preview({ as_of }))).to.deep.equal(withoutIds(tried))
    await world.api.create(`${path}/uncancel`, {})
    expect((await preview({ as_of })).period.end_at).not.to.equal(cancel_at)
  })

  it('refuse what the change or the cancellation would be refused', async () => {
    const { contractId } = agreement
    const refused: [body: object, status: number, text: RegExp][] = [
      [{ changes: { effective_at: now - DAY } }, 422, /effective_at/],
      [{ changes: { end: [`contract_line_${'0'.repeat(32)}`] } }, 422, /contract_line_0+/],
      [{ changes: { add: [{ rate_card_id: idOf('card') }] } }, 409, /follows/],
      [{ cancel_at: now - DAY }, 422, /cancel_at/],
      [{ as_of: now + DAY }, 422, /as_of/],
      [{ at: START - 1 }, 422, /outside/],
      [{ contract_id: NO_CONTRACT }, 422, /contract_id/],
      [{ contract_id: 'contract' }, 400, /contract_id/],
      [{ known: 1 }, 400, /known/],
    ]
    for (const [body, status, text] of refused) {
      const answer = await ask({ contract_id: contractId, ...body })
      expect(answer.status, JSON.stringify(body)).to.equal(status)
      expect(answer.text).to.match(text)
    }
    const stranger = await running.newCaller()
    expect(
      (await stranger.api.post('/v2/invoice-previews', { contract_id: contractId })).status,
      'of another company',
    ).to.equal(422)
  })

  it('show the first period of a contract that is to begin, and the last of one that is over', async () => {
    const other = await makeStoredWorld(running, 1, 0)
    const create = (starts_at: number, ends_at: number) =>
      other.api.create<{ id: string }>('/v2/contracts', {
        account_id: other.account,
        currency: 'usd',
        cadence: 'day',
        starts_at,
        ends_at,
        lines: [{ minimum_amount: '10' }],
      })
    const shown = async ({ id }: { id: string }) =>
      (await other.api.create<PreviewBody>('/v2/invoice-previews', { contract_id: id })) satisfies PreviewBody
    const toCome = await shown(await create(now + DAY, now + 3 * DAY))
    expect(toCome).to.deep.include({ status: 'scheduled', total: '10' })
    expect(toCome.period.start_at).to.equal(now + DAY)
    const over = await shown(await create(now - 3 * DAY, now - DAY))
    expect(over).to.deep.include({ status: 'ended', total: '10' })
    expect(over.period.end_at).to.equal(now - DAY)
  })

  it('are paid from credit, also from that which a line is due and has not given yet', async () => {
    const other = await makeStoredWorld(running, 1, 0)
    const grant = await other.grant({ currency: 'usd', amount: '3', expires_at: now + 40 * DAY })
    const { id } = await other.api.create<{ id: string }>('/v2/contracts', {
      account_id: other.account,
      currency: 'usd',
      cadence: 'month',
      starts_at: now - DAY,
      lines: [{ minimum_amount: '10' }, { credit: { amount: '5', currency: 'usd' } }],
    })
    const answer = await other.api.create<PreviewBody>('/v2/invoice-previews', { contract_id: id })
    expect(answer).to.deep.include({
      total: '10',
      credits_applied: [
        { grant_id: grant, amount: '3' },
        { grant_id: null, amount: '5' },
      ],
      credit_total: '8',
      amount_due: '2',
    })
  })

  it('tell up to when reports were counted', async function () {
    if (running.inside === undefined) return this.skip()
    const { listedUpTo } = running.inside
    const second = listedUpTo.second
    listedUpTo.second = now - 3
    try {
      expect((await preview()).usage_as_of).to.equal(now - 3)
    } finally {
      listedUpTo.second = second
    }
  })

  it('warn of usage below zero, and of a price of the contract that nothing uses', async () => {
    const other = await makeStoredWorld(running, 1, 0)
    const made = await makeAgreement(running, other, {
      ...WORLD,
      contract: {
        ...WORLD.contract,
        lines: [
          {
            id: 'line_card',
            starts_at: START,
            rate_card_id: 'card',
            price_overrides: [{ product_id: 'seats', price_id: 'price_seat' }],
          },
        ],
      },
      events: [event('event_1', 'metric_calls', '-2', 1)],
    })
    const answer = await other.api.create<PreviewBody>('/v2/invoice-previews', {
      contract_id: made.contractId,
    })
    expect(answer.warnings.map(({ code }) => code)).to.have.members(['negative_quantity', 'override_unused'])
    expect(answer.lines.find(({ value }) => value === null)).to.include({ quantity: '-2', amount: '0' })
  })

  const idOf = (label: string): string =>
    [...agreement.ids].find(([name]) => name === label)?.[1] ?? expect.fail(`nothing is called ${label}`)
  const linesOf = async (label: string): Promise<string[]> => {
    const { body } = await world.api.get<{ data: { id: string; description?: string }[] }>(
      `/v2/contracts/${agreement.contractId}/lines`,
    )
    return body.data.filter(({ description }) => description === label).map(({ id }) => id)
  }
})

/** What is tried out has ids of its own, and each preview its time. */
function withoutIds({ lines, ...rest }: PreviewBody) {
  const sorted = lines
    .map((line) => ({ ...line, contract_line_id: '' }))
    .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  return { ...rest, usage_as_of: 0, lines: sorted }
}
