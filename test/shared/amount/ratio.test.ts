import { expect } from 'chai'
import fc from 'fast-check'
import {
  addRatios,
  ceilRatio,
  compareRatios,
  divideRatios,
  floorRatio,
  formatRatio,
  isZeroRatio,
  maxRatio,
  minRatio,
  multiplyRatios,
  parseRatio,
  type Ratio,
  RATIO_ONE,
  RATIO_ZERO,
  ratioOf,
  roundDown,
  roundHalfUp,
  subtractRatios,
  sumRatios,
} from '../../../shared/amount/ratio.ts'
import { textOf, unitsOf } from '../../support/decimal-units.ts'

const SEED = 20_260_101
const whole = fc.bigInt(-(10n ** 40n), 10n ** 40n)
const ratio = fc
  .tuple(whole, fc.oneof(fc.bigInt(1n, 60n), fc.bigInt(1n, 10n ** 30n)))
  .map(([numerator, denominator]) => ratioOf(numerator, denominator))
const check = <T>(property: fc.IProperty<T>) => {
  fc.assert(property, { seed: SEED, numRuns: 300 })
}
const equal = (a: Ratio, b: Ratio) => {
  expect(formatRatio(a)).to.equal(formatRatio(b))
  expect(compareRatios(a, b)).to.equal(0)
}

describe('ratios', () => {
  it('read decimal text of any length, and write it in one form', () => {
    check(
      fc.property(whole, (units) => {
        expect(formatRatio(parseRatio(textOf(units)))).to.equal(textOf(units))
      }),
    )
    expect(
      ['007.50', '-0', '-0.000', '0.10', '100', '-5.5'].map((text) => formatRatio(parseRatio(text))),
    ).to.deep.equal(['7.5', '0', '0', '0.1', '100', '-5.5'])
    const long = `${'9'.repeat(100)}.${'0'.repeat(99)}1`
    expect(formatRatio(parseRatio(long))).to.equal(long)
    for (const text of ['', '.5', '5.', '+1', '1e3', ' 1', '1\n', '1/2', 'NaN'])
      expect(() => parseRatio(text), text).to.throw(RangeError)
  })

  it('are written as a fraction in lowest terms where no decimal is exact', () => {
    const text = (n: bigint, d: bigint) => formatRatio(ratioOf(n, d))
    expect([text(100n, 31n), text(-2n, 6n), text(10n, 36n), text(6n, -4n), text(0n, 7n)]).to.deep.equal([
      '100/31',
      '-1/3',
      '5/18',
      '-1.5',
      '0',
    ])
    expect([text(1n, 8n), text(1n, 1024n), text(3n, 125n), text(7n, 20n)]).to.deep.equal([
      '0.125',
      '0.0009765625',
      '0.024',
      '0.35',
    ])
    expect(() => ratioOf(1n, 0n)).to.throw(RangeError)
    check(
      fc.property(ratio, fc.bigInt(1n, 10n ** 9n), ({ numerator, denominator }, by) => {
        equal(ratioOf(numerator * by, denominator * by), ratioOf(numerator, denominator))
      }),
    )
  })

  it('add, subtract, multiply and divide exactly', () => {
    equal(addRatios(parseRatio('0.1'), parseRatio('0.2')), parseRatio('0.3'))
    expect(formatRatio(divideRatios(RATIO_ONE, parseRatio('0.3')))).to.equal('10/3')
    expect(() => divideRatios(RATIO_ONE, RATIO_ZERO)).to.throw(RangeError)
    check(
      fc.property(ratio, ratio, ratio, (a, b, c) => {
        equal(addRatios(a, b), addRatios(b, a))
        equal(addRatios(addRatios(a, b), c), addRatios(a, addRatios(b, c)))
        equal(multiplyRatios(a, addRatios(b, c)), addRatios(multiplyRatios(a, b), multiplyRatios(a, c)))
        equal(subtractRatios(addRatios(a, b), b), a)
        equal(sumRatios([a, b, c]), addRatios(a, addRatios(b, c)))
        if (!isZeroRatio(b)) equal(multiplyRatios(divideRatios(a, b), b), a)
        // By the definition of a sum of fractions.
        equal(
          addRatios(a, b),
          ratioOf(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator),
        )
      }),
    )
    expect(formatRatio(sumRatios([]))).to.equal('0')
  })

  it('add decimals as their 18th places do', () => {
    check(
      fc.property(whole, whole, (a, b) => {
        const sum = addRatios(parseRatio(textOf(a)), parseRatio(textOf(b)))
        expect(unitsOf(formatRatio(sum))).to.equal(a + b)
      }),
    )
  })

  it('have an order', () => {
    check(
      fc.property(ratio, ratio, (a, b) => {
        const sign = subtractRatios(a, b).numerator
        expect(Math.sign(compareRatios(a, b))).to.equal(sign === 0n ? 0 : sign < 0n ? -1 : 1)
        equal(addRatios(minRatio(a, b), maxRatio(a, b)), addRatios(a, b))
        expect(compareRatios(minRatio(a, b), maxRatio(a, b))).to.be.at.most(0)
      }),
    )
  })

  it('lie between their floor and their ceiling, also below zero', () => {
    const half = ratioOf(1n, 2n)
    const minusHalf = ratioOf(-1n, 2n)
    expect([floorRatio(half), floorRatio(minusHalf), ceilRatio(half), ceilRatio(minusHalf)]).to.deep.equal([
      0n,
      -1n,
      1n,
      0n,
    ])
    check(
      fc.property(ratio, (a) => {
        const floor = floorRatio(a)
        expect(compareRatios(ratioOf(floor), a)).to.be.at.most(0)
        expect(compareRatios(ratioOf(floor + 1n), a)).to.be.above(0)
        expect(ceilRatio(a)).to.equal(a.numerator % a.denominator === 0n ? floor : floor + 1n)
      }),
    )
  })

  it('are rounded to minor units, a tie up', () => {
    const rounded = (text: string, minorUnits: number) =>
      formatRatio(roundHalfUp(parseRatio(text), minorUnits))
    expect(
      ['0.005', '0.004999999999999999999', '0.025', '1.005', '2.675'].map((x) => rounded(x, 2)),
    ).to.deep.equal(['0.01', '0', '0.03', '1.01', '2.68'])
    expect([rounded('2.5', 0), rounded('0.0005', 3), rounded('0.00005', 4)]).to.deep.equal([
      '3',
      '0.001',
      '0.0001',
    ])
    expect(formatRatio(roundHalfUp(ratioOf(100n, 31n), 2))).to.equal('3.23')
    expect(formatRatio(roundDown(parseRatio('10.009'), 2))).to.equal('10')
    expect(formatRatio(roundDown(parseRatio('-0.001'), 2))).to.equal('-0.01')
    check(
      fc.property(ratio, fc.integer({ min: 0, max: 4 }), (a, minorUnits) => {
        const unit = ratioOf(1n, 10n ** BigInt(minorUnits))
        const off = divideRatios(subtractRatios(roundHalfUp(a, minorUnits), a), unit)
        expect(compareRatios(off, ratioOf(1n, 2n))).to.be.at.most(0)
        expect(compareRatios(off, ratioOf(-1n, 2n))).to.be.above(0)
        expect(compareRatios(roundDown(a, minorUnits), a)).to.be.at.most(0)
        expect(compareRatios(addRatios(roundDown(a, minorUnits), unit), a)).to.be.above(0)
      }),
    )
  })
})
