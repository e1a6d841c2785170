import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { newId } from '../../../shared/domain/ids.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { rateCardRepository } from '../../../shared/postgres/rate-cards.ts'
import { rateRepository } from '../../../shared/postgres/rates.ts'
import { ApiClient } from '../../support/api-client.ts'
import { namespaceOf, openPoolByHand } from '../../support/by-hand.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'

interface Rate {
  id: string
  metric_id: string | null
  starts_at: number
  ends_at?: number
  filters: object[]
  prices?: { value: string; price_id: string }[]
  price_id?: string
}
interface Card {
  id: string
  name: string
  created_at: number
  updated_at: number
  archived_at: number | null
  rates: Rate[]
}
interface Page<T> {
  data: T[]
  has_more: boolean
}

const ROUNDS = 10
const unknown = (prefix: string) => `${prefix}_${'0'.repeat(32)}`

describe('rate cards over HTTP', function () {
  this.timeout(120_000)
  let tally: TallyUnderTest
  let api: ApiClient
  let pool: Pool
  let superuser: Pool
  let namespaceId: string
  let product: string
  let metric: string
  let price: string
  let other: string
  let flat: string

  before(async () => {
    // Why in one layout: only the API answers, from PostgreSQL, which is the same in the other.
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.key)
    pool = openPoolByHand(tally.postgres.serviceUrl)
    superuser = openPoolByHand(tally.postgres.superuserUrl)
    namespaceId = await namespaceOf(pool, tally.company)
    product = await make('/v2/products', { name: 'Tokens' })
    metric = await makeMetric()
    price = await makePrice()
    other = await makePrice({ unit_amount: '2' })
    flat = await makePrice({ model: 'flat', amount: '49', unit_amount: undefined })
  })
  after(async () => {
    await pool.end()
    await superuser.end()
    await tally.end()
  })

  const make = async (target: string, body: object) => (await api.create<{ id: string }>(target, body)).id
  const makeMetric = () => make('/v2/metrics', { name: 'm' })
  const makePrice = (some: object = {}) =>
    make('/v2/prices', {
      product_id: product,
      currency: 'usd',
      model: 'per_unit',
      unit_amount: '1',
      ...some,
    })
  const cardOf = (...rates: object[]) => ({ name: 'Card', currency: 'usd', rates })
  const makeCard = (...rates: object[]) => api.create<Card>('/v2/rate-cards', cardOf(...rates))
  const change = (card: { id: string }, body: object, headers: Record<string, string> = {}) =>
    api.post<Card>(`/v2/rate-cards/${card.id}/changes`, body, { headers })
  const ratesOf = async (card: { id: string }, query = '') =>
    (await api.get<Page<Rate>>(`/v2/rate-cards/${card.id}/rates${query}`)).body
  const find = async (card: { id: string }) => (await api.get<Card>(`/v2/rate-cards/${card.id}`)).body
  const now = () => Math.floor(Date.now() / 1_000)
  const usage = (some: object = {}) => ({ metric_id: metric, price_id: price, ...some })
  const of = (value: string) => ({ filters: [{ property: 'model', values: [value] }] })

  /** Makes a contract that follows a card in any state. */
  const follow = async (card: { id: string }) => {
    const account = await make('/v2/accounts', { name: 'a' })
    const contract = randomUUID()
    await superuser.query(
      `INSERT INTO contracts (namespace_id, contract_id, account_id, currency, cadence, anchor_at, starts_at, created_at, updated_at)
       VALUES ($1, $2, $3, 'usd', 'month', now(), now(), now(), now())`,
      [namespaceId, contract, account],
    )
    await superuser.query(
      `INSERT INTO contract_lines (namespace_id, contract_line_id, contract_id, account_id, starts_at, ends_at, rate_card_id,
         discount_percent, during, created_at)
       VALUES ($1, $2, $3, $4, now(), now(), $5, 0, 'empty', now())`,
      [namespaceId, newId('contract_line'), contract, account, card.id],
    )
  }

  it('are kept with their rates, in their order, with defaults', async () => {
    const body = {
      ...cardOf(
        usage(),
        {
          metric_id: metric,
          aggregation: 'count',
          filters: [
            { property: 'region', values: ['us', 'eu'] },
            { property: 'tier', values: ['1.0', 'true'] },
          ],
          group_by: 'model',
          prices: [
            { value: 'small', price_id: other },
            { value: 'large', price_id: price },
            { value: '😀', price_id: price },
            { value: '\uFFFD', price_id: price },
          ],
          starts_at: 100,
          ends_at: 4_000_000_000,
        },
        {
          currency: 'EUR',
          aggregation: 'avg',
          group_by: 'a',
          prices: [{ value: 'x', price_id: price }],
          price_id: other,
        },
        { price_id: flat },
      ),
      currency: 'USD',
      description: 'd',
      external_id: 'card 1/2',
    }
    const made = await api.create<Card>('/v2/rate-cards', body)
    const { id, created_at, rates } = made
    const [first, second, third, fourth] = rates
    const common = { product_id: product, created_at, filters: [] }
    expect(made).to.deep.equal({
      id,
      name: 'Card',
      currency: 'usd',
      description: 'd',
      external_id: 'card 1/2',
      created_at,
      updated_at: created_at,
      archived_at: null,
      rates: [
        { ...common, ...usage(), id: first?.id, currency: null, aggregation: 'sum', starts_at: 0 },
        {
          ...common,
          ...body.rates[1],
          id: second?.id,
          currency: null,
          // In order of code points, U+FFFD comes before characters that UTF-16 encodes as surrogate pairs.
          prices: [
            { value: 'large', price_id: price },
            { value: 'small', price_id: other },
            { value: '\uFFFD', price_id: price },
            { value: '😀', price_id: price },
          ],
        },
        { ...common, ...body.rates[2], id: third?.id, metric_id: null, currency: 'eur', starts_at: 0 },
        {
          ...common,
          id: fourth?.id,
          metric_id: null,
          currency: null,
          aggregation: 'sum',
          price_id: flat,
          starts_at: 0,
        },
      ],
    })
    expect(await find(made)).to.deep.equal(made)
    expect(await ratesOf(made)).to.deep.equal({ data: rates, has_more: false })
    const { body: found } = await api.get<Page<Card>>('/v2/rate-cards?external_id=card%201/2')
    expect(found.has_more).to.equal(false)
    expect(found.data.map((listed) => ({ ...listed, rates }))).to.deep.equal([made])
    expect(found.data[0]).not.to.have.property('rates')
  })

  it('change in name, description and external id, and in nothing else', async () => {
    const made = await makeCard(usage())
    const target = `/v2/rate-cards/${made.id}`
    const wanted = { name: 'New', description: 'd', external_id: 'new' }
    const changed = await api.patch<Card>(target, wanted)
    expect(changed.body).to.deep.equal({ ...made, ...wanted, updated_at: changed.body.updated_at })
    expect((await api.patch(target, {})).body).to.deep.equal(changed.body)
    expect((await api.patch(target, { description: null, external_id: null })).body).to.have.all.keys(made)
    await api.create('/v2/rate-cards', { ...cardOf(), external_id: 'taken' })
    const taken = [
      await api.patch(target, { external_id: 'taken' }),
      await api.post('/v2/rate-cards', { ...cardOf(), external_id: 'taken' }),
    ]
    expect(taken.map(({ status, text }) => [status, text])).to.deep.equal([
      [422, 'external_id: another rate card has it'],
      [409, 'external_id: another rate card has it'],
    ])
    for (const body of [{ currency: 'eur' }, { rates: [] }, { archived_at: 1 }])
      expect((await api.patch(target, body)).text).to.match(/^\w+: is not a field of this request$/)
  })

  it('are archived and brought back, and may be changed meanwhile', async () => {
    const card = await makeCard(usage())
    const act = async (verb: string) =>
      (await api.post<Card>(`/v2/rate-cards/${card.id}/${verb}`, undefined)).body
    expect(await act('unarchive')).to.deep.equal(card)
    const archived = await act('archive')
    expect(archived.archived_at).to.be.a('number')
    expect(await act('archive')).to.deep.equal(archived)
    const changed = await change(card, { add: [{ price_id: flat }] })
    expect(changed.status, changed.text).to.equal(200)
    expect(changed.body.archived_at).to.equal(archived.archived_at)
    const back = await act('unarchive')
    expect([back.archived_at, back.rates.length]).to.deep.equal([null, 2])
  })

  it('are 404 where there are none', async () => {
    const target = `/v2/rate-cards/${unknown('rate_card')}`
    const answers = [
      await api.get(target),
      await api.get(`${target}/rates`),
      await api.patch(target, {}),
      await api.post(`${target}/archive`, undefined),
      await api.post(`${target}/unarchive`, undefined),
      await api.post(`${target}/changes`, { add: [usage()] }),
    ]
    for (const { status } of answers) expect(status).to.equal(404)
  })

  it('refuse a rate that is not well said, by its place', async () => {
    const filters = (...some: object[]) => usage({ filters: some })
    const cases: [object, string | RegExp][] = [
      [usage({ metric_id: 'm' }), /^rates\[1\]\.metric_id: "m" is not a metric id/],
      [usage({ aggregation: 'average' }), /^rates\[1\]\.aggregation: must be equal to one of .*avg/],
      [usage({ product_id: product }), 'rates[1].product_id: is not a field of this request'],
      [usage({ prices: [] }), 'rates[1].prices: must not be empty'],
      [usage({ prices: [{ value: 'x' }] }), 'rates[1].prices[0].price_id: is required'],
      [usage({ prices: [{ value: '', price_id: price }] }), 'rates[1].prices[0].value: must not be empty'],
      [usage({ group_by: 'a b' }), /^rates\[1\]\.group_by: "a b" is not the name of a property/],
      [usage({ group_by: 'x'.repeat(101) }), /^rates\[1\]\.group_by: /],
      [usage({ starts_at: -1 }), /^rates\[1\]\.starts_at: /],
      [filters({ property: 'model' }), 'rates[1].filters[0].values: is required'],
      [filters({ property: 'model', values: [] }), 'rates[1].filters[0].values: must not be empty'],
      [filters({ property: 'model', values: ['x', 'x'] }), /^rates\[1\]\.filters\[0\]\.values: .*duplicate/],
      [filters({ property: 'model', values: ['x'.repeat(501)] }), /^rates\[1\]\.filters\[0\]\.values\[0\]: /],
      [filters({ property: 'model', values: [1] }), /^rates\[1\]\.filters\[0\]\.values\[0\]: must be text/],
      [
        filters({ property: 'model', values: Array.from({ length: 101 }, (_, n) => `v${n}`) }),
        /^rates\[1\]\.filters\[0\]\.values: .*100/,
      ],
      [
        filters(...Array.from({ length: 6 }, (_, n) => ({ property: `p${n}`, values: ['x'] }))),
        /^rates\[1\]\.filters: .*5/,
      ],
      [
        usage({
          group_by: 'a',
          prices: Array.from({ length: 501 }, (_, n) => ({ value: `${n}`, price_id: price })),
        }),
        /^rates\[1\]\.prices: .*500/,
      ],
    ]
    for (const [rate, text] of cases) {
      const answer = await api.post('/v2/rate-cards', cardOf({ price_id: flat }, rate))
      expect(answer.status, answer.text).to.equal(400)
      if (typeof text === 'string') expect(answer.text).to.equal(text)
      else expect(answer.text).to.match(text)
    }
  })

  it('refuse a rate that cannot be rated, by its place', async () => {
    const listed = { group_by: 'model', prices: [{ value: 'x', price_id: other }] }
    const archived = await makePrice()
    await api.create(`/v2/prices/${archived}/archive`, undefined)
    const ofAnother = await makePrice({ product_id: await make('/v2/products', { name: 'p' }) })
    const percent = await makePrice({ model: 'percentage', percent: '3', unit_amount: undefined })
    const cases: [object, string | RegExp][] = [
      [usage({ currency: 'eur' }), '[1].metric_id, currency: at most one of them can be given'],
      [usage({ starts_at: 5, ends_at: 5 }), '[1].ends_at: must be after starts_at'],
      [usage({ metric_id: unknown('metric') }), '[1].metric_id: there is no such metric'],
      [usage({ price_id: unknown('price') }), '[1].price_id: there is no such price'],
      [usage({ price_id: archived }), '[1].price_id: the price is archived'],
      [
        usage({ group_by: 'model', prices: [...listed.prices, { value: 'y', price_id: archived }] }),
        '[1].prices[1].price_id: the price is archived',
      ],
      [{ metric_id: metric }, '[1]: a rate needs a price'],
      [usage({ prices: listed.prices }), /^\[1\]: prices and group_by must be given together/],
      [usage({ group_by: 'model' }), /^\[1\]: prices and group_by must be given together/],
      [usage({ ...listed, prices: [...listed.prices, ...listed.prices] }), '[1]: a value has two prices'],
      [usage({ ...listed, ...of('y') }), /^\[1\]: a filter cannot be on model/],
      [
        usage({ filters: [...of('x').filters, ...of('y').filters] }),
        '[1]: the filters leave no value of model',
      ],
      [usage({ ...listed, price_id: ofAnother }), '[1]: the prices are of several products'],
      [usage({ price_id: await makePrice({ currency: 'eur' }) }), '[1]: a price is not in usd'],
      [usage({ price_id: flat }), /^\[1\]: price_\w+ is flat/],
      [{ price_id: price }, /^\[1\]: price_\w+ is no flat, recurring price/],
      [
        { currency: 'eur', price_id: percent },
        /^\[1\]: price_\w+ is a percentage of eur: there is no exchange/,
      ],
    ]
    const card = await makeCard()
    for (const [rate, text] of cases)
      for (const [field, answer] of [
        ['rates', await api.post('/v2/rate-cards', cardOf({ price_id: flat }, rate))],
        [
          'add',
          await change(card, {
            add: [
              { price_id: flat, starts_at: 4_000_000_000 },
              { starts_at: 4_000_000_000, ...rate },
            ],
          }),
        ],
      ] as const) {
        if (field === 'add' && 'starts_at' in rate) continue
        expect(answer.status, answer.text).to.equal(422)
        expect(answer.text.slice(0, field.length)).to.equal(field)
        const said = answer.text.slice(field.length)
        if (typeof text === 'string') expect(said).to.equal(text)
        else expect(said).to.match(text)
      }
    expect((await ratesOf(card)).data).to.deep.equal([])
    for (const currency of ['xau', 'zzz'])
      expect((await api.post('/v2/rate-cards', { ...cardOf(), currency })).text).to.match(/^currency: /)
    expect(
      (await api.post('/v2/rate-cards', cardOf({ currency: 'usd', price_id: percent }))).status,
    ).to.equal(200)
  })

  describe('two rates that would count an event twice', () => {
    it('are refused, with their names and an event that both would reach', async () => {
      const card = await makeCard(usage(of('large')), usage({ aggregation: 'count' }))
      const [large] = card.rates
      const created = await api.post(
        '/v2/rate-cards',
        cardOf(usage({ aggregation: 'count' }), usage(), usage(of('x'))),
      )
      expect([created.status, created.text]).to.deep.equal([
        422,
        `rates[1] and rates[2] overlap: both would reach the event ${JSON.stringify({
          metric_id: metric,
          currency: null,
          occurred_at: 0,
          properties: { model: 'x' },
        })}`,
      ])
      const startsAt = now() + 1_000
      const region = { filters: [{ property: 'region', values: ['eu', 'us'] }] }
      const added = await change(card, { add: [usage({ ...region, starts_at: startsAt })] })
      expect([added.status, added.text]).to.deep.equal([
        422,
        `${large?.id ?? ''} and add[0] overlap: both would reach the event ${JSON.stringify({
          metric_id: metric,
          currency: null,
          occurred_at: startsAt,
          properties: { model: 'large', region: 'eu' },
        })}`,
      ])
      expect(await find(card)).to.deep.equal(card)
    })

    it('may take turns, also those that ask the same', async () => {
      const [first, second] = [now() + 1_000, now() + 2_000]
      const card = await makeCard(usage(), { price_id: flat }, { price_id: flat })
      const [old] = card.rates
      const swapped = await change(card, {
        effective_at: first,
        end: [old?.id],
        add: [usage({ price_id: other })],
      })
      expect(swapped.status, swapped.text).to.equal(200)
      expect(swapped.body.rates.map(({ starts_at, ends_at }) => [starts_at, ends_at])).to.deep.equal([
        [0, first],
        [0, undefined],
        [0, undefined],
        [first, undefined],
      ])
      const again = await change(card, { effective_at: second, add: [usage()] })
      expect(again.text).to.match(/^rate_\w+ and add\[0\] overlap: .*"properties":\{\}\}$/)
    })

    it('are refused by the table too, in whatever way they are said', async () => {
      const rate = (id: string, values: string[]) => ({
        id,
        source: metric,
        aggregation: 'sum' as const,
        filters: [{ property: 'model', values }],
        groupBy: null,
        prices: [],
        priceId: price,
        startsAt: 5,
        endsAt: null,
      })
      const card = await makeCard()
      const insert = (...rates: ReturnType<typeof rate>[]) =>
        inNamespace(pool, namespaceId, (db) => rateRepository(db).insert(namespaceId, card.id, rates))
      await insert(rate(newId('rate'), ['a', 'b']))
      const failure: unknown = await insert(rate(newId('rate'), ['b', 'a', 'b'])).catch((err: unknown) => err)
      expect(failure).to.include({
        code: 'unprocessable',
        message: 'two rates of the card have the same conditions at the same time',
      })
      await insert({ ...rate(newId('rate'), ['b', 'a']), startsAt: 1, endsAt: 5 } as never)
      expect((await ratesOf(card)).data.length).to.equal(2)
    })
  })

  describe('changes', () => {
    it('begin now when they do not say, and are listed for ever', async () => {
      const card = await makeCard(usage({ starts_at: 50 }))
      const [old] = card.rates
      const before = now()
      const { body } = await change(card, { end: [old?.id], add: [usage({ price_id: other })] })
      const [added] = body.rates
      expect(body.rates.length).to.equal(1)
      expect(added?.starts_at).to.be.within(before, now())
      const { data } = await ratesOf(card)
      expect(data).to.deep.equal([{ ...old, ends_at: added?.starts_at }, added])
      const at = async (second: number) => (await ratesOf(card, `?at=${second}`)).data.map(({ id }) => id)
      const end = added?.starts_at ?? 0
      expect(await at(49)).to.deep.equal([])
      expect(await at(50)).to.deep.equal([old?.id])
      expect(await at(end - 1)).to.deep.equal([old?.id])
      expect(await at(end)).to.deep.equal([added?.id])
    })

    it('move the time at which the card changed', async () => {
      const card = await makeCard()
      await superuser.query("UPDATE rate_cards SET updated_at = '2024-02-29' WHERE rate_card_id = $1", [
        card.id,
      ])
      expect((await change(card, { add: [usage()] })).body.updated_at).to.be.at.least(card.updated_at)
    })

    it('withdraw a rate at its own start: it is in force never, and in nobody’s way', async () => {
      const startsAt = now() + 1_000
      const card = await makeCard(usage({ starts_at: startsAt }))
      const [rate] = card.rates
      const { status, body } = await change(card, { effective_at: startsAt, end: [rate?.id], add: [usage()] })
      expect(status).to.equal(200)
      expect(body.rates.map(({ starts_at, ends_at }) => [starts_at, ends_at])).to.deep.equal([
        [startsAt, startsAt],
        [startsAt, undefined],
      ])
      expect((await ratesOf(card, `?at=${startsAt}`)).data).to.deep.equal([body.rates[1]])
    })

    it('refuse what was not in force then, what begins before, and nothing at all', async () => {
      const card = await makeCard(usage({ starts_at: 100, ends_at: 200 }))
      expect(card.rates).to.deep.equal([])
      const [rate] = (await ratesOf(card)).data
      const id = rate?.id ?? ''
      const notInForce = (of: string) => `end: ${of} is not in force at the time of the change`
      const cases: [object, number, string | RegExp][] = [
        [{ effective_at: 99, end: [id] }, 422, notInForce(id)],
        [{ effective_at: 200, end: [id] }, 422, notInForce(id)],
        [{ effective_at: 150, end: [unknown('rate')] }, 422, notInForce(unknown('rate'))],
        [
          { effective_at: 150, add: [usage({ starts_at: 149 })] },
          422,
          'add[0].starts_at: must not lie before effective_at',
        ],
        [{}, 422, 'end, add: at least one of them must name a rate'],
        [{ effective_at: 150 }, 422, 'end, add: at least one of them must name a rate'],
        [{ effective_at: 150, end: [id, id] }, 400, /^end: .*duplicate/],
        [{ end: ['x'] }, 400, /^end\[0\]: "x" is not a rate id/],
        [{ at: 5, end: [id] }, 400, 'at: is not a field of this request'],
      ]
      for (const [body, status, text] of cases) {
        const answer = await change(card, body)
        expect(answer.status, answer.text).to.equal(status)
        if (typeof text === 'string') expect(answer.text).to.equal(text)
        else expect(answer.text).to.match(text)
      }
      expect(await ratesOf(card)).to.deep.equal({ data: [rate], has_more: false })
    })

    it('may lie in the past until a contract has followed the card, and from then on not', async () => {
      const card = await makeCard(usage())
      const past = { effective_at: 100, end: [card.rates[0]?.id], add: [usage({ price_id: other })] }
      const { status, body } = await change(card, past)
      expect([status, body.rates.map(({ starts_at }) => starts_at)]).to.deep.equal([200, [100]])
      await follow(card)
      const [rate] = body.rates
      const refused = await change(card, { effective_at: now() - 5, end: [rate?.id] })
      expect([refused.status, refused.text]).to.deep.equal([
        422,
        'effective_at: lies in the past, and a contract has followed the card',
      ])
      expect((await change(card, { end: [rate?.id] })).status).to.equal(200)
    })

    it('go by the clock of the company', async () => {
      const mine = new ApiClient(tally.url, tally.testKey)
      const card = await mine.create<Card>('/v2/rate-cards', { name: 'x', currency: 'usd' })
      const flatOf = async () => {
        const { id } = await mine.create<{ id: string }>('/v2/products', { name: 'p' })
        const body = { product_id: id, currency: 'usd', model: 'flat', amount: '1' }
        return (await mine.create<{ id: string }>('/v2/prices', body)).id
      }
      const rates = { add: [{ price_id: await flatOf(), ends_at: now() + 3_600 }] }
      const shown = (await mine.create<Card>(`/v2/rate-cards/${card.id}/changes`, rates)).rates
      expect(shown.length).to.equal(1)
      const clock = await mine.create<{ now: number }>('/v2/test/clock/advance', { seconds: 7_200 })
      const later = await mine.get<Card>(`/v2/rate-cards/${card.id}`)
      expect(later.body.rates).to.deep.equal([])
      const added = { add: [{ price_id: await flatOf() }] }
      const { rates: open } = await mine.create<Card>(`/v2/rate-cards/${card.id}/changes`, added)
      expect(open.map(({ starts_at }) => starts_at >= clock.now)).to.deep.equal([true])
      await mine.request('DELETE', '/v2/test/clock', undefined, {})
    })

    it('are done once for each Idempotency-Key', async () => {
      const card = await makeCard()
      const headers = { 'Idempotency-Key': randomUUID() }
      const answers = await Promise.all(
        Array.from({ length: 6 }, () => change(card, { add: [{ price_id: flat }] }, headers)),
      )
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 409, 409, 409, 409, 409])
      expect((await ratesOf(card)).data.length).to.equal(1)
    })
  })

  describe('the rates of a card', () => {
    it('are listed page by page in the order in which they were given', async () => {
      const made = await makeCard(...Array.from({ length: 25 }, (_, n) => usage(of(`v${n}`))))
      const { body } = await change(made, { add: Array.from({ length: 7 }, (_, n) => usage(of(`w${n}`))) })
      const filtersOf = (rates: Rate[]) => rates.map(({ filters }) => filters)
      const meant = [...Array(25).keys()].map((n) => of(`v${n}`).filters)
      expect(filtersOf(made.rates)).to.deep.equal(meant)
      const seen: Rate[] = []
      for (let query = '?limit=6'; ;) {
        const page = await ratesOf(made, query)
        seen.push(...page.data)
        if (!page.has_more) break
        query = `?limit=6&starting_after=${page.data.at(-1)?.id ?? ''}`
      }
      expect(seen).to.deep.equal(body.rates)
      expect(filtersOf(seen.slice(25))).to.deep.equal([...Array(7).keys()].map((n) => of(`w${n}`).filters))
      const rest = await ratesOf(made, `?starting_after=${seen.at(-1)?.id ?? ''}`)
      expect(rest).to.deep.equal({ data: [], has_more: false })
    })

    it('refuse pages that make no sense', async () => {
      const [card, another] = [await makeCard(usage()), await makeCard(usage())]
      for (const query of [
        `starting_after=${another.rates[0]?.id ?? ''}`,
        `starting_after=${unknown('rate')}`,
        'starting_after=x',
        'limit=0',
        'limit=101',
        'at=x',
        'at=-1',
        'colour=red',
      ]) {
        const answer = await api.get(`/v2/rate-cards/${card.id}/rates?${query}`)
        expect(answer.status, query).to.equal(400)
        expect(answer.text).to.match(/^(starting_after|limit|at): |colour/)
      }
    })

    it('of several cards are read at once', async () => {
      const cards = [
        await makeCard(usage(), usage({ currency: 'eur', metric_id: undefined })),
        await makeCard(),
        await makeCard({ price_id: flat }),
      ]
      const ids = [...cards.map(({ id }) => id), unknown('rate_card')]
      const rates = await inNamespace(pool, namespaceId, (db) =>
        rateCardRepository(db).listRatesOf(namespaceId, ids),
      )
      expect([...rates].map(([id, some]) => [id, some.map((rate) => rate.id)])).to.deep.equal([
        ...cards.map((card) => [card.id, card.rates.map(({ id }) => id)]),
        [unknown('rate_card'), []],
      ])
      expect(rates.get(cards[0]?.id ?? '')?.[0]).to.deep.include({
        source: metric,
        priceId: price,
        startsAt: 0,
        endsAt: null,
        prices: [],
        groupBy: null,
      })
      expect(rates.get(cards[2]?.id ?? '')?.[0]).to.deep.include({ source: null, priceId: flat })
    })
  })

  describe('a large card', () => {
    /** Makes rates that do not overlap, each with this many prices. */
    const rates = (count: number, each: number) =>
      Array.from({ length: count }, (_, n) => ({
        metric_id: metric,
        filters: [{ property: 'plan', values: [`plan ${n}`] }],
        group_by: 'model',
        prices: Array.from({ length: each }, (_, value) => ({ value: `model ${value}`, price_id: price })),
      }))

    it('is made, read and changed as a whole', async () => {
      const startedAt = performance.now()
      const card = await makeCard(...rates(200, 10))
      const madeMs = performance.now() - startedAt
      expect(card.rates.length).to.equal(200)
      expect(card.rates.map(({ prices }) => prices?.length)).to.deep.equal(Array(200).fill(10))
      const effective_at = now() + 86_400
      const next = await change(card, {
        effective_at,
        end: card.rates.map(({ id }) => id),
        add: rates(200, 10),
      })
      expect(next.status, next.text).to.equal(200)
      expect(next.body.rates.length).to.equal(400)
      const third = await change(card, {
        effective_at: effective_at + 1,
        end: next.body.rates.slice(-1).map(({ id }) => id),
        add: [{ price_id: flat }],
      })
      expect([third.status, third.text]).to.deep.equal([
        422,
        'add: the card would have 401 rates that have not ended, at most 400 are kept',
      ])
      expect(madeMs, 'ms to make it').to.be.below(15_000)
    })

    it('is refused beyond its bounds', async () => {
      const cases: [object[], string][] = [
        [rates(199, 1).concat(rates(2, 1)), 'rates: must NOT have more than 200 items'],
        [
          rates(200, 10).map((rate, n) => (n === 7 ? { ...rate, price_id: price } : rate)),
          'rates: the card would have rates in force at a time that name 2001 prices, at most 2000 are kept',
        ],
        [
          Array.from({ length: 9 }, (_, n) => ({
            metric_id: metric,
            filters: Array.from({ length: 5 }, (_filter, p) => ({
              property: `property_${p}`,
              values: Array.from({ length: 100 }, (_value, v) => `${n} ${v}`),
            })),
            price_id: price,
          })),
          'rates: the card would split usage by 4500 values of properties, at most 4000 are allowed',
        ],
      ]
      for (const [some, text] of cases) {
        const answer = await api.post('/v2/rate-cards', cardOf(...some))
        expect([answer.status, answer.text]).to.deep.equal([some.length > 200 ? 400 : 422, text])
      }
      const card = await makeCard(...rates(200, 1))
      const answer = await change(card, { add: [{ price_id: flat }] })
      expect([answer.status, answer.text]).to.deep.equal([
        422,
        'add: the card would have 201 rates in force at a time, at most 200 are kept',
      ])
      // A rate that ends when another starts is not in force at the same time.
      const swap = { effective_at: now() + 1_000, end: [card.rates[0]?.id], add: [{ price_id: flat }] }
      expect((await change(card, swap)).status).to.equal(200)
    })
  })

  describe('at the same time', () => {
    it('of two changes that each add an overlapping rate, one wins', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const card = await makeCard()
        // The scopes differ, so that the table's exclusion constraint does not find the overlap.
        const answers = await Promise.all(
          [usage(), usage(of('x')), usage({ filters: [{ property: 'region', values: ['eu'] }] })].map(
            (rate) => change(card, { add: [rate] }),
          ),
        )
        const [won, ...lost] = answers.toSorted((a, b) => a.status - b.status)
        expect([won?.status, ...lost.map(({ status }) => status)]).to.deep.equal([200, 422, 422])
        for (const { text } of lost) expect(text).to.match(/ and add\[0\] overlap: /)
        expect((await ratesOf(card)).data.length).to.equal(1)
      }
    })

    it('of two changes that end a rate, one does', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const card = await makeCard(usage())
        const body = { end: [card.rates[0]?.id], add: [usage({ price_id: other })] }
        const answers = await Promise.all([change(card, body), change(card, body)])
        expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 422])
        expect((await ratesOf(card)).data.length).to.equal(2)
      }
    })

    it('a change, an archiving and a new name all hold', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const card = await makeCard()
        const target = `/v2/rate-cards/${card.id}`
        const answers = await Promise.all([
          change(card, { add: [usage()] }),
          api.post(`${target}/archive`, undefined),
          api.patch(target, { name: 'New' }),
          change(card, { add: [{ price_id: flat }] }),
        ])
        expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200])
        const { name, archived_at, rates } = await find(card)
        expect([name, typeof archived_at, rates.length]).to.deep.equal(['New', 'number', 2])
      }
    })

    it('a card is made once for each Idempotency-Key', async () => {
      const headers = { 'Idempotency-Key': randomUUID() }
      const answers = await Promise.all(
        Array.from({ length: 6 }, () => api.post('/v2/rate-cards', cardOf(usage()), { headers })),
      )
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 409, 409, 409, 409, 409])
    })

    it('a price is archived before it is named, or after', async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const [card, named] = [await makeCard(), await makePrice()]
        const [changed] = await Promise.all([
          change(card, { add: [usage({ price_id: named })] }),
          api.post(`/v2/prices/${named}/archive`, undefined),
        ])
        if (changed.status !== 200) expect(changed.text).to.equal('add[0].price_id: the price is archived')
        expect((await ratesOf(card)).data.length).to.equal(changed.status === 200 ? 1 : 0)
      }
    })

    it('a change waits for whoever begins to follow the card, and then the past is no longer free', async () => {
      const card = await makeCard(usage())
      const { changing } = await inNamespace(pool, namespaceId, async (db) => {
        const shared = await rateCardRepository(db).share(namespaceId, [card.id, unknown('rate_card')])
        expect(shared.map(({ id, currency, archivedAt }) => [id, currency, archivedAt])).to.deep.equal([
          [card.id, 'usd', null],
        ])
        const changing = change(card, { effective_at: 100, end: [card.rates[0]?.id] })
        expect(await Promise.race([changing, sleep(300, 'waits')])).to.equal('waits')
        await follow(card)
        return { changing } // in an object, so that the await does not wait for the promise
      })
      const { status, text } = await changing
      expect([status, text]).to.deep.equal([
        422,
        'effective_at: lies in the past, and a contract has followed the card',
      ])
    })
  })
})
