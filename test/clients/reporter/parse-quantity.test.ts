import { expect } from 'chai'
import fc from 'fast-check'
import { parseQuantity } from '../../../clients/reporter/import/parse-quantity.ts'
import { plainDigits } from '../../../clients/reporter/import/plain-digits.ts'
import { findAmountFault } from '../../../shared/amount/amount.ts'

describe('quantities in files', () => {
  const TAKEN: [string, string][] = [
    ['12.5', '12.5'],
    ['-0.000000000000000001', '-0.000000000000000001'],
    ['12345678901234567890.123456789012345678', '12345678901234567890.123456789012345678'],
    ['007.50', '007.50'],
    [' 12.5 ', '12.5'],
    ['+12.5', '12.5'],
    ['.5', '0.5'],
    ['-.5', '-0.5'],
    ['5.', '5'],
    ['0.10000000000000000000000', '0.1'],
    ['000000000000000000000012', '12'],
    ['1.0000000000000000000', '1'],
  ]
  for (const [text, quantity] of TAKEN)
    it(`takes ${JSON.stringify(text)} as ${quantity}`, () => {
      expect(parseQuantity(text, false)).to.equal(quantity)
    })

  const REFUSED: [string, string][] = [
    ['1,234', 'separators'],
    ['1,234,567.89', 'separators'],
    ['1.234.567,89', 'plain decimal number'],
    ['1 234', 'separators'],
    ["1'234", 'separators'],
    ['1_000', 'separators'],
    ['12,5', 'comma'],
    ['(12.50)', 'brackets'],
    ['$12.50', 'currency'],
    ['12%', 'percentage'],
    ['1.5E+3', '--allow-exponents'],
    ['5e-06', '--allow-exponents'],
    ['NaN', 'plain decimal number'],
    ['Infinity', 'plain decimal number'],
    ['NULL', 'plain decimal number'],
    ['0x10', 'plain decimal number'],
    ['--5', 'plain decimal number'],
    ['+-5', 'plain decimal number'],
    ['.', 'plain decimal number'],
    ['١٢', 'plain decimal number'],
    ['123456789012345678901', 'digits before the decimal point'],
    ['0.1234567890123456789', 'decimal places'],
  ]
  for (const [text, reason] of REFUSED)
    it(`refuses ${JSON.stringify(text)} and says why`, () => {
      expect(parseQuantity(text, false)).to.have.property('fault').that.contains(reason)
    })

  it('takes exponents when it is told that they are exact', () => {
    expect(parseQuantity('5e-06', true)).to.equal('0.000005')
    expect(parseQuantity('+1.5E+3', true)).to.equal('1500')
    expect(parseQuantity('1e-19', true)).to.have.property('fault').that.contains('decimal places')
    expect(parseQuantity('1e999999999', true)).to.have.property('fault')
  })

  it('never changes a value', () => {
    const digits = (max: number) => fc.stringMatching(new RegExp(`^[0-9]{0,${max}}$`))
    fc.assert(
      fc.property(fc.constantFrom('', '-', '+'), digits(25), digits(22), (sign, whole, places) => {
        const text = `${sign}${whole}.${places}`
        const quantity = parseQuantity(text, false)
        if (typeof quantity !== 'string') return
        expect(findAmountFault(quantity)).to.equal(undefined)
        expect(unitsOf(quantity)).to.equal(unitsOf(text.replace('+', '')))
      }),
    )
  })

  it('writes exponents out exactly', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10n ** 20n }),
        fc.integer({ min: -40, max: 40 }),
        (n, exponent) => {
          const text = plainDigits(`${n.toString()}e${exponent}`)
          expect(unitsOf(text ?? '')).to.equal(n * 10n ** BigInt(60 + exponent))
        },
      ),
    )
  })
})

/** A decimal text in units of 10^-60. */
function unitsOf(text: string): bigint {
  const [whole = '', places = ''] = text.replace('-', '').split('.')
  const units = BigInt(`${whole}${places.padEnd(60, '0')}`)
  return text.startsWith('-') ? -units : units
}
