import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { type Answered, ApiClient } from '../../support/api-client.ts'
import { type ContractBody, contractStage, type LineBody } from '../../support/contract-stage.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'

interface Page<T> {
  data: T[]
  has_more: boolean
}

const DAY_S = 86_400
const NONE = '0'.repeat(32)
const PER_UNIT = { model: 'per_unit', unit_amount: '3' }

describe('contracts over HTTP', function () {
  this.timeout(120_000)
  let tally: TallyUnderTest
  let api: ApiClient
  let stage: ReturnType<typeof contractStage>
  let account: string

  before(async () => {
    // Why in one layout: only the API answers, from PostgreSQL, which is the same in the other.
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.key)
    stage = contractStage(api)
  })
  // Each test has a new account, because an account follows one card at a time.
  beforeEach(async () => {
    account = await stage.account()
  })
  after(() => tally.end())

  const now = () => Math.floor(Date.now() / 1_000)
  const post = (body: object) =>
    api.post<ContractBody>('/v2/contracts', { ...stage.basics(account), ...body })
  const change = (id: string, body: object) => api.post<ContractBody>(`/v2/contracts/${id}/changes`, body)
  const expectRefused = (answer: Answered<unknown>, status: number, text: string | RegExp) => {
    expect([answer.status, answer.text]).to.satisfy(
      ([got, said]: [number, string]) =>
        got === status && (typeof text === 'string' ? said === text : text.test(said)),
      `${answer.status} ${answer.text}`,
    )
  }
  const linesOf = async (id: string) => (await api.get<Page<LineBody>>(`/v2/contracts/${id}/lines`)).body.data

  describe('a new contract', () => {
    it('starts now, with its periods, and has no end and no lines, unless something else is said', async () => {
      const from = now()
      const { body } = await post({ currency: 'USD' })
      expect(body.starts_at).to.be.within(from, now())
      expect(body.id).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
      const period = body.current_period
      expect(period?.start_at).to.equal(body.starts_at)
      expect((period?.end_at ?? 0) - body.starts_at).to.be.within(28 * DAY_S, 31 * DAY_S)
      expect(body).to.deep.equal({
        id: body.id,
        account_id: account,
        currency: 'usd',
        cadence: 'month',
        starts_at: body.starts_at,
        anchor_at: body.starts_at,
        ends_at: null,
        status: 'active',
        cancellation: null,
        current_period: { ...period, full_start_at: period?.start_at, full_end_at: period?.end_at },
        created_at: body.created_at,
        updated_at: body.created_at,
        lines: [],
      })
      expect((await api.get(`/v2/contracts/${body.id.toUpperCase()}`)).body).to.deep.equal(body)
    })

    it('has what was said of it', async () => {
      const startsAt = now() - 400 * DAY_S
      const said = {
        starts_at: startsAt,
        anchor_at: startsAt - 10 * DAY_S,
        ends_at: now() + DAY_S,
        cadence: 'week',
        name: 'n',
        description: 'd',
        external_id: `${account} said`,
      }
      const { body } = await post(said)
      expect(body).to.include({ ...said, status: 'active' })
      expect(body.current_period?.end_at).to.be.at.most(said.ends_at)
      const { full_start_at: start = 0, full_end_at: end = 0 } = body.current_period ?? {}
      expect(end - start).to.equal(7 * DAY_S)
      expect((start - said.anchor_at) % (7 * DAY_S)).to.equal(0)
    })

    it('has lines of each kind, in the order they were given in, with their defaults', async () => {
      const [card, product, metric] = await Promise.all([stage.card(), stage.product(), stage.metric()])
      const [own, flat, each] = await Promise.all([
        stage.price({ ...PER_UNIT, product_id: product }),
        stage.price(),
        stage.price(PER_UNIT),
      ])
      const start = now() + 100
      const overrides = [
        { product_id: product, price_id: own },
        { product_id: product, value: null, price_id: own },
        { product_id: product, value: 'large', price_id: own },
      ]
      const { body, status, text } = await post({
        starts_at: start,
        lines: [
          { rate_card_id: card, price_overrides: overrides, discount_percent: '012.50', description: 'd' },
          { price_id: flat, starts_at: start + 5, ends_at: start + 9 },
          { price_id: each, quantity: '2.50', discount_percent: '100' },
          { minimum_amount: '500.00' },
          { credit: { amount: '1', metric_id: metric } },
          { credit: { amount: '2', currency: 'EUR', expires: 'period_end' } },
        ],
      })
      expect(status, text).to.equal(200)
      const shown = body.lines.map(({ id, created_at, ...line }) => {
        expect(id).to.match(/^contract_line_[0-9a-f]{32}$/)
        expect(created_at).to.equal(body.created_at)
        return line
      })
      const open = { starts_at: start, ends_at: null }
      expect(shown).to.deep.equal([
        {
          description: 'd',
          ...open,
          rate_card_id: card,
          price_overrides: overrides,
          discount_percent: '12.5',
        },
        { starts_at: start + 5, ends_at: start + 9, price_id: flat, quantity: '1', discount_percent: '0' },
        { ...open, price_id: each, quantity: '2.5', discount_percent: '100' },
        { ...open, minimum_amount: '500' },
        { ...open, credit: { amount: '1', metric_id: metric, currency: null, expires: 'never' } },
        { ...open, credit: { amount: '2', metric_id: null, currency: 'eur', expires: 'period_end' } },
      ])
      expect(body.status).to.equal('scheduled')
      expect(body.current_period).to.equal(null)
      expect((await api.get(`/v2/contracts/${body.id}`)).body).to.deep.equal(body)
      expect(await linesOf(body.id)).to.deep.equal(body.lines)
    })

    it('starts five years back at most, and ends after it starts', async () => {
      const date = new Date()
      date.setUTCFullYear(date.getUTCFullYear() - 5)
      const earliest = Math.floor(date.getTime() / 1_000)
      expect((await post({ starts_at: earliest + 60 })).status).to.equal(200)
      expectRefused(
        await post({ starts_at: earliest - 2 * DAY_S }),
        422,
        'starts_at: lies more than 5 years back',
      )
      const at = now()
      expectRefused(await post({ starts_at: at, ends_at: at }), 422, 'ends_at: must be after starts_at')
      // A contract may be created after its end.
      expect((await post({ starts_at: at - 100, ends_at: at - 50 })).body.status).to.equal('ended')
      const anchors = [0, 253_402_300_799]
      for (const anchor_at of anchors)
        expect((await post({ anchor_at })).body.current_period).not.to.equal(null)
    })

    it('is of an account that there is and that is not archived', async () => {
      expectRefused(
        await post({ account_id: `account_${NONE}` }),
        422,
        'account_id: there is no such account',
      )
      const before = await stage.contract({ account_id: account })
      await api.create(`/v2/accounts/${account}/archive`, undefined)
      expectRefused(await post({}), 422, 'account_id: the account is archived')
      // Contracts that use the card continue.
      expect((await change(before.id, { add: [{ minimum_amount: '1' }] })).status).to.equal(200)
    })

    it('is in a currency that amounts can be rounded in', async () => {
      for (const currency of ['xau', 'XTS', 'zzz'])
        expectRefused(await post({ currency }), 422, /^currency: .*minor units/)
      expect((await post({ currency: 'JPY' })).body.currency).to.equal('jpy')
    })

    it('has an external id that no other has', async () => {
      const external_id = `${account} unique`
      const { body } = await post({ external_id })
      expectRefused(await post({ external_id }), 409, 'external_id: another contract has it')
      const other = await stage.contract()
      const patched = await api.patch(`/v2/contracts/${other.id}`, { external_id })
      expectRefused(patched, 422, 'external_id: another contract has it')
      expect((await api.patch(`/v2/contracts/${body.id}`, { external_id: null })).status).to.equal(200)
      expect((await api.patch(`/v2/contracts/${other.id}`, { external_id })).status).to.equal(200)
    })

    it('is made once for each Idempotency-Key, and a key of what was refused stays free', async () => {
      const headers = { 'Idempotency-Key': randomUUID() }
      const send = (body: object) =>
        api.post<ContractBody>('/v2/contracts', { ...stage.basics(account), ...body }, { headers })
      expect((await send({ currency: 'xau' })).status).to.equal(422)
      const made = await send({})
      expect(made.status).to.equal(200)
      expectRefused(await send({}), 409, `Idempotency-Key: this key was used before, for ${made.body.id}`)
      const { body } = await api.get<Page<ContractBody>>(`/v2/contracts?account_id=${account}`)
      expect(body.data.length).to.equal(1)
    })
  })

  describe('a line that cannot be is refused, and with it all of the request:', () => {
    let start: number
    beforeEach(() => {
      start = now()
    })

    /** Checks that a line is refused in a new contract and in a change of an existing one. */
    const expectLineRefused = async (line: object, status: number, text: string) => {
      const times = { starts_at: start - 100, ends_at: start + 1_000 }
      expectRefused(
        await post({ ...times, lines: [{ minimum_amount: '1' }, line] }),
        status,
        `lines[1]${text}`,
      )
      const contract = await stage.contract({ account_id: account, ...times })
      expectRefused(await change(contract.id, { add: [line] }), status, `add[0]${text}`)
      expect(await linesOf(contract.id)).to.deep.equal([])
      expect((await api.get(`/v2/contracts/${contract.id}`)).body).to.deep.include({ lines: [] })
    }

    it('one of several kinds, or none', async () => {
      const exactly = ': exactly one of rate_card_id, price_id, minimum_amount, credit is required'
      await expectLineRefused({}, 422, exactly)
      await expectLineRefused({ description: 'd' }, 422, exactly)
      await expectLineRefused({ minimum_amount: '1', price_id: `price_${NONE}` }, 422, exactly)
      await expectLineRefused({ credit: { amount: '1', currency: 'usd' }, minimum_amount: '1' }, 422, exactly)
    })

    it('one with a field of another kind', async () => {
      const cases: [object, string][] = [
        [{ minimum_amount: '1', quantity: '1' }, '.quantity: is not a field of a line with minimum_amount'],
        [
          { credit: { amount: '1', currency: 'usd' }, discount_percent: '1' },
          '.discount_percent: is not a field of a line with credit',
        ],
        [
          { price_id: `price_${NONE}`, price_overrides: [] },
          '.price_overrides: is not a field of a line with price_id',
        ],
        [
          { rate_card_id: `rate_card_${NONE}`, quantity: '1' },
          '.quantity: is not a field of a line with rate_card_id',
        ],
      ]
      for (const [line, text] of cases) await expectLineRefused(line, 400, text)
    })

    it('one whose fields are not what they should be', async () => {
      const cases: [object, string][] = [
        [{ minimum_amount: '-1' }, '.minimum_amount: "-1" is not a decimal number from 0 on such as 12.5'],
        [{ minimum_amount: 1 }, '.minimum_amount: must be text such as "12.5"'],
        [
          { price_id: 'x' },
          '.price_id: "x" is not a price id such as price_2b1c0d9e8f7a46b5c4d3e2f1a0b9c8d7',
        ],
        [{ minimum_amount: '1', colour: 'red' }, '.colour: is not a field of this request'],
        [{ credit: { currency: 'usd' } }, '.credit.amount: is required'],
        [
          { rate_card_id: `rate_card_${NONE}`, price_overrides: [{ price_id: `price_${NONE}` }] },
          '.price_overrides[0].product_id: is required',
        ],
      ]
      for (const [line, text] of cases) await expectLineRefused(line, 400, text)
    })

    it('one outside the contract', async () => {
      const minimum = { minimum_amount: '1' }
      await expectLineRefused(
        { ...minimum, starts_at: start + 1_000 },
        422,
        '.starts_at: lies after the contract',
      )
      await expectLineRefused(
        { ...minimum, starts_at: start + 100, ends_at: start + 1_001 },
        422,
        '.ends_at: lies after the contract',
      )
      await expectLineRefused(
        { ...minimum, starts_at: start + 100, ends_at: start + 100 },
        422,
        '.ends_at: must be after starts_at',
      )
      const early = { ...minimum, starts_at: start - 101 }
      expectRefused(
        await post({ starts_at: start - 100, lines: [early] }),
        422,
        'lines[0].starts_at: lies before the start of the contract',
      )
      const last = { ...minimum, starts_at: start + 999, ends_at: start + 1_000 }
      expect((await post({ ends_at: start + 1_000, lines: [last] })).status).to.equal(200)
    })

    it('credit of nothing, of two things, or that would take usage back', async () => {
      const metric_id = await stage.metric()
      const cases: [object, string][] = [
        [{ amount: '0.0', currency: 'usd' }, '.credit.amount: must be greater than 0'],
        [{ amount: '1' }, '.credit.metric_id, currency: exactly one of them is required'],
        [
          { amount: '1', metric_id, currency: 'usd' },
          '.credit.metric_id, currency: exactly one of them is required',
        ],
        [
          { amount: '1', metric_id, expires: 'period_end' },
          '.credit.expires: period_end is only for credit in a currency',
        ],
        [{ amount: '1', metric_id: `metric_${NONE}` }, '.credit.metric_id: there is no such metric'],
      ]
      for (const [credit, text] of cases) await expectLineRefused({ credit }, 422, text)
      const gold = await post({ lines: [{ credit: { amount: '1', currency: 'xau' } }] })
      expectRefused(gold, 422, /^lines\[0\]\.credit\.currency: .*minor units/)
    })

    it('a price that there is not, is archived, or is in another currency', async () => {
      await expectLineRefused({ price_id: `price_${NONE}` }, 422, '.price_id: there is no such price')
      const euros = await stage.price({ model: 'flat', amount: '1', currency: 'eur' })
      await expectLineRefused({ price_id: euros }, 422, '.price_id: the price is not in usd')
      const old = await stage.price()
      const before = await stage.contract({ lines: [{ price_id: old }] })
      await api.create(`/v2/prices/${old}/archive`, undefined)
      await expectLineRefused({ price_id: old }, 422, '.price_id: the price is archived')
      expect((await linesOf(before.id)).length).to.equal(1)
    })

    it('a price that no stated quantity can feed', async () => {
      const percentage = await stage.price({ model: 'percentage', percent: '2.9' })
      await expectLineRefused(
        { price_id: percentage },
        422,
        '.price_id: the price is a percentage, which needs usage: put it into a rate of a card',
      )
      const flat = await stage.price()
      await expectLineRefused(
        { price_id: flat, quantity: '1' },
        422,
        '.quantity: a flat price has no quantity',
      )
      const once = await stage.price({ model: 'flat', amount: '1', recurring: false })
      const package_ = await stage.price({ model: 'package', package_size: '10', package_amount: '1' })
      const tiers = [{ up_to: null, unit_amount: '1' }]
      const volume = await stage.price({ model: 'volume', tiers })
      const lines = [once, package_, volume].map((price_id) => ({ price_id }))
      expect((await post({ lines })).status).to.equal(200)
    })

    it('a discount of more than everything', async () => {
      const price_id = await stage.price()
      await expectLineRefused(
        { price_id, discount_percent: '100.000000000000000001' },
        422,
        '.discount_percent: must be at most 100',
      )
    })

    it('a card that there is not, is archived, or is in another currency', async () => {
      await expectLineRefused(
        { rate_card_id: `rate_card_${NONE}` },
        422,
        '.rate_card_id: there is no such rate card',
      )
      const euros = await stage.card({ currency: 'eur' })
      await expectLineRefused({ rate_card_id: euros }, 422, '.rate_card_id: the rate card is not in usd')
      const old = await stage.card()
      await stage.contract({ lines: [{ rate_card_id: old }] })
      await api.create(`/v2/rate-cards/${old}/archive`, undefined)
      await expectLineRefused({ rate_card_id: old }, 422, '.rate_card_id: the rate card is archived')
    })

    it('a price of its own that cannot stand in the place of the card’s', async () => {
      const [rate_card_id, product_id, euros] = await Promise.all([
        stage.card(),
        stage.product(),
        stage.price({ ...PER_UNIT, currency: 'eur' }),
      ])
      const price_id = await stage.price({ ...PER_UNIT, product_id })
      const refusedOverrides = (price_overrides: object[], text: string) =>
        expectLineRefused({ rate_card_id, price_overrides }, 422, text)
      const none = { product_id, value: 'x', price_id: `price_${NONE}` }
      await refusedOverrides(
        [{ product_id, price_id }, none],
        '.price_overrides[1].price_id: there is no such price',
      )
      await refusedOverrides(
        [{ product_id, price_id: euros }],
        '.price_overrides[0].price_id: the price is not in usd',
      )
      const other = await stage.price(PER_UNIT)
      await refusedOverrides(
        [{ product_id, price_id: other }],
        '.price_overrides[0].price_id: the price is of another product',
      )
      const once = await stage.price({ model: 'flat', amount: '1', recurring: false, product_id })
      await refusedOverrides(
        [{ product_id, price_id: once }],
        '.price_overrides[0].price_id: the price is due once, but a card charges in every period',
      )
      for (const twice of [{}, { value: null }, { value: 'x' }])
        await refusedOverrides(
          [
            { product_id, price_id, ...twice },
            { product_id, price_id, ...twice },
          ],
          '.price_overrides[1]: another override has the same product and value',
        )
      const old = await stage.price({ ...PER_UNIT, product_id })
      await api.create(`/v2/prices/${old}/archive`, undefined)
      await refusedOverrides(
        [{ product_id, price_id: old }],
        '.price_overrides[0].price_id: the price is archived',
      )
    })

    it('a price of its own that nothing the card rates of the product can feed', async () => {
      const [metric_id, used, fixed, both] = await Promise.all([
        stage.metric(),
        stage.product(),
        stage.product(),
        stage.product(),
      ])
      const priceOf = (product_id: string, terms: object) => stage.price({ ...terms, product_id })
      const flat = { model: 'flat', amount: '1' }
      const percentage = { model: 'percentage', percent: '1' }
      const rate_card_id = await stage.card({
        rates: [
          { metric_id, price_id: await priceOf(used, PER_UNIT) },
          { price_id: await priceOf(fixed, flat) },
          { metric_id, aggregation: 'count', price_id: await priceOf(both, PER_UNIT) },
          { price_id: await priceOf(both, flat) },
          { currency: 'eur', price_id: await priceOf(await stage.product(), PER_UNIT) },
        ],
      })
      const line = async (product_id: string, terms: object) => ({
        rate_card_id,
        price_overrides: [{ product_id, price_id: await priceOf(product_id, terms) }],
      })
      const own = '.price_overrides[0].price_id: the price is '
      await expectLineRefused(await line(used, flat), 422, `${own}flat, so usage has no effect on it`)
      await expectLineRefused(
        await line(fixed, PER_UNIT),
        422,
        `${own}no flat, recurring price, and without metric_id or currency there is no usage`,
      )
      for (const [product, terms] of [
        [used, percentage],
        [fixed, flat],
        [both, flat],
        [both, PER_UNIT],
        [await stage.product(), flat],
      ] as const) {
        account = await stage.account()
        const answer = await post({ lines: [await line(product, terms)] })
        expect(answer.status, answer.text).to.equal(200)
      }
    })

    it('a percentage of its own of what is in another currency', async () => {
      const product_id = await stage.product()
      const rate_card_id = await stage.card({
        rates: [{ currency: 'eur', price_id: await stage.price({ ...PER_UNIT, product_id }) }],
      })
      const price_id = await stage.price({ model: 'percentage', percent: '1', product_id })
      await expectLineRefused(
        { rate_card_id, price_overrides: [{ product_id, price_id }] },
        422,
        '.price_overrides[0].price_id: the price is a percentage of eur: there is no exchange into usd',
      )
    })

    it('two cards at a time, of one contract or of two', async () => {
      const [first, second] = [await stage.card(), await stage.card()]
      const both = await post({ lines: [{ rate_card_id: first }, { rate_card_id: second }] })
      expectRefused(
        both,
        409,
        /^lines\[1\]\.rate_card_id: the contract already follows a rate card at that time/,
      )
      const { body } = await post({
        starts_at: start,
        ends_at: start + 500,
        lines: [{ rate_card_id: first }],
      })
      expectRefused(
        await post({ lines: [{ rate_card_id: second }] }),
        409,
        'lines: the account already follows a rate card at that time, and can follow only one at a time',
      )
      expect((await api.get<Page<unknown>>(`/v2/contracts?account_id=${account}`)).body.data.length).to.equal(
        1,
      )
      const later = { rate_card_id: second, starts_at: start + 400 }
      expectRefused(
        await change(body.id, { effective_at: start + 400, add: [later] }),
        409,
        /^add\[0\]\.rate_card_id: the contract already follows a rate card at that time/,
      )
      expect((await post({ starts_at: start + 500, lines: [{ rate_card_id: second }] })).status).to.equal(200)
      const third = await stage.contract({ account_id: account, starts_at: start })
      expectRefused(
        await change(third.id, { effective_at: start + 600, add: [{ rate_card_id: first }] }),
        409,
        'add: the account already follows a rate card at that time, and can follow only one at a time',
      )
    })

    it('two minimums of a contract at a time', async () => {
      const lines = [
        { minimum_amount: '1', ends_at: start + 50 },
        { minimum_amount: '2', starts_at: start + 49 },
      ]
      expectRefused(
        await post({ starts_at: start, lines }),
        422,
        /^lines\[1\]\.minimum_amount: the contract already has a minimum at that time/,
      )
      const after = [lines[0], { minimum_amount: '2', starts_at: start + 50 }]
      const { body } = await post({ starts_at: start, lines: after })
      expectRefused(
        await change(body.id, { effective_at: start + 100, add: [{ minimum_amount: '3' }] }),
        422,
        /^add\[0\]\.minimum_amount: the contract already has a minimum at that time/,
      )
    })

    it('more than 200 that are not ended', async () => {
      const credit = { credit: { amount: '1', currency: 'usd' } }
      const { body } = await post({ starts_at: start - 100, lines: Array(200).fill(credit) })
      expect(body.lines.length).to.equal(200)
      const more = await change(body.id, { add: [credit] })
      expectRefused(more, 422, 'a contract can have at most 200 lines that have not ended')
      const [first, last] = [body.lines.at(0)?.id, body.lines.at(-1)?.id]
      const moved = await change(body.id, { end: [first, last], add: [credit, credit] })
      expect(moved.body.lines.length, moved.text).to.equal(200)
      const all = []
      for (let after = ''; ; after = `&starting_after=${all.at(-1)?.id ?? ''}`) {
        const page = await api.get<Page<LineBody>>(`/v2/contracts/${body.id}/lines?limit=67${after}`)
        all.push(...page.body.data)
        if (!page.body.has_more) break
      }
      expect(all.map(({ id }) => id).slice(0, 200)).to.deep.equal(body.lines.map(({ id }) => id))
      expect(all.length).to.equal(202)
      expect((await post({ lines: Array(201).fill(credit) })).text).to.match(
        /^lines: must NOT have more than 200/,
      )
    })
  })

  describe('PATCH', () => {
    it('changes what is named and nothing else, and clears with null', async () => {
      const made = await stage.contract({ account_id: account, lines: [{ minimum_amount: '1' }] })
      let expected: object = made
      for (const field of ['name', 'description', 'external_id'] as const) {
        const value = `${account} ${field}`
        const answer = await api.patch<ContractBody>(`/v2/contracts/${made.id}`, { [field]: value })
        expected = { ...expected, [field]: value, updated_at: answer.body.updated_at }
        expect(answer.body).to.deep.equal(expected)
      }
      expect((await api.patch(`/v2/contracts/${made.id}`, {})).body).to.deep.equal(expected)
      const cleared = await api.patch<object>(`/v2/contracts/${made.id}`, {
        name: null,
        description: null,
        external_id: null,
      })
      expect(cleared.body).not.to.have.any.keys('name', 'description', 'external_id')
      for (const field of ['currency', 'cadence', 'starts_at', 'anchor_at', 'account_id', 'lines', 'status'])
        expectRefused(
          await api.patch(`/v2/contracts/${made.id}`, { [field]: null }),
          400,
          `${field}: is not a field of this request`,
        )
    })

    it('moves the end to a later time alone, or takes it away', async () => {
      const end = now() + 1_000
      const { id } = await stage.contract({ account_id: account, ends_at: end })
      const move = (ends_at: number | null) => api.patch<ContractBody>(`/v2/contracts/${id}`, { ends_at })
      const earlier = /^ends_at: can only be moved to a later time/
      expectRefused(await move(end - 1), 422, earlier)
      expect((await move(end)).body.ends_at).to.equal(end)
      expect((await move(end + 1)).body.ends_at).to.equal(end + 1)
      expect((await move(null)).body.ends_at).to.equal(null)
      expect((await move(null)).status).to.equal(200)
      expectRefused(await move(end + 9_999), 422, earlier)
    })

    it('does not let a contract go on when the account follows another card by then', async () => {
      const [start, rate_card_id] = [now(), await stage.card()]
      const lines = [{ rate_card_id }]
      const { id } = await stage.contract({
        account_id: account,
        starts_at: start,
        ends_at: start + 100,
        lines,
      })
      await stage.contract({ account_id: account, starts_at: start + 200, lines })
      const move = (ends_at: number | null) => api.patch(`/v2/contracts/${id}`, { ends_at })
      expect((await move(start + 200)).status).to.equal(200)
      const taken =
        'ends_at: the account already follows a rate card at that time, and can follow only one at a time'
      expectRefused(await move(start + 201), 409, taken)
      expectRefused(await move(null), 409, taken)
    })
  })

  describe('a change', () => {
    it('ends lines and adds others at one time, and shows what is not ended', async () => {
      const at = now() + 1_000
      const [card, next] = [await stage.card(), await stage.card()]
      const made = await stage.contract({
        account_id: account,
        lines: [
          { rate_card_id: card },
          { minimum_amount: '1' },
          { credit: { amount: '1', currency: 'usd' } },
        ],
      })
      const [followed = '', minimum = '', credit = ''] = made.lines.map(({ id }) => id)
      const { body, text } = await change(made.id, {
        effective_at: at,
        end: [followed, minimum],
        add: [{ rate_card_id: next }, { minimum_amount: '2', starts_at: at + 5 }],
      })
      expect(
        body.lines.map(({ id, starts_at, ends_at }) => [id, starts_at, ends_at]).slice(0, 3),
        text,
      ).to.deep.equal([
        [followed, made.starts_at, at],
        [minimum, made.starts_at, at],
        [credit, made.starts_at, null],
      ])
      const added = body.lines.slice(3)
      expect(added.map(({ starts_at, ends_at }) => [starts_at, ends_at])).to.deep.equal([
        [at, null],
        [at + 5, null],
      ])
      expect(body.updated_at).to.be.at.least(made.updated_at)
      // The line is withdrawn before it begins, so it is never in force.
      const withdrawn = await change(made.id, { effective_at: at + 5, end: [added[1]?.id] })
      expect(withdrawn.body.lines.length, withdrawn.text).to.equal(4)
      expect((await linesOf(made.id)).at(-1)).to.deep.include({ starts_at: at + 5, ends_at: at + 5 })
      const instead = await change(made.id, { effective_at: at + 5, add: [{ minimum_amount: '3' }] })
      expect(instead.body.lines.length, instead.text).to.equal(5)
    })

    it('takes effect now unless something else is said', async () => {
      const made = await stage.contract({
        account_id: account,
        starts_at: now() - 100,
        lines: [{ minimum_amount: '1' }],
      })
      const from = now()
      const { body } = await change(made.id, { end: [made.lines[0]?.id], add: [{ minimum_amount: '2' }] })
      expect(body.lines.map(({ minimum_amount }) => minimum_amount)).to.deep.equal(['2'])
      const [old, line] = await linesOf(made.id)
      expect(old?.ends_at).to.be.within(from, now())
      expect(line?.starts_at).to.equal(old?.ends_at)
    })

    it('of nothing changes nothing', async () => {
      const made = await stage.contract({ account_id: account })
      expect((await change(made.id, {})).body).to.deep.equal(made)
    })

    it('lies within the contract and not before now, and ends what is in force then', async () => {
      const at = now()
      const other = await stage.contract({ lines: [{ minimum_amount: '1' }] })
      const made = await stage.contract({
        account_id: account,
        starts_at: at + 100,
        ends_at: at + 200,
        lines: [{ minimum_amount: '1', ends_at: at + 150 }],
      })
      const line = made.lines[0]?.id
      const cases: [object, string][] = [
        [{ effective_at: at - 60 }, 'effective_at: lies in the past'],
        [{}, 'effective_at: lies before the start of the contract'],
        [{ effective_at: at + 99 }, 'effective_at: lies before the start of the contract'],
        [{ effective_at: at + 200 }, 'effective_at: lies after the contract'],
        [{ effective_at: at + 150, end: [line] }, `end: ${line} is not in force at the time of the change`],
        [
          { effective_at: at + 100, end: [other.lines[0]?.id] },
          `end: ${other.lines[0]?.id} is not in force at the time of the change`,
        ],
        [
          { effective_at: at + 120, add: [{ minimum_amount: '1', starts_at: at + 119 }] },
          'add[0].starts_at: lies before effective_at',
        ],
      ]
      for (const [body, text] of cases) expectRefused(await change(made.id, body), 422, text)
      expect((await api.get(`/v2/contracts/${made.id}`)).body).to.deep.equal(made)
      const ended = await change(made.id, { effective_at: at + 149, end: [line, line] })
      expect(ended.body.lines[0]?.ends_at, ended.text).to.equal(at + 149)
      expect((await change(made.id, { effective_at: at + 149, end: [line] })).status).to.equal(422)
    })

    it('is made once for each Idempotency-Key, which names one way of changing', async () => {
      const { id } = await stage.contract({ account_id: account })
      const headers = { 'Idempotency-Key': randomUUID() }
      const send = (verb: string, body: object) => api.post(`/v2/contracts/${id}/${verb}`, body, { headers })
      const credit = { credit: { amount: '1', currency: 'usd' } }
      expect((await send('changes', { add: [credit] })).status).to.equal(200)
      expectRefused(
        await send('changes', { add: [credit] }),
        409,
        `Idempotency-Key: this key was used before, for ${id}`,
      )
      expect((await linesOf(id)).length).to.equal(1)
      expect((await send('cancel', { mode: 'period_end' })).status).to.equal(200)
      expect((await send('cancel', { mode: 'immediate' })).status).to.equal(409)
      expect((await send('uncancel', {})).status).to.equal(200)
      expect((await send('uncancel', {})).status).to.equal(409)
    })

    it('asks for what it takes', async () => {
      const { id } = await stage.contract({ account_id: account })
      const cases: [string, object, number, RegExp][] = [
        ['changes', { effective_at: 'x' }, 400, /^effective_at: must be a whole number/],
        ['changes', { end: ['x'] }, 400, /^end\[0\]: "x" is not a contract line id/],
        ['changes', { remove: [] }, 400, /^remove: is not a field/],
        ['cancel', {}, 400, /^mode: is required/],
        ['cancel', { mode: 'soon' }, 400, /^mode: /],
        ['cancel', { mode: 'at' }, 422, /^cancel_at: is required by the mode at/],
        ['cancel', { mode: 'immediate', cancel_at: 9 }, 422, /^cancel_at: only goes with the mode at/],
        ['uncancel', { mode: 'at' }, 400, /^mode: is not a field/],
      ]
      for (const [verb, body, status, text] of cases)
        expectRefused(await api.post(`/v2/contracts/${id}/${verb}`, body), status, text)
    })
  })

  describe('lists', () => {
    it('hold contracts of an account, that ever followed a card, and by external id, without lines', async () => {
      const [rate_card_id, other] = [await stage.card(), await stage.card()]
      const start = now()
      const past = { starts_at: start - 100, ends_at: start - 50, lines: [{ rate_card_id }] }
      const ended = await stage.contract({ account_id: account, ...past })
      const changed = await stage.contract({
        account_id: account,
        starts_at: start - 40,
        lines: [
          { rate_card_id, ends_at: start - 20 },
          { rate_card_id: other, starts_at: start - 20 },
        ],
        external_id: `${account} listed`,
      })
      const third = await stage.contract({ account_id: account })
      const elsewhere = await stage.contract({ lines: [{ rate_card_id }] })
      const list = async (query: string) => {
        const { body } = await api.get<Page<ContractBody>>(`/v2/contracts?${query}`)
        for (const item of body.data) expect(item).not.to.have.property('lines')
        return body.data.map(({ id }) => id)
      }
      expect(await list(`account_id=${account}`)).to.deep.equal([ended.id, changed.id, third.id])
      expect(await list(`rate_card_id=${rate_card_id}`)).to.deep.equal([ended.id, changed.id, elsewhere.id])
      expect(await list(`rate_card_id=${rate_card_id}&limit=1&starting_after=${ended.id}`)).to.deep.equal([
        changed.id,
      ])
      expect(await list(`rate_card_id=${rate_card_id}&order=newest`)).to.deep.equal([
        elsewhere.id,
        changed.id,
        ended.id,
      ])
      expect(
        await list(`rate_card_id=${rate_card_id}&order=newest&starting_after=${changed.id}`),
      ).to.deep.equal([ended.id])
      expect(await list(`rate_card_id=${other}`)).to.deep.equal([changed.id])
      expect(await list(`rate_card_id=${rate_card_id}&account_id=${account}`)).to.deep.equal([
        ended.id,
        changed.id,
      ])
      const named = `external_id=${encodeURIComponent(`${account} listed`)}`
      expect(await list(named)).to.deep.equal([changed.id])
      expect(await list(`${named}&rate_card_id=${other}`)).to.deep.equal([changed.id])
      expect(await list(`${named}&account_id=${elsewhere.account_id}`)).to.deep.equal([])
      const { lines, ...withoutLines } = (await api.get<ContractBody>(`/v2/contracts/${changed.id}`)).body
      const { body } = await api.get<Page<ContractBody>>(`/v2/contracts?${named}`)
      expect([body.data, lines.length]).to.deep.equal([[withoutLines], 1])
    })

    it('of lines know no line of another contract', async () => {
      const lines = [{ minimum_amount: '1' }]
      const [one, two] = [await stage.contract({ lines }), await stage.contract({ lines })]
      const answer = await api.get(`/v2/contracts/${one.id}/lines?starting_after=${two.lines[0]?.id ?? ''}`)
      expectRefused(answer, 400, 'starting_after: no item of this list has that id')
    })

    it('of grants can be asked for those of a contract', async () => {
      const contract = await stage.contract({ account_id: account })
      const grant = async (fields: object) =>
        (
          await api.create<{ id: string }>('/v2/grants', {
            account_id: account,
            currency: 'usd',
            amount: '1',
            effective_at: 0,
            ...fields,
          })
        ).id
      const other = await stage.account()
      const contract_v1_id = contract.id
      const ids = [
        await grant({ contract_v1_id }),
        await grant({ contract_v1_id: contract_v1_id.toUpperCase(), currency: 'eur' }),
        await grant({ contract_v1_id, account_id: other }),
      ]
      await grant({})
      await grant({ contract_v1_id: randomUUID() })
      const list = async (query: string) =>
        (await api.get<Page<{ id: string }>>(`/v2/grants?${query}`)).body.data.map(({ id }) => id)
      const ofContract = `contract_v1_id=${contract_v1_id.toUpperCase()}`
      expect(await list(ofContract)).to.deep.equal(ids)
      expect(await list(`${ofContract}&limit=1&starting_after=${ids[0]}`)).to.deep.equal([ids[1]])
      expect(await list(`${ofContract}&account_id=${account}`)).to.deep.equal(ids.slice(0, 2))
      expect(await list(`${ofContract}&account_id=${account}&currency=eur`)).to.deep.equal([ids[1]])
      expect(await list(`${ofContract}&currency=usd`)).to.deep.equal([ids[0], ids[2]])
      expect(await list(`contract_v1_id=${randomUUID()}`)).to.deep.equal([])
      expectRefused(await api.get('/v2/grants?contract_v1_id=x'), 400, /^contract_v1_id: "x" is not a UUID/)
    })
  })
})
