import { expect } from 'chai'
import { ApiClient } from '../../support/api-client.ts'
import { shareTallyUnderTest, type TallyUnderTest } from '../../support/tally-under-test.ts'

interface Resource {
  id: string
  archived_at: number | null
}
interface Page {
  data: Resource[]
  has_more: boolean
}

/** The fields of each model, few and in unusual form, and the answer. */
const MODELS: Record<string, { said: object; answered: object }> = {
  'flat, each period': {
    said: { model: 'flat', amount: '049.90' },
    answered: { model: 'flat', amount: '49.9', recurring: true },
  },
  'flat, once': {
    said: { model: 'flat', amount: '0.000', recurring: false },
    answered: { model: 'flat', amount: '0', recurring: false },
  },
  'per unit': {
    said: { model: 'per_unit', unit_amount: '1.500' },
    answered: { model: 'per_unit', unit_amount: '1.5', per: '1', included_quantity: '0' },
  },
  'per million units, with bounds': {
    said: {
      model: 'per_unit',
      unit_amount: '3',
      per: '1000000',
      included_quantity: '100.0',
      minimum_amount: '5.00',
      maximum_amount: '5',
    },
    answered: {
      model: 'per_unit',
      unit_amount: '3',
      per: '1000000',
      included_quantity: '100',
      minimum_amount: '5',
      maximum_amount: '5',
    },
  },
  graduated: {
    said: {
      model: 'graduated',
      tiers: [{ up_to: '10.0', unit_amount: '0.50' }, { up_to: '100', flat_amount: '2' }, { up_to: null }],
      per: '1000000000000000000',
    },
    answered: {
      model: 'graduated',
      tiers: [
        { up_to: '10', unit_amount: '0.5', flat_amount: '0' },
        { up_to: '100', unit_amount: '0', flat_amount: '2' },
        { up_to: null, unit_amount: '0', flat_amount: '0' },
      ],
      per: '1000000000000000000',
      included_quantity: '0',
    },
  },
  volume: {
    said: {
      model: 'volume',
      tiers: [{ up_to: null, unit_amount: '99999999999999999999.999999999999999999' }],
    },
    answered: {
      model: 'volume',
      tiers: [{ up_to: null, unit_amount: '99999999999999999999.999999999999999999', flat_amount: '0' }],
      per: '1',
      included_quantity: '0',
    },
  },
  package: {
    said: { model: 'package', package_size: '1000', package_amount: '10', maximum_amount: '0.0' },
    answered: {
      model: 'package',
      package_size: '1000',
      package_amount: '10',
      included_quantity: '0',
      maximum_amount: '0',
    },
  },
  percentage: {
    said: { model: 'percentage', percent: '1000.000' },
    answered: { model: 'percentage', percent: '1000', included_quantity: '0' },
  },
}

