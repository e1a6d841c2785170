import { expect } from 'chai'
import { formatRatio, parseRatio } from '../../../../shared/amount/ratio.ts'
import type { Contract, ContractLine, PriceOverride } from '../../../../shared/domain/billing/contract.ts'
import type { CreditGrant } from '../../../../shared/domain/billing/credit.ts'
import { type Invoice, minorUnitsOf, type NewestCredits } from '../../../../shared/domain/billing/invoice.ts'
import { defaultSecond, planInvoice } from '../../../../shared/domain/billing/plan.ts'
import type { Rate } from '../../../../shared/domain/billing/rate.ts'
import { cardLineOf, dailyContract, previewOf } from '../../../support/billing-stage.ts'
import {
  type EventJson,
  priceFromJson,
  type PriceJson,
  rateFromJson,
} from '../../../support/billing-vectors.ts'

const DAY_S = 86_400

const unit = (product_id: string, unit_amount: string): PriceJson => ({
  product_id,
  currency: 'usd',
  model: 'per_unit',
  unit_amount,
})
const PRICES = new Map(
  Object.entries<PriceJson>({
    price_one: unit('product_a', '1'),
    price_two: unit('product_a', '2'),
    price_deal: unit('product_a', '0.5'),
    price_rest_deal: unit('product_a', '0.25'),
    price_other: unit('product_b', '7'),
    price_committed: { ...unit('product_a', '1'), minimum_amount: '3' },
    price_fee: { product_id: 'product_a', currency: 'usd', model: 'flat', amount: '9' },
    price_fee_deal: { product_id: 'product_a', currency: 'usd', model: 'flat', amount: '5' },
    price_huge: unit('product_a', '3000000000000000000'),
    price_tiers: {
      product_id: 'product_a',
      currency: 'usd',
      model: 'graduated',
      tiers: [
        { up_to: '0.25', unit_amount: '0' },
        { up_to: null, unit_amount: '12' },
      ],
    },
    price_cut: { product_id: 'product_a', currency: 'usd', model: 'percentage', percent: '50' },
    price_once: { product_id: 'product_c', currency: 'usd', model: 'flat', amount: '9', recurring: false },
  }).map(([id, json]) => [id, priceFromJson(id, json)]),
)

const cardLine = cardLineOf
const contract = (...lines: ContractLine[]): Contract => dailyContract(lines)

let next = 0
const event = (source: string, quantity: string, model?: unknown, occurredAt = 10): EventJson => ({
  id: `event_${++next}`,
  source,
  quantity,
  occurred_at: occurredAt,
  accepted_at: occurredAt,
  ...(model !== undefined && { properties: { model } }),
})

interface Asked {
  rates?: Rate[]
  events?: EventJson[]
  grants?: CreditGrant[]
  creditsWritten?: NewestCredits
  at?: number
  asOf?: number
}

const preview = (
  of: Contract,
  { rates = [], events = [], at = 0, asOf = 10 * DAY_S, ...asked }: Asked = {},
) => previewOf(of, { ...asked, prices: PRICES, rates, events, at, asOf, usageAsOf: 4, now: 5 })

const byModel = (some: { value: string; price_id: string }[], rest?: string, id = 'rate_a'): Rate =>
  rateFromJson({
    id,
    source: 'metric_t',
    starts_at: 0,
    group_by: 'model',
    prices: some,
    ...(rest !== undefined && { price_id: rest }),
  })

const shown = ({ lines }: Invoice) =>
  lines.map(({ value, price, quantity, amount }) => [
    value,
    price.id,
    formatRatio(quantity),
    formatRatio(amount),
  ])

const shownUnrated = ({ unrated }: Invoice) =>
  unrated.map(({ source, eventCount, quantity }) => [source, eventCount, formatRatio(quantity)])

