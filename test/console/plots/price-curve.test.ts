import { expect } from 'chai'
import fc from 'fast-check'
import {
  drawnUntil,
  type Piece,
  piecesOf,
  preparePrice,
  priceQuantity,
} from '../../../console/src/plots/prepare/price-curve.ts'
import {
  addRatios,
  compareRatios,
  divideRatios,
  formatRatio,
  multiplyRatios,
  parseRatio,
  type Ratio,
  RATIO_ZERO,
  ratioOf,
  subtractRatios,
} from '../../../shared/amount/ratio.ts'
import { type PriceTerms, readTerms } from '../../../shared/domain/billing/price.ts'

type MeasuredTerms = Exclude<PriceTerms<Ratio>, { model: 'flat' }>

const amounts = fc.integer({ min: 0, max: 5_000 }).map((units) => (units / 100).toString())
const sizes = fc.integer({ min: 1, max: 50 }).map(String)
const bounds = fc.record({
  includedQuantity: fc.constantFrom('0', '3', '12.5'),
  minimumAmount: fc.constantFrom(null, '1', '7.5'),
  maximumAmount: fc.constantFrom(null, '8', '90.25'),
})
const tiers = fc.array(fc.tuple(sizes, amounts, amounts), { minLength: 1, maxLength: 5 }).map((rows) => {
  let end = 0
  return rows.map(([size, unitAmount, flatAmount], index) => ({
    upTo: index === rows.length - 1 ? null : (end += parseInt(size, 10)).toString(),
    unitAmount,
    flatAmount,
  }))
})

/** Terms of every model that depends on a quantity. */
const terms: fc.Arbitrary<MeasuredTerms> = fc
  .oneof(
    fc.record({ model: fc.constant('per_unit' as const), unitAmount: amounts, per: sizes }),
    fc.record({ model: fc.constantFrom('graduated' as const, 'volume' as const), tiers, per: sizes }),
    fc.record({ model: fc.constant('package' as const), packageSize: sizes, packageAmount: amounts }),
    fc.record({ model: fc.constant('percentage' as const), percent: amounts }),
  )
  .chain((model) => bounds.map((bound) => readTerms({ ...model, ...bound }) as MeasuredTerms))

/** What a piece says of a quantity within it. */
const amountIn = ({ from, to, start, end }: Piece, quantity: Ratio): Ratio => {
  const part = divideRatios(subtractRatios(quantity, from), subtractRatios(to, from))
  return addRatios(start, multiplyRatios(part, subtractRatios(end, start)))
}

describe('the curve of a price', () => {
  it('is the price itself at every quantity that it is drawn for', () => {
    fc.assert(
      fc.property(terms, fc.integer({ min: 1, max: 997 }), (price, share) => {
        const until = drawnUntil(price)
        const quantity = multiplyRatios(until, ratioOf(BigInt(share), 997n))
        const piece = piecesOf(price, until).find(({ to }) => compareRatios(quantity, to) <= 0)
        if (piece === undefined) return expect.fail('no piece')
        expect(compareRatios(piece.from, quantity)).to.be.below(0)
        expect(formatRatio(amountIn(piece, quantity))).to.equal(
          formatRatio(priceQuantity(price, quantity).amount),
        )
      }),
      { numRuns: 500 },
    )
  })

  it('goes from 0 to where it is drawn without a gap, and its ends are exact', () => {
    fc.assert(
      fc.property(terms, (price) => {
        const until = drawnUntil(price)
        let from = RATIO_ZERO
        for (const piece of piecesOf(price, until)) {
          expect(compareRatios(piece.from, from)).to.equal(0)
          expect(compareRatios(piece.to, from)).to.be.above(0)
          expect(formatRatio(piece.end)).to.equal(formatRatio(priceQuantity(price, piece.to).amount))
          from = piece.to
        }
        expect(compareRatios(from, until)).to.equal(0)
      }),
    )
  })

  it('holds an amount within its bounds, the least last, and says which one held it', () => {
    const price = readTerms({
      ...{ model: 'per_unit', unitAmount: '2', per: '3', includedQuantity: '1' },
      ...{ minimumAmount: '5', maximumAmount: '10' },
    })
    const said = (quantity: string) => {
      const { billable, amount, bound } = priceQuantity(price, parseRatio(quantity))
      return [formatRatio(billable), formatRatio(amount), bound]
    }
    expect(said('0')).to.deep.equal(['0', '5', 'minimum'])
    expect(said('9')).to.deep.equal(['8', '16/3', undefined])
    expect(said('100')).to.deep.equal(['99', '10', 'maximum'])
  })

  it('is drawn in pixels, also where numbers are longer than a float', () => {
    const price = readTerms({
      ...{ model: 'per_unit', unitAmount: '99999999999999999999.000000000000000001', per: '1' },
      ...{ includedQuantity: '99999999999999999999', minimumAmount: null, maximumAmount: null },
    }) as MeasuredTerms
    const { path, box, ends } = preparePrice(piecesOf(price, drawnUntil(price)), { width: 400, height: 200 })
    expect(path).to.match(/^M[\d.,LM-]+$/)
    expect(ends.at(-1)?.x).to.be.closeTo(box.right, 0.01)
    expect(ends.at(-1)?.y).to.be.closeTo(box.top, 0.01)
  })
})
