import { expect } from 'chai'
import fc from 'fast-check'
import type { Price, PriceTerms } from '../../../../shared/domain/billing/price.ts'
import { findRateFault, findTermsFault } from '../../../../shared/domain/billing/price-rules.ts'
import type { Rate } from '../../../../shared/domain/billing/rate.ts'
import {
  priceFromJson,
  type PriceJson,
  readBillingVectors,
  termsFromJson,
} from '../../../support/billing-vectors.ts'
import { terms } from '../../../support/random-prices.ts'

const usd = { currency: 'usd' }
const unitPrice: PriceJson = { ...usd, product_id: 'product_a', model: 'per_unit', unit_amount: '1' }

describe('the terms of a price', () => {
  it('are fine as the vectors have them, and as random prices are', () => {
    for (const { id, price } of readBillingVectors().prices)
      expect(findTermsFault(termsFromJson(price)), id).to.equal(undefined)
    fc.assert(
      fc.property(terms, (price) => {
        expect(findTermsFault(price)).to.equal(undefined)
      }),
      { seed: 20_260_107, numRuns: 300 },
    )
  })

  it('are refused when they cannot be computed with', () => {
    const tiered = (...ends: (string | null)[]): PriceTerms =>
      termsFromJson({ ...usd, model: 'volume', tiers: ends.map((up_to) => ({ up_to })) })
    const bounded = { ...unitPrice, minimum_amount: '5', maximum_amount: '4.99' }
    const cases: [PriceTerms, RegExp][] = [
      [tiered(), /empty/],
      [tiered('10'), /last/],
      [tiered(null, '10'), /last/],
      [tiered('10', null, null), /last/],
      [tiered('0', null), /above 0/],
      [tiered('10', '10.0', null), /rise/],
      [tiered('10', '9', null), /rise/],
      [termsFromJson({ ...unitPrice, per: '0' }), /per is 0/],
      [termsFromJson({ ...usd, model: 'graduated', tiers: [{ up_to: null }], per: '0' }), /per is 0/],
      [termsFromJson({ ...usd, model: 'package', package_size: '0.0', package_amount: '1' }), /package_size/],
      [termsFromJson({ ...usd, model: 'percentage', percent: '1000.01' }), /1000/],
      [termsFromJson(bounded), /below minimum/],
    ]
    for (const [of, reason] of cases) expect(findTermsFault(of), JSON.stringify(of)).to.match(reason)
    expect(findTermsFault(termsFromJson({ ...bounded, maximum_amount: '5' }))).to.equal(undefined)
    expect(findTermsFault(tiered('0.1', '0.2', null))).to.equal(undefined)
  })
})

describe('a rate', () => {
  const prices = new Map<string, Price>(
    Object.entries<PriceJson>({
      price_unit: unitPrice,
      price_other: { ...unitPrice, unit_amount: '2' },
      price_of_b: { ...unitPrice, product_id: 'product_b' },
      price_eur: { ...unitPrice, currency: 'eur' },
      price_flat: { ...usd, product_id: 'product_a', model: 'flat', amount: '5' },
      price_once: { ...usd, product_id: 'product_a', model: 'flat', amount: '5', recurring: false },
      price_fee: { ...usd, product_id: 'product_a', model: 'percentage', percent: '3' },
    }).map(([id, json]) => [id, priceFromJson(id, json)]),
  )
  const rate = (some: Partial<Rate>): Rate => ({
    id: 'rate_a',
    startsAt: 0,
    endsAt: null,
    source: 'metric_t',
    aggregation: 'sum',
    filters: [],
    groupBy: null,
    prices: [],
    priceId: 'price_unit',
    ...some,
  })
  const grouped = { groupBy: 'model', prices: [{ value: 'large', priceId: 'price_other' }] }

  it('may be of usage or a fixed charge, with prices that it can feed', () => {
    for (const some of [
      {},
      grouped,
      { ...grouped, priceId: null, filters: [{ property: 'region', values: ['eu'] }] },
      { source: null, priceId: 'price_flat' },
      { priceId: 'price_fee' },
      { source: 'usd', priceId: 'price_fee' },
      { source: 'eur', priceId: 'price_unit' },
    ])
      expect(findRateFault(rate(some), prices, 'usd'), JSON.stringify(some)).to.equal(undefined)
  })

  it('is refused with prices that it cannot feed, or that contradict each other', () => {
    const cases: [Partial<Rate>, RegExp][] = [
      [{ priceId: null }, /needs a price/],
      [{ groupBy: 'model' }, /group_by/],
      [{ prices: grouped.prices }, /group_by/],
      [{ ...grouped, filters: [{ property: 'model', values: ['large'] }] }, /filter cannot be on model/],
      [
        {
          filters: [
            { property: 'region', values: ['eu', 'us'] },
            { property: 'region', values: ['ap'] },
          ],
        },
        /no value of region/,
      ],
      [{ ...grouped, prices: [...grouped.prices, ...grouped.prices] }, /two prices/],
      [{ ...grouped, priceId: 'price_of_b' }, /several products/],
      [{ priceId: 'price_eur' }, /not in usd/],
      [{ priceId: 'price_flat' }, /price_flat is flat/],
      [{ source: null }, /price_unit is no flat/],
      [{ source: null, priceId: 'price_once' }, /price_once is no flat/],
      [{ source: null, priceId: 'price_flat', filters: [{ property: 'a', values: ['b'] }] }, /no properties/],
      [{ source: 'eur', priceId: 'price_fee' }, /no exchange/],
    ]
    for (const [some, reason] of cases)
      expect(findRateFault(rate(some), prices, 'usd'), JSON.stringify(some)).to.match(reason)
    expect(() => findRateFault(rate({ priceId: 'price_lost' }), prices, 'usd')).to.throw('was not read')
  })
})
