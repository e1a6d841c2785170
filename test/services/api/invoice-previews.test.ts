import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { giveContractCredits } from '../../../services/refill/give-contract-credits.ts'
import { parseAmount } from '../../../shared/amount/amount.ts'
import { queryRows } from '../../../shared/clickhouse/clickhouse.ts'
import { newId } from '../../../shared/domain/ids.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { grantRepository } from '../../../shared/postgres/grants.ts'
import { type Agreement, makeAgreement, type PreviewBody } from '../../support/billing-over-http.ts'
import type { InvoiceCase } from '../../support/billing-vectors.ts'
import { testLog } from '../../support/log.ts'
import { type RunningApi, startApi } from '../../support/start-api.ts'
import { makeStoredWorld, type StoredWorld } from '../../support/stored-world.ts'
import { until } from '../../support/until.ts'

const DAY = 86_400
const now = Math.floor(Date.now() / 1_000)
const START = now - 10 * DAY
/** At most three queries: the state of the rollups (cached for a second), the marks, and usage. */
const CLICKHOUSE_MAX = 3
const NO_CONTRACT = '00000000-0000-4000-8000-000000000000'

/** A contract ten days after the start of a month: seats, calls by region, and storage without a rate. */
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
        group_by: 'cloud.region-id',
        prices: [{ value: 'eu', price_id: 'price_eu' }],
        price_id: 'price_rest',
      },
    ],
  },
  events: [
    event('event_1', 'metric_calls', '3', 1, { 'cloud.region-id': 'eu' }),
    event('event_2', 'metric_calls', '4', 2, { 'cloud.region-id': 'us' }),
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
    // A value without usage has no line.
    expect(amounts(await preview({ as_of: occurredAt }))).to.deep.equal({
      'line_card eu': '6',
      'line_seats -': '120',
    })
    expect(amounts(await preview({ as_of: occurredAt + 1 }))).to.include({ 'line_card -': '4' })
  })

  it('show the query of each line, which gives its quantity', async () => {
    // The view is in the analysts' database; here the test reads it with the rights of the services.
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
        ? {
            group_by: 'cloud.region-id',
            prices: [{ value: 'eu', price_id: 'price_eu' }],
            price_id: 'price_rest',
          }
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

  it('show the invoice with a change, exactly as it is after the change, and change nothing', async () => {
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

  it('show the credit that a change gives at once', async () => {
    const before = await preview()
    const add = [{ credit: { amount: '7.25', currency: 'usd' } }]
    const tried = await preview({ changes: { add } })
    expect([before.credit_total, tried.credit_total]).to.deep.equal(['0', '7.25'])
    expect((await preview()).credit_total).to.equal('0')
  })

  it('show the invoice with a cancellation, exactly as it is after it, and cancel nothing', async () => {
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

  it('can be compared with what is: as of the second they are of', async () => {
    const tried = await preview({ changes: { add: [{ minimum_amount: '100000' }] } })
    const { as_of } = tried
    expect(as_of).to.be.above(now)
    const plain = await preview({ as_of })
    expect([plain.as_of, tried.total === plain.total]).to.deep.equal([as_of, false])
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

  describe('as they were known', () => {
    it('count what was accepted before, as of then, and show no query', async () => {
      const known = START + 2 * DAY
      const answer = await preview({ known_at: known })
      expect(answer).to.include({ as_of: known, usage_as_of: known, status: 'active' })
      expect(amounts(answer)).to.include({ 'line_card eu': '6' }).and.not.to.have.property('line_card -')
      // An event that was accepted in the second of known_at does not count.
      expect(amounts(await preview({ known_at: known + 1 }))).to.include({ 'line_card -': '4' })
      const later = await preview({ known_at: known, as_of: now })
      expect(later).to.include({ as_of: now, usage_as_of: known })
      expect(later.lines.map(({ query }) => query)).to.deep.equal(later.lines.map(() => null))
      expect(answer).not.to.have.property('difference')
    })

    it('are of the period and the status of then', async () => {
      const { account, api } = await makeStoredWorld(running, 1, 0)
      const { id: contract_id } = await api.create<{ id: string }>('/v2/contracts', {
        account_id: account,
        currency: 'usd',
        cadence: 'day',
        starts_at: now - 5 * DAY,
        ends_at: now - DAY,
        lines: [{ minimum_amount: '10' }],
      })
      const known = async (known_at: number) => {
        const { status, period } = await api.create<PreviewBody>('/v2/invoice-previews', {
          contract_id,
          known_at,
        })
        return { status, from: period.start_at }
      }
      expect(await known(now - 6 * DAY)).to.deep.equal({ status: 'scheduled', from: now - 5 * DAY })
      expect(await known(now - 3 * DAY)).to.deep.equal({ status: 'active', from: now - 3 * DAY })
      expect(await known(now - DAY)).to.deep.equal({ status: 'ended', from: now - 2 * DAY })
    })

    it('tell what has come since, line by line and event by event', async () => {
      const [then, known] = [START + 2 * DAY, START + 9 * DAY + 1]
      const answer = await preview({ known_at: known, difference_since: then, as_of: known })
      const { difference, ...rest } = answer
      expect(rest).to.deep.equal(await preview({ known_at: known, as_of: known }))
      const before = await preview({ known_at: then, as_of: known })
      if (difference === undefined) return expect.fail('no difference was told')
      const { lines, events } = difference
      expect(
        lines.map(({ contract_line_id: line, value, quantity, amount }) => ({
          line: agreement.labels.get(line),
          value,
          quantity,
          amount,
        })),
      ).to.deep.include.members([
        {
          line: 'line_card',
          value: 'eu',
          quantity: { then: '3', now: '3', difference: '0' },
          amount: { then: '6', now: '6', difference: '0' },
        },
        {
          line: 'line_card',
          value: null,
          quantity: { then: null, now: '4.5', difference: '4.5' },
          amount: { then: null, now: '4.5', difference: '4.5' },
        },
      ])
      expect(difference).to.deep.include({
        since: then,
        total: { then: before.total, now: answer.total, difference: '4.5' },
        has_more: false,
      })
      const [card] = answer.lines.filter(({ value }) => value === 'eu')
      expect(events.map(({ occurred_at, then: was, now: is }) => [occurred_at, was, is])).to.deep.equal(
        [
          [2, '4', true],
          [3, '7', false],
          [9, '0.5', true],
        ].map(([day, quantity, isRated]) => [
          START + Number(day) * DAY,
          null,
          {
            quantity,
            voided: false,
            lines:
              isRated === true
                ? [
                    {
                      contract_line_id: card?.contract_line_id,
                      rate_id: card?.rate_id,
                      value: null,
                      start_at: START,
                    },
                  ]
                : [],
          },
        ]),
      )
    })

    it('are those of what would be, then and now, as anything else', async () => {
      const cancel_at = now + 3 * DAY
      const known_at = START + 9 * DAY + 1
      const body = { known_at, as_of: known_at, cancel_at }
      const answer = await preview({ ...body, difference_since: START + 2 * DAY })
      const { difference, ...rest } = answer
      expect(rest).to.deep.equal(await preview(body))
      expect(rest.period.end_at).to.equal(cancel_at)
      const then = await preview({ ...body, known_at: START + 2 * DAY })
      expect(difference?.total).to.include({ then: then.total, now: rest.total, difference: '4.5' })
    })

    it('tell of the first hundred events, and that there are more', async () => {
      const other = await makeStoredWorld(running, 1, 0)
      const events = (count: number) =>
        Array.from({ length: count }, (_, n) => ({
          ...event(`event_${String(n).padStart(3, '0')}`, 'metric_calls', '1', 1),
          accepted_at: START + DAY + n,
        }))
      const differenceOf = async (contract_id: string) => {
        const body = { contract_id, difference_since: START }
        return (await other.api.create<PreviewBody>('/v2/invoice-previews', body)).difference
      }
      const made = await makeAgreement(running, other, { ...WORLD, events: events(101) })
      const difference = await differenceOf(made.contractId)
      expect(difference?.events).to.have.length(100)
      expect(difference?.has_more).to.equal(true)
      expect(difference?.events.map(({ accepted_at }) => accepted_at)).to.deep.equal(
        events(100).map(({ accepted_at }) => accepted_at),
      )
      const same = { contract_id: made.contractId, known_at: START + DAY + 100, difference_since: START }
      const one = await other.api.create<PreviewBody>('/v2/invoice-previews', same)
      expect(one.difference?.events).to.have.length(100)
      expect(one.difference?.has_more).to.equal(false)
    })

    it('are paid from what had been given by then, and from credit that was due and not written', async () => {
      const other = await makeStoredWorld(running, 1, 0)
      const { id: contract_id } = await other.api.create<{ id: string }>('/v2/contracts', {
        account_id: other.account,
        currency: 'usd',
        cadence: 'day',
        starts_at: now - 3 * DAY,
        lines: [{ minimum_amount: '10' }, { credit: { amount: '5', currency: 'usd' } }],
      })
      const at = now - 3 * DAY
      const grants = [await other.grant({ currency: 'usd', amount: '3' })]
      const known_at = await until(async () => {
        const body = { contract_id, at }
        const { usage_as_of } = await other.api.create<PreviewBody>('/v2/invoice-previews', body)
        return usage_as_of > Date.now() / 1_000 - 1.9 && usage_as_of
      })
      const known = (second = known_at) =>
        other.api.post<PreviewBody>('/v2/invoice-previews', { contract_id, at, known_at: second })
      const before = await known()
      // A grant that is made in the second of known_at or later does not count.
      const giveCredits = giveContractCredits({
        pool: running.pool,
        nowOf: () => Promise.resolve(new Date()),
        metrics: { credited: () => undefined },
        log: testLog,
      })
      await giveCredits(new Set([other.namespaceId]), new AbortController().signal)
      grants.push(await other.grant({ currency: 'usd', amount: '100' }))
      await other.api.create(`/v2/grants/${grants[0] ?? ''}/void`, {})
      expect((await known()).text).to.equal(before.text)
      expect(before.body.credits_applied.filter(({ grant_id }) => grant_id === null)).to.deep.equal([
        { grant_id: null, amount: '5' },
      ])
      const after = await until(async () => {
        const answer = await known(known_at + 5)
        return answer.status === 200 && answer.body
      })
      expect(after.credits_applied.some(({ grant_id }) => grant_id === null)).to.equal(false)
      expect(after.credit_total).to.equal('10')
    })

    it('are of no time at which something may still turn up', async function () {
      const other = await makeStoredWorld(running, 1, 0)
      const { contractId: contract_id } = await makeAgreement(running, other, { ...WORLD, events: [] })
      const last = async () =>
        (await other.api.create<PreviewBody>('/v2/invoice-previews', { contract_id })).usage_as_of
      let commit: () => void = () => undefined
      const released = new Promise<void>((resolve) => (commit = resolve))
      let createdAt = 0
      const giving = inNamespace(running.pool, other.namespaceId, async (db) => {
        const grant = await grantRepository(db).insert(other.namespaceId, {
          id: newId('grant'),
          accountId: other.account,
          source: 'usd',
          amount: parseAmount('1'),
          description: null,
          contractId: null,
          effectiveAt: new Date(0),
          expiresAt: null,
        })
        createdAt = grant.createdAt.getTime() / 1_000
        await released
      })
      await until(() => Promise.resolve(createdAt > 0))
      await sleep(2_500)
      const meanwhile = await last()
      expect(meanwhile).to.be.at.most(createdAt)
      const ask = (body: object) => other.api.post('/v2/invoice-previews', { contract_id, ...body })
      for (const field of ['known_at', 'difference_since']) {
        const { status, text } = await ask({ [field]: Math.ceil(createdAt) + 1 })
        expect(status, field).to.equal(422)
        expect(text).to.match(new RegExp(field))
      }
      commit()
      await giving
      await until(async () => (await last()) > createdAt)
      const { status, text } = await ask({ known_at: START + 5, difference_since: START + 6 })
      expect(status).to.equal(422)
      expect(text).to.match(/difference_since/)
      expect((await ask({ known_at: START + 5, difference_since: START + 5 })).status).to.equal(200)
    })

    it('ask as much for many lines as for one', async function () {
      if (running.inside === undefined) return this.skip()
      const { counts } = running.inside
      const other = await makeStoredWorld(running, 1, 0)
      const rates = Array.from({ length: 50 }, (_, n) => ({
        id: `rate_${n}`,
        source: `metric_${n}`,
        aggregation: 'sum' as const,
        starts_at: 0,
        price_id: 'price_rest',
      }))
      const many = await makeAgreement(running, other, { ...WORLD, rate_cards: { card: rates } })
      const asked: number[] = []
      for (const [{ api }, contract_id] of [
        [world, agreement.contractId],
        [other, many.contractId],
      ] as const) {
        counts.clear()
        await api.create('/v2/invoice-previews', { contract_id, known_at: now - 5, difference_since: START })
        // Queries: the events as of both times, the changed events, and their replaced versions.
        expect(counts.clickhouse).to.have.length(4)
        asked.push(counts.postgres.length)
      }
      expect(asked[0]).to.equal(asked[1])
    })
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

/** Removes ids and times, because a what-if has new ids and each preview has another time. */
function withoutIds({ lines, ...rest }: PreviewBody) {
  const sorted = lines
    .map((line) => ({ ...line, contract_line_id: '' }))
    .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  return { ...rest, usage_as_of: 0, lines: sorted }
}
