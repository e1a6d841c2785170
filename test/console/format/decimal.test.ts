import { expect } from 'chai'
import fc from 'fast-check'
import {
  compareDecimals,
  differenceOf,
  fillPlaces,
  isZero,
  partsOf,
  shortDecimal,
  sumDecimals,
} from '../../../console/src/format/decimal.ts'

/** Decimal text as the API writes it, of up to 38 digits. */
const decimals = fc
  .tuple(fc.boolean(), fc.bigInt({ min: 0n, max: 10n ** 38n - 1n }), fc.integer({ min: 0, max: 18 }))
  .map(([isBelow, units, places]) => {
    const digits = units.toString().padStart(places + 1, '0')
    const fraction = digits.slice(digits.length - places).replace(/0+$/, '')
    const text = digits.slice(0, digits.length - places) + (fraction === '' ? '' : `.${fraction}`)
    return isBelow && units > 0n ? `-${text}` : text
  })

describe('decimals on the screen', () => {
  it('keep every digit when they are cut into groups', () => {
    fc.assert(
      fc.property(decimals, (text) => {
        const parts = partsOf(text)
        if (parts === undefined) throw new Error(text)
        const { sign, groups, fraction } = parts
        expect(sign + groups.join('') + (fraction === '' ? '' : `.${fraction}`)).to.equal(text)
        expect(groups.slice(1).every((group) => group.length === 3)).to.equal(true)
        expect(groups[0]).to.match(/^\d{1,3}$/)
      }),
    )
  })

  it('are shortened by cutting off, never up, and never to 0', () => {
    expect(
      ['18059974.5', '1234.5', '999', '12.345', '0.00000123456', '-1999999', '0', '100'].map(shortDecimal),
    ).to.deep.equal(['18 M', '1.23 k', '999', '12.3', '0.00000123', '-1.99 M', '0', '100'])
    const units = ['', 'k', 'M', 'G', 'T', 'P', 'E']
    fc.assert(
      fc.property(decimals, (text) => {
        const [number = '', unit = ''] = shortDecimal(text).split(' ')
        const shown = scaled(number, 3 * units.indexOf(unit))
        const size = (value: string) => value.replace('-', '')
        expect(compareDecimals(size(shown), size(text))).to.be.at.most(0)
        expect(isZero(number)).to.equal(isZero(text))
        expect(number.startsWith('-')).to.equal(text.startsWith('-'))
      }),
    )
  })

  it('are filled up to the places of their currency, and not cut', () => {
    expect(fillPlaces('5.7', 2)).to.equal('5.70')
    expect(fillPlaces('5', 2)).to.equal('5.00')
    expect(fillPlaces('5.123', 2)).to.equal('5.123')
    expect(fillPlaces('5', 0)).to.equal('5')
    expect(fillPlaces('5.7', null)).to.equal('5.7')
    fc.assert(
      fc.property(decimals, fc.integer({ min: 0, max: 4 }), (text, places) => {
        expect(compareDecimals(fillPlaces(text, places), text)).to.equal(0)
      }),
    )
  })

  it('are added exactly', () => {
    expect(sumDecimals(['0.1', '0.2'])).to.equal('0.3')
    expect(sumDecimals(['12345678901234567890.000000000000000001', '-12345678901234567890'])).to.equal(
      '0.000000000000000001',
    )
    expect(sumDecimals([])).to.equal('0')
    expect(differenceOf('1640', '164')).to.equal('-1476')
    expect(differenceOf('0', '12345678901234567890.000000000000000001')).to.equal(
      '12345678901234567890.000000000000000001',
    )
  })
})

/** Multiplies decimal text by a power of ten. */
function scaled(text: string, zeros: number): string {
  const [whole = '', fraction = ''] = text.split('.')
  const digits = fraction.padEnd(zeros, '0')
  return `${whole}${digits.slice(0, zeros)}${digits.length > zeros ? `.${digits.slice(zeros)}` : ''}`
}