describe('an invoice', () => {
  it('tells what it is of', () => {
    const { contractId, accountId, currency, status, period, fullPeriod, asOf, usageAsOf } = preview(
      {
        ...contract(cardLine()),
        startsAt: 2,
        endsAt: 20,
      },
      { at: 3, asOf: 7 },
    )
    expect({ contractId, accountId, currency, status, period, fullPeriod, asOf, usageAsOf }).to.deep.equal({
      contractId: '6f1d3f0e-0000-4000-8000-000000000001',
      accountId: 'account_a',
      currency: 'usd',
      status: 'active',
      period: { startAt: 2, endAt: 20 },
      fullPeriod: { startAt: 0, endAt: DAY_S },
      asOf: 7,
      usageAsOf: 4,
    })
  })

  it('is of a second within the contract alone', () => {
    const of = { ...contract(cardLine()), startsAt: 100, cancelAt: 200 }
    for (const at of [99, 200])
      expect(() => preview(of, { at }))
        .to.throw()
        .with.property('code', 'unprocessable')
    expect(preview(of, { at: 100 }).period).to.deep.equal(preview(of, { at: 199 }).period)
    expect([defaultSecond(of, 150), defaultSecond(of, 5_000)]).to.deep.equal([150, 199])
    expect(() => preview({ ...of, cancelAt: 50 }, { at: 60 }))
      .to.throw()
      .with.property('code', 'unprocessable')
  })

  it('lists values by code point and the rest last, and those alone that have events or an amount', () => {
    // Above code point 65,536, JavaScript's own order differs from that of code points.
    const values = ['\u{1F600}', '\uFF5E', 'b', 'B', 'unused']
    const rates = [
      byModel(
        values.map((value) => ({ value, price_id: 'price_one' })),
        'price_two',
      ),
    ]
    const events = ['\u{1F600}', '\uFF5E', 'b', 'B', 'unlisted'].map((model) => event('metric_t', '1', model))
    expect(shown(preview(contract(cardLine()), { rates, events })).map(([value]) => value)).to.deep.equal([
      'B',
      'b',
      '\uFF5E',
      '\u{1F600}',
      null,
    ])
    const committed = [byModel([{ value: 'b', price_id: 'price_committed' }], 'price_one')]
    expect(shown(preview(contract(cardLine()), { rates: committed }))).to.deep.equal([
      ['b', 'price_committed', '0', '3'],
    ])
  })

  it('prices an average as the quotient that it is, and shows it with 18 places', () => {
    const averaged = (price_id: string, ...quantities: string[]) => {
      const rates = [
        rateFromJson({ id: 'rate_a', source: 'metric_t', aggregation: 'avg', starts_at: 0, price_id }),
      ]
      const events = quantities.map((quantity) => event('metric_t', quantity))
      const { lines, warnings } = preview(contract(cardLine()), { rates, events })
      return lines.map(({ quantity, billableQuantity, exactAmount, amount }) => [
        ...[quantity, billableQuantity, exactAmount, amount].map(formatRatio),
        ...warnings.map(({ code }) => code),
      ])
    }
    // With 18 places, a third of a price of 3 * 10^18 would be wrong by a dollar.
    expect(averaged('price_huge', '1', '0', '0')).to.deep.equal([
      ['0.333333333333333333', '1/3', '1000000000000000000', '1000000000000000000'],
    ])
    expect(averaged('price_huge', '2', '2', '-2')).to.deep.equal([
      ['0.666666666666666667', '2/3', '2000000000000000000', '2000000000000000000'],
    ])
    expect(averaged('price_tiers', '1', '0', '0')).to.deep.equal([['0.333333333333333333', '1/3', '1', '1']])
    expect(averaged('price_one', '1.5', '2.5')).to.deep.equal([['2', '2', '2', '2']])
    // A negative average that rounds to 0 with 18 places.
    const least = '-0.000000000000000001'
    expect(averaged('price_one', least, '0', '0', '0')).to.deep.equal([
      ['0', '0', '0', '0', 'negative_quantity'],
    ])
    expect(averaged('price_one')).to.deep.equal([['0', '0', '0', '0']])
  })

  it('takes the greatest of the rest, not all less what is listed', () => {
    const rates = [
      { ...byModel([{ value: 'large', price_id: 'price_one' }], 'price_two'), aggregation: 'max' as const },
    ]
    const events = [event('metric_t', '9', 'large'), event('metric_t', '4', 'tiny'), event('metric_t', '5')]
    expect(shown(preview(contract(cardLine()), { rates, events }))).to.deep.equal([
      ['large', 'price_one', '9', '9'],
      [null, 'price_two', '5', '10'],
    ])
  })

  it('bills negative usage as none, and says so', () => {
    const rates = [rateFromJson({ id: 'rate_a', source: 'metric_t', starts_at: 0, price_id: 'price_one' })]
    const invoice = preview(contract(cardLine()), { rates, events: [event('metric_t', '-5')] })
    expect(shown(invoice)).to.deep.equal([[null, 'price_one', '-5', '0']])
    expect(formatRatio(invoice.lines[0]?.billableQuantity ?? parseRatio('1'))).to.equal('0')
    expect(invoice.warnings).to.deep.equal([
      { code: 'negative_quantity', lineId: 'line_card', rateId: 'rate_a', value: null },
    ])
  })

  it('takes the contract’s price: for the value, for the rest, for the product, and names what is unused', () => {
    const rates = [
      byModel(
        [
          { value: 'large', price_id: 'price_one' },
          { value: 'small', price_id: 'price_one' },
        ],
        'price_two',
      ),
    ]
    const events = ['large', 'small', 'tiny'].map((model) => event('metric_t', '4', model))
    const pricesWith = (...priceOverrides: PriceOverride[]) => {
      const invoice = preview(contract(cardLine({ priceOverrides })), { rates, events })
      return [...shown(invoice).map(([, id]) => id), invoice.warnings.length]
    }
    const product = { productId: 'product_a', priceId: 'price_deal' }
    const rest = { productId: 'product_a', value: null, priceId: 'price_rest_deal' }
    const large = { productId: 'product_a', value: 'large', priceId: 'price_two' }
    const unknown = { productId: 'product_a', value: 'huge', priceId: 'price_deal' }
    const other = { productId: 'product_b', priceId: 'price_other' }
    expect(pricesWith()).to.deep.equal(['price_one', 'price_one', 'price_two', 0])
    expect(pricesWith(product)).to.deep.equal(['price_deal', 'price_deal', 'price_deal', 0])
    expect(pricesWith(rest)).to.deep.equal(['price_one', 'price_one', 'price_rest_deal', 0])
    expect(pricesWith(product, rest, large)).to.deep.equal(['price_two', 'price_deal', 'price_rest_deal', 0])
    expect(pricesWith(unknown, other)).to.deep.equal(['price_one', 'price_one', 'price_two', 2])
    expect(preview(contract(cardLine({ priceOverrides: [other] })), { rates }).warnings).to.deep.equal([
      { code: 'override_unused', lineId: 'line_card', override: other },
    ])
  })

  it('takes the contract’s price where what is rated can feed it, and the card’s elsewhere', () => {
    const rate = (id: string, source: string | undefined, price_id: string) =>
      rateFromJson({ id, starts_at: 0, price_id, ...(source !== undefined && { source }) })
    const rates = [
      rate('rate_a', 'metric_t', 'price_one'),
      rate('rate_b', 'eur', 'price_two'),
      rate('rate_c', undefined, 'price_fee'),
    ]
    const events = [event('metric_t', '4'), event('eur', '4')]
    const pricesWith = (priceId: string) => {
      const priceOverrides = [{ productId: 'product_a', priceId }]
      const invoice = preview(contract(cardLine({ priceOverrides })), { rates, events })
      return [...shown(invoice).map(([, id]) => id), invoice.warnings.length]
    }
    expect(pricesWith('price_deal')).to.deep.equal(['price_deal', 'price_deal', 'price_fee', 0])
    expect(pricesWith('price_fee_deal')).to.deep.equal(['price_one', 'price_two', 'price_fee_deal', 0])
    expect(pricesWith('price_cut')).to.deep.equal(['price_cut', 'price_two', 'price_fee', 0])
    expect(pricesWith('price_once')).to.deep.equal(['price_one', 'price_two', 'price_fee', 1])
  })

  it('tells of a source under two aggregations what the one leaves that reaches most', () => {
    const rates = [
      byModel([{ value: 'large', price_id: 'price_one' }], undefined, 'rate_sum'),
      {
        ...byModel(
          [
            { value: 'large', price_id: 'price_one' },
            { value: 'small', price_id: 'price_one' },
          ],
          undefined,
          'rate_count',
        ),
        aggregation: 'count' as const,
      },
    ]
    const events = [
      event('metric_t', '1', 'large'),
      event('metric_t', '2', 'small'),
      event('metric_t', '4', 'tiny'),
      event('metric_t', '8'),
      event('metric_a', '16', 'large'),
    ]
    const invoice = preview(contract(cardLine()), { rates, events })
    expect(shownUnrated(invoice)).to.deep.equal([
      ['metric_a', 1n, '16'],
      ['metric_t', 2n, '12'],
    ])
  })

  it('adds up what pieces leave, each by its own rates', () => {
    const rates = [rateFromJson({ id: 'rate_a', source: 'metric_t', starts_at: 100, price_id: 'price_one' })]
    const lines = [cardLine({ id: 'line_1', endsAt: 100 }), cardLine({ id: 'line_2', startsAt: 100 })]
    const events = [
      event('metric_t', '1', undefined, 99),
      event('metric_t', '2', undefined, 100),
      event('metric_u', '4', undefined, 99),
      event('metric_u', '8', undefined, 100),
    ]
    const invoice = preview(contract(...lines), { rates, events })
    expect(shownUnrated(invoice)).to.deep.equal([
      ['metric_t', 1n, '1'],
      ['metric_u', 2n, '12'],
    ])
  })

  it('asks for the usage of card lines alone, by the values that rates in force name', () => {
    const rates = [
      byModel([{ value: 'large', price_id: 'price_one' }], undefined, 'rate_a'),
      rateFromJson({
        id: 'rate_b',
        source: 'metric_t',
        aggregation: 'count',
        starts_at: 0,
        price_id: 'price_one',
        filters: [
          { property: 'model', values: ['small'] },
          { property: 'region', values: ['eu'] },
        ],
      }),
      { ...byModel([{ value: 'huge', price_id: 'price_one' }], undefined, 'rate_c'), startsAt: 50 },
      rateFromJson({ id: 'rate_d', source: 'metric_u', starts_at: 0, price_id: 'price_one' }),
    ]
    const lines: ContractLine[] = [
      { kind: 'minimum', id: 'line_1', startsAt: 0, endsAt: null, minimumAmount: '5' },
      cardLine({ id: 'line_2', endsAt: 100 }),
      cardLine({ id: 'line_3', startsAt: 200 }),
    ]
    const planAt = (asOf: number) =>
      planInvoice(contract(...lines.slice(0, 2)), new Map([['card', rates]]), { at: 0, asOf })
    const { usage, pieces } = planAt(60)
    expect(pieces.map(({ line }) => line.id)).to.deep.equal(['line_1', 'line_2'])
    expect(usage.ranges).to.deep.equal([{ piece: 1, startAt: 0, endAt: 60 }])
    expect(usage.named).to.deep.equal(
      new Map([
        [
          'metric_t',
          new Map([
            ['model', new Set(['large', 'small'])],
            ['region', new Set(['eu'])],
          ]),
        ],
      ]),
    )
    expect(planAt(1_000).usage.ranges).to.deep.equal([{ piece: 1, startAt: 0, endAt: 100 }])
    expect(planAt(0).usage.ranges).to.deep.equal([])
    const later = planInvoice(contract(...lines), new Map([['card', rates]]), { at: 0, asOf: 1_000 })
    expect(later.usage.named.get('metric_t')?.get('model')).to.deep.equal(new Set(['large', 'small', 'huge']))
    expect(() => planInvoice(contract(cardLine()), new Map(), { at: 0, asOf: 0 })).to.throw('was not read')
  })

  it('charges once what is due once, whole, also when its line starts within a period', () => {
    const once: ContractLine = {
      kind: 'price',
      id: 'line_once',
      startsAt: 40_000,
      endsAt: null,
      priceId: 'price_once',
      quantity: '1',
      discountPercent: '0',
    }
    expect(shown(preview(contract(once)))).to.deep.equal([[null, 'price_once', '1', '9']])
    expect(shown(preview(contract(once), { at: DAY_S }))).to.deep.equal([])
  })

  it('counts credit that is due and not yet written, as it will be', () => {
    const lines: ContractLine[] = [
      {
        kind: 'price',
        id: 'line_fee',
        startsAt: 0,
        endsAt: null,
        priceId: 'price_other',
        quantity: '10',
        discountPercent: '0',
      },
      {
        kind: 'credit',
        id: 'line_credit',
        startsAt: 0,
        endsAt: null,
        amount: '30',
        source: 'usd',
        expires: 'period_end',
      },
      {
        kind: 'credit',
        id: 'line_metric',
        startsAt: 0,
        endsAt: null,
        amount: '30',
        source: 'metric_t',
        expires: 'never',
      },
    ]
    const creditOf = (asked: Asked) => {
      const { creditsApplied, amountDue } = preview(contract(...lines), { at: DAY_S, ...asked })
      return [
        creditsApplied.map(({ grantId, amount }) => [grantId, formatRatio(amount)]),
        formatRatio(amountDue),
      ]
    }
    // The credit of the first day has expired, and that of the third has not begun.
    expect(creditOf({})).to.deep.equal([[[null, '30']], '40'])
    const written: CreditGrant = {
      id: 'grant_a',
      amount: parseRatio('30'),
      effectiveAt: DAY_S,
      expiresAt: 2 * DAY_S,
      voidedAt: null,
      archivedAt: null,
    }
    const creditsWritten = new Map([['line_credit', DAY_S]])
    expect(creditOf({ grants: [written], creditsWritten })).to.deep.equal([[['grant_a', '30']], '40'])
    // Voided credit is not given again.
    expect(creditOf({ grants: [{ ...written, voidedAt: DAY_S }], creditsWritten })).to.deep.equal([[], '70'])
    // As of the second it begins it is not yet in force, while that of the day before, which ends then, still is.
    const firstWritten = new Map([['line_credit', 0]])
    expect(creditOf({ asOf: DAY_S, creditsWritten: firstWritten })).to.deep.equal([[], '70'])
    expect(creditOf({ asOf: DAY_S })).to.deep.equal([[[null, '30']], '40'])
    expect(creditOf({ asOf: DAY_S + 1, creditsWritten: firstWritten })).to.deep.equal([[[null, '30']], '40'])
  })

  it('goes through no period of which the credit is written or over, however long the contract has run', () => {
    const years = 5 * 365
    const minimum: ContractLine = {
      kind: 'minimum',
      id: 'line_minimum',
      startsAt: 0,
      endsAt: null,
      minimumAmount: '100',
    }
    for (const [expires, creditsWritten, wanted] of [
      ['period_end', new Map(), 1],
      ['never', new Map([['line_credit', (years - 2) * DAY_S]]), 1],
      ['never', new Map([['line_credit', (years - 5) * DAY_S]]), 4],
    ] as const) {
      let looks = 0
      const line: ContractLine = {
        kind: 'credit',
        id: 'line_credit',
        startsAt: 0,
        get endsAt() {
          looks++
          return null
        },
        amount: '1',
        source: 'usd',
        expires,
      }
      const { creditsApplied } = preview(contract(line, minimum), {
        at: years * DAY_S - 1,
        asOf: years * DAY_S,
        creditsWritten,
      })
      expect(creditsApplied.length, expires).to.equal(wanted)
      expect(looks, expires).to.be.below(100)
    }
  })

  it('is in a currency that has minor units', () => {
    expect(() => minorUnitsOf('xau')).to.throw('no minor units')
    expect(() => minorUnitsOf('zzz')).to.throw('no minor units')
  })
})
