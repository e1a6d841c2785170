import { expect } from 'chai'
import fc from 'fast-check'
import {
  addAmounts,
  amountFromDatabase,
  averageAmount,
  canonicalAmount,
  compareAmounts,
  findAmountFault,
  formatAmount,
  parseAmount,
  subtractAmounts,
} from '../../../shared/amount/amount.ts'

const SCALE = 18

/** An amount as a whole number of its 18th place: the model that everything is compared with. */
const unitsOf = (text: string): bigint => {
  const [, sign = '', integer = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  const units = BigInt(integer + fraction.padEnd(SCALE, '0'))
  return sign === '-' ? -units : units
}

const textOf = (units: bigint): string => {
  const digits = (units < 0n ? -units : units).toString().padStart(SCALE + 1, '0')
  const fraction = digits.slice(-SCALE).replace(/0+$/, '')
  return `${units < 0n ? '-' : ''}${digits.slice(0, -SCALE)}${fraction === '' ? '' : `.${fraction}`}`
}

const digits = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: min, maxLength: max })
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

  it('add and subtract exactly, also far beyond one amount’s range', () => {
    fc.assert(
      fc.property(fc.array(amountText, { maxLength: 200 }), amountText, (texts, other) => {
        const sum = texts.reduce((total, text) => addAmounts(total, parseAmount(text)), parseAmount('0'))
        const model = texts.reduce((total, text) => total + unitsOf(text), 0n)
        expect(formatAmount(sum)).to.equal(textOf(model))
        expect(formatAmount(subtractAmounts(sum, parseAmount(other)))).to.equal(
          textOf(model - unitsOf(other)),
        )
      }),
    )
    const most = parseAmount('99999999999999999999.999999999999999999')
    let sum = most
    for (let i = 0; i < 40; i++) sum = addAmounts(sum, sum)
    expect(formatAmount(sum)).to.equal(textOf(unitsOf('99999999999999999999.999999999999999999') * 2n ** 40n))
  })

  it('compare as numbers', () => {
    fc.assert(
      fc.property(amountText, amountText, (a, b) => {
        const model = unitsOf(a) < unitsOf(b) ? -1 : unitsOf(a) > unitsOf(b) ? 1 : 0
        expect(compareAmounts(parseAmount(a), parseAmount(b))).to.equal(model)
      }),
    )
  })

  it('have a mean to 18 places, half even', () => {
    const halfEven = (sum: bigint, count: bigint): bigint => {
      const negative = sum < 0n
      const magnitude = negative ? -sum : sum
      const floor = magnitude / count
      const twice = (magnitude % count) * 2n
      const rounded = twice > count || (twice === count && floor % 2n === 1n) ? floor + 1n : floor
      return negative ? -rounded : rounded
    }
    fc.assert(
      fc.property(fc.bigInt(-(10n ** 40n), 10n ** 40n), fc.bigInt(1n, 10n ** 18n), (count, divisor) => {
        const sum = count * divisor + count
        const average = averageAmount(amountFromDatabase(textOf(sum)), divisor)
        expect(formatAmount(average)).to.equal(textOf(halfEven(sum, divisor)))
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
