import { expect } from 'chai'
import fc from 'fast-check'
import {
  amountFromDatabase,
  averageAmount,
  canonicalAmount,
  findAmountFault,
  formatAmount,
  parseAmount,
  subtractAmounts,
} from '../../../shared/amount/amount.ts'
import { divideHalfEven, textOf, unitsOf } from '../../support/decimal-units.ts'

const digits = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'.split('')), minLength: min, maxLength: max })
const amountText = fc
  .tuple(fc.boolean(), digits(1, 20), fc.option(digits(1, 18)))
  .map(
    ([negative, integer, fraction]) =>
      `${negative ? '-' : ''}${integer}${fraction === null ? '' : `.${fraction}`}`,
  )

describe('amounts', () => {
  it('keep every digit of what is accepted', () => {
    fc.assert(
      fc.property(amountText, (text) => {
        expect(formatAmount(parseAmount(text))).to.equal(textOf(unitsOf(text)))
      }),
    )
  })

  it('are stored in one form, whatever form they came in', () => {
    fc.assert(
      fc.property(amountText, (text) => {
        expect(canonicalAmount(text)).to.equal(textOf(unitsOf(text)))
      }),
    )
    expect(['007.50', '-0', '-0.000', '0.10', '100', '-5'].map(canonicalAmount)).to.deep.equal([
      '7.5',
      '0',
      '0',
      '0.1',
      '100',
      '-5',
    ])
  })

  it('subtract exactly, also far beyond one amount’s range', () => {
    const total = fc.bigInt(-(10n ** 58n), 10n ** 58n).map(textOf)
    fc.assert(
      fc.property(total, total, (a, b) => {
        const difference = subtractAmounts(amountFromDatabase(a), amountFromDatabase(b))
        expect(formatAmount(difference)).to.equal(textOf(unitsOf(a) - unitsOf(b)))
      }),
    )
  })

  it('have a mean to 18 places, half even', () => {
    fc.assert(
      fc.property(fc.bigInt(-(10n ** 40n), 10n ** 40n), fc.bigInt(1n, 10n ** 18n), (count, divisor) => {
        const sum = count * divisor + count
        const average = averageAmount(amountFromDatabase(textOf(sum)), divisor)
        expect(formatAmount(average)).to.equal(textOf(divideHalfEven(sum, divisor)))
      }),
    )
    const tie = (units: bigint) => formatAmount(averageAmount(amountFromDatabase(textOf(units)), 2n))
    expect([1n, 3n, 5n, -1n, -3n].map(tie)).to.deep.equal([
      '0',
      '0.000000000000000002',
      '0.000000000000000002',
      '0',
      '-0.000000000000000002',
    ])
  })

  it('say what is wrong with a text that is none', () => {
    const cases: [string, RegExp][] = [
      ['1e3', /not a plain decimal/],
      ['NaN', /not a plain decimal/],
      ['Infinity', /not a plain decimal/],
      ['.5', /not a plain decimal/],
      ['5.', /not a plain decimal/],
      ['+5', /not a plain decimal/],
      [' 5', /not a plain decimal/],
      ['5\n', /not a plain decimal/],
      ['1,000', /not a plain decimal/],
      ['0x10', /not a plain decimal/],
      ['٣', /not a plain decimal/],
      ['', /not a plain decimal/],
      ['-', /not a plain decimal/],
      ['111111111111111111111', /21 digits before the decimal point/],
      ['-111111111111111111111', /21 digits before the decimal point/],
      ['0.1234567890123456789', /19 decimal places/],
      ['9'.repeat(100_000), /100000 digits before/],
    ]
    for (const [text, reason] of cases) {
      expect(findAmountFault(text)).to.match(reason)
      expect(() => parseAmount(text))
        .to.throw()
        .with.property('code', 'malformed')
    }
    expect(findAmountFault('-99999999999999999999.999999999999999999')).to.equal(undefined)
  })
})