describe('prices over HTTP', function () {
  this.timeout(60_000)
  let tally: TallyUnderTest
  let api: ApiClient
  let product: string
  let usd: { product_id: string; currency: string }

  before(async () => {
    // Why in one layout: only the API answers, from PostgreSQL, which is the same in the other.
    tally = await shareTallyUnderTest()
    api = new ApiClient(tally.url, tally.key)
    product = (await api.create<Resource>('/v2/products', { name: 'Tokens' })).id
    usd = { product_id: product, currency: 'usd' }
  })
  after(() => tally.end())

  for (const [name, { said, answered }] of Object.entries(MODELS))
    it(`are kept as they are, with defaults and in the shortest form: ${name}`, async () => {
      const body = { ...said, product_id: product, currency: 'USD', description: 'd' }
      const made = await api.create<Resource & { created_at: number }>('/v2/prices', body)
      const { id, created_at } = made
      expect(made).to.deep.equal({
        id,
        ...usd,
        ...answered,
        description: 'd',
        created_at,
        updated_at: created_at,
        archived_at: null,
      })
      expect((await api.get(`/v2/prices/${id}`)).body).to.deep.equal(made)
    })

  it('refuse a field that is missing, of another model or wrong, by its name', async () => {
    const flat = { ...usd, model: 'flat', amount: '1' }
    const unit = { ...usd, model: 'per_unit', unit_amount: '1' }
    const tiered = { ...usd, model: 'graduated', tiers: [{ up_to: null }] }
    const cases: [object, string | RegExp][] = [
      [{}, 'model: is required'],
      [{ model: 'flat' }, /^\w+: is required$/],
      [{ ...usd, model: 'flat' }, 'amount: is required'],
      [{ ...usd, model: 'volume' }, 'tiers: is required'],
      [{ ...usd, model: 'package', package_size: '1' }, 'package_amount: is required'],
      [
        { ...flat, model: 'cubic' },
        'model: must be equal to one of the allowed values: flat, per_unit, graduated, volume, package, percentage',
      ],
      [{ ...flat, model: null }, /^model: must be /],
      [{ ...flat, per: '1' }, 'per: is not a field of a flat price'],
      [{ ...flat, minimum_amount: '1' }, 'minimum_amount: is not a field of a flat price'],
      [{ ...unit, amount: '1' }, 'amount: is not a field of a per_unit price'],
      [{ ...unit, recurring: true }, 'recurring: is not a field of a per_unit price'],
      [{ ...tiered, unit_amount: '1' }, 'unit_amount: is not a field of a graduated or volume price'],
      [{ ...usd, model: 'percentage', percent: '1', per: '1' }, 'per: is not a field of a percentage price'],
      [{ ...unit, id: 'x' }, 'id: is not a field of a per_unit price'],
      [{ ...unit, product_id: 'p' }, /^product_id: "p" is not a product id such as product_/],
      [{ ...unit, currency: 'dollars' }, /^currency: "dollars" is not three letters such as usd$/],
      [{ ...unit, unit_amount: '-1' }, 'unit_amount: "-1" is not a decimal number from 0 on such as 12.5'],
      [{ ...unit, unit_amount: '1e3' }, 'unit_amount: "1e3" is not a plain decimal number such as "12.5"'],
      [{ ...unit, unit_amount: 1 }, 'unit_amount: must be text such as "12.5"'],
      [{ ...unit, maximum_amount: '0.1234567890123456789' }, /^maximum_amount: .* has 19 decimal places/],
      [{ ...unit, per: '0' }, 'per: "0" is not a whole number from 1 to 10^18 such as 1000000'],
      [{ ...unit, per: '1.5' }, /^per: "1.5" is not a whole number/],
      [{ ...unit, per: '1000000000000000001' }, /^per: .* is not a whole number from 1 to 10\^18/],
      [{ ...flat, recurring: 'yes' }, 'recurring: must be true or false'],
      [{ ...tiered, tiers: [] }, 'tiers: must not be empty'],
      [{ ...tiered, tiers: Array(51).fill({ up_to: null }) }, 'tiers: must NOT have more than 50 items'],
      [{ ...tiered, tiers: [{ unit_amount: '1' }] }, 'tiers[0].up_to: is required'],
      [
        { ...tiered, tiers: [{ up_to: '1' }, { up_to: '-2' }] },
        'tiers[1].up_to: "-2" is not a decimal number from 0 on such as 12.5',
      ],
      [{ ...tiered, tiers: [{ up_to: null, flat: '1' }] }, 'tiers[0].flat: is not a field of this request'],
    ]
    for (const [body, text] of cases) {
      const answer = await api.post('/v2/prices', body)
      expect(answer.status, answer.text).to.equal(400)
      if (typeof text === 'string') expect(answer.text).to.equal(text)
      else expect(answer.text).to.match(text)
    }
    for (const body of [[], null, 'flat', 5])
      expect((await api.post('/v2/prices', body)).text).to.match(
        /^body: must be an object such as {"product_id"/,
      )
    const headers = { 'content-type': 'application/json' }
    expect((await api.post('/v2/prices', undefined, { headers })).text).to.equal('body: is required')
  })

  it('refuse what cannot be computed with, or rounded', async () => {
    const unit = { ...usd, model: 'per_unit', unit_amount: '1' }
    const tiered = (...ends: (string | null)[]) => ({
      ...usd,
      model: 'volume',
      tiers: ends.map((up_to) => ({ up_to })),
    })
    const cases: [object, RegExp][] = [
      [tiered('10'), /up_to .* last tier/],
      [tiered('10', null, null), /up_to .* last tier/],
      [tiered('0', null), /up_to .* above 0/],
      [tiered('10', '10.0', null), /up_to .* rise/],
      [{ ...unit, minimum_amount: '5', maximum_amount: '4.99' }, /^maximum_amount .* minimum_amount/],
      [{ ...usd, model: 'package', package_size: '0.0', package_amount: '1' }, /^package_size is 0/],
      [{ ...usd, model: 'percentage', percent: '1000.000000000000000001' }, /^percent is above 1000/],
      [{ ...unit, product_id: `product_${'0'.repeat(32)}` }, /^product_id: there is no such product$/],
      [{ ...unit, currency: 'XAU' }, /^currency: .*"XAU"/],
      [{ ...unit, currency: 'zzz' }, /^currency: .*"zzz"/],
      [{ ...unit, currency: 'xxx' }, /^currency: .*"xxx"/],
    ]
    for (const [body, text] of cases) {
      const answer = await api.post('/v2/prices', body)
      expect([answer.status, answer.text]).to.satisfy(
        ([status, said]: [number, string]) => status === 422 && text.test(said),
        JSON.stringify(body),
      )
    }
    for (const currency of ['JPY', 'bhd', 'clf', 'xcg'])
      expect(await api.create('/v2/prices', { ...unit, currency })).to.include({
        currency: currency.toLowerCase(),
      })
  })

  it('change in their description alone', async () => {
    const made = await api.create<Resource>('/v2/prices', { ...usd, model: 'flat', amount: '5' })
    const target = `/v2/prices/${made.id}`
    const changed = await api.patch<object>(target, { description: 'until 2026' })
    expect(changed.body).to.deep.include({
      ...made,
      description: 'until 2026',
      updated_at: changed.body['updated_at' as never],
    })
    expect((await api.patch(target, {})).body).to.deep.equal(changed.body)
    expect((await api.patch<object>(target, { description: null })).body).not.to.have.property('description')
    for (const body of [{ amount: '6' }, { currency: 'eur' }, { product_id: product }, { archived_at: 1 }])
      expect((await api.patch(target, body)).text).to.match(/^\w+: is not a field of this request$/)
    expect((await api.get(target)).body).to.include({ amount: '5', currency: 'usd' })
    const unknown = `/v2/prices/price_${'0'.repeat(32)}`
    for (const body of [{}, { description: 'd' }])
      expect((await api.patch(unknown, body)).status).to.equal(404)
  })

  it('are archived and brought back, once each time', async () => {
    const { id } = await api.create<Resource>('/v2/prices', { ...usd, model: 'flat', amount: '5' })
    const act = async (verb: string) => (await api.post<Resource>(`/v2/prices/${id}/${verb}`, undefined)).body
    const archived = await act('archive')
    expect(archived.archived_at).to.be.a('number')
    expect(await act('archive')).to.deep.equal(archived)
    expect((await act('unarchive')).archived_at).to.equal(null)
  })

  it('are listed by product, and made of none that is archived', async () => {
    const { id } = await api.create<Resource>('/v2/products', { name: 'Seats', external_id: 'sku 1/2' })
    const flat = { product_id: id, currency: 'usd', model: 'flat', amount: '1' }
    const [first, second] = [
      await api.create<Resource>('/v2/prices', flat),
      await api.create<Resource>('/v2/prices', flat),
    ]
    expect((await api.get(`/v2/prices?product_id=${id}`)).body).to.deep.equal({
      data: [first, second],
      has_more: false,
    })
    const rest = `/v2/prices?product_id=${id}&limit=1&starting_after=${first.id}`
    expect((await api.get<Page>(rest)).body.data).to.deep.equal([second])
    expect(
      (await api.get<Page>('/v2/products?external_id=sku%201/2')).body.data.map((one) => one.id),
    ).to.deep.equal([id])
    await api.create(`/v2/products/${id}/archive`, undefined)
    const refused = await api.post('/v2/prices', flat)
    expect([refused.status, refused.text]).to.deep.equal([422, 'product_id: the product is archived'])
    expect((await api.patch(`/v2/prices/${first.id}`, { description: 'd' })).status).to.equal(200)
    await api.create(`/v2/products/${id}/unarchive`, undefined)
    expect((await api.post('/v2/prices', flat)).status).to.equal(200)
  })
})
