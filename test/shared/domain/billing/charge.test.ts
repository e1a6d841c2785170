import { expect } from 'chai'
import fc from 'fast-check'
import { formatRatio, parseRatio, sumRatios } from '../../../../shared/amount/ratio.ts'
import { chargeOf } from '../../../../shared/domain/billing/charge.ts'
import { costOf } from '../../../../shared/domain/billing/cost.ts'
import { type PriceTerms, readTerms } from '../../../../shared/domain/billing/price.ts'
import { chargeToJson } from '../../../support/billing-answers.ts'
import { naiveCharge, type NaiveRequest } from '../../../support/naive-price.ts'
import { bounds, decimal, per, quantityText, share, terms, tiers } from '../../../support/random-prices.ts'

const SEED = 20_260_102

const charge = (price: PriceTerms, request: NaiveRequest) =>
  chargeOf(readTerms(price), {
    ...request,
    quantity: parseRatio(request.quantity),
    discountPercent: parseRatio(request.discountPercent),
  })

const request: fc.Arbitrary<NaiveRequest> = fc.record({
  quantity: quantityText,
  isMeasured: fc.boolean(),
  share,
  discountPercent: fc.constantFrom('0', '0', '10', '12.5', '33.333', '100'),
  startsHere: fc.boolean(),
  minorUnits: fc.constantFrom(0, 2, 3, 4),
})

describe('charges', () => {
  it('are what a second, naive implementation makes of any price', () => {
    fc.assert(
      fc.property(terms, request, (price, wanted) => {
        expect(chargeToJson(charge(price, wanted))).to.deep.equal(naiveCharge(price, wanted))
      }),
      { seed: SEED, numRuns: 3_000 },
    )
  })

  it('are the same at any quantity that is a bound of a tier', () => {
    fc.assert(
      fc.property(
        tiers,
        fc.constantFrom('graduated' as const, 'volume' as const),
        request,
        (steps, model, wanted) => {
          const price: PriceTerms = {
            model,
            tiers: steps,
            per: '1',
            includedQuantity: '0',
            minimumAmount: null,
            maximumAmount: null,
          }
          for (const { upTo } of steps) {
            if (upTo === null) continue
            const atBound = { ...wanted, quantity: upTo }
            expect(chargeToJson(charge(price, atBound))).to.deep.equal(naiveCharge(price, atBound))
          }
        },
      ),
      { seed: SEED, numRuns: 500 },
    )
  })

  it('of one tier are those by the unit, graduated or by volume', () => {
    fc.assert(
      fc.property(bounds, decimal(9n), per, request, (bound, unitAmount, of, wanted) => {
        const tier = { upTo: null, unitAmount, flatAmount: '0' }
        const amounts = [
          charge({ ...bound, model: 'per_unit', unitAmount, per: of }, wanted),
          charge({ ...bound, model: 'graduated', tiers: [tier], per: of }, wanted),
          charge({ ...bound, model: 'volume', tiers: [tier], per: of }, wanted),
        ].map(({ exactAmount, amount }) => [formatRatio(exactAmount), formatRatio(amount)])
        expect(amounts[1]).to.deep.equal(amounts[0])
        expect(amounts[2]).to.deep.equal(amounts[0])
      }),
      { seed: SEED, numRuns: 500 },
    )
  })

  it('show tiers that hold all of the quantity and make all of the cost', () => {
    fc.assert(
      fc.property(terms, quantityText, (price, text) => {
        const quantity = parseRatio(text.replace('-', ''))
        const cost = costOf(readTerms(price), quantity)
        expect(cost.tiers !== undefined).to.equal(price.model === 'graduated' || price.model === 'volume')
        if (cost.tiers === undefined) return
        expect(formatRatio(sumRatios(cost.tiers.map((tier) => tier.quantity)))).to.equal(
          formatRatio(quantity),
        )
        expect(formatRatio(sumRatios(cost.tiers.map((tier) => tier.exactAmount)))).to.equal(
          formatRatio(cost.exactAmount),
        )
      }),
      { seed: SEED, numRuns: 1_000 },
    )
  })

  it('count packages exactly where floats fill one more', () => {
    for (const [quantity, packageSize, packages] of [
      ['0.07', '0.01', '7'],
      ['1.12', '0.02', '56'],
      ['0.070000000000000001', '0.01', '8'],
    ] as const) {
      const price: PriceTerms = {
        model: 'package',
        packageSize,
        packageAmount: '1',
        includedQuantity: '0',
        minimumAmount: null,
        maximumAmount: null,
      }
      expect(formatRatio(costOf(readTerms(price), parseRatio(quantity)).exactAmount)).to.equal(packages)
    }
    // The vectors' 1.1 in packages of 0.1 is no such case: in doubles it is 11, too.
    expect([0.07 / 0.01, 1.12 / 0.02, 1.1 / 0.1].map(Math.ceil)).to.deep.equal([8, 57, 11])
  })

  it('name the bound that holds, and neither where the amount is already there', () => {
    const price: PriceTerms = {
      model: 'per_unit',
      unitAmount: '1',
      per: '1',
      includedQuantity: '0',
      minimumAmount: '5',
      maximumAmount: '9',
    }
    const boundAt = (quantity: string) =>
      charge(price, {
        quantity,
        isMeasured: true,
        share: { seconds: 1, of: 1 },
        discountPercent: '0',
        startsHere: true,
        minorUnits: 2,
      }).bound
    expect(['4.99', '5', '7', '9', '9.01'].map(boundAt)).to.deep.equal([
      'minimum',
      undefined,
      undefined,
      undefined,
      'maximum',
    ])
  })
})
