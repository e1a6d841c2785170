import { expect } from 'chai'
import fc from 'fast-check'
import {
  approximate,
  cutRatio,
  daysLeft,
  parseExact,
  shareText,
} from '../../../console/src/format/fraction.ts'
import { compareRatios, formatRatio, ratioOf } from '../../../shared/amount/ratio.ts'

describe('fractions on the screen', () => {
  it('are cut, and say whether something was cut off', () => {
    expect(cutRatio({ numerator: 100n, denominator: 31n }, 4)).to.deep.equal({
      text: '3.2258',
      isExact: false,
    })
    expect(cutRatio({ numerator: 1n, denominator: 4n }, 4)).to.deep.equal({ text: '0.25', isExact: true })
    expect(cutRatio({ numerator: -1n, denominator: 3n }, 2)).to.deep.equal({ text: '-0.33', isExact: false })
    expect(cutRatio({ numerator: -1n, denominator: 300n }, 2)).to.deep.equal({ text: '0', isExact: false })
    expect(cutRatio({ numerator: 7n, denominator: 1n }, 0)).to.deep.equal({ text: '7', isExact: true })
  })

  it('have their first digits beside them, cut off and never 0', () => {
    expect(approximate('100/31')).to.equal('3.2258')
    expect(approximate('2/3')).to.equal('0.6666')
    expect(approximate('-1/3')).to.equal('-0.3333')
    expect(approximate('1/300000')).to.equal('0.000003')
    expect(approximate('12.5')).to.equal(undefined)
  })

  it('are read exactly, and their digits are never more than they are', () => {
    const parts = [fc.bigInt({ min: 0n, max: 10n ** 40n }), fc.bigInt({ min: 1n, max: 10n ** 12n })] as const
    fc.assert(
      fc.property(...parts, (numerator, denominator) => {
        const text = formatRatio(ratioOf(numerator, denominator))
        expect(formatRatio(parseExact(text))).to.equal(text)
        const digits = approximate(text)
        if (digits === undefined) return
        const [exact, cut] = [parseExact(text), parseExact(digits)]
        expect(compareRatios(cut, exact)).to.be.below(0)
        const next = {
          numerator: cut.numerator * 10_000n + cut.denominator,
          denominator: cut.denominator * 10_000n,
        }
        expect(compareRatios(next, exact)).to.be.above(0)
      }),
    )
  })

  it('say the share of a part, cut off after a place, and never 0 for what is not 0', () => {
    expect(shareText('1', '3')).to.equal('33.3 %')
    expect(shareText('2', '3')).to.equal('66.6 %')
    expect(shareText('1', '1000')).to.equal('0.1 %')
    expect(shareText('1', '1000000000000000000000000')).to.equal('< 0.1 %')
    expect(shareText('0', '5')).to.equal('0.0 %')
    expect(shareText('-1', '8')).to.equal('-12.5 %')
    expect(shareText('5', '0')).to.equal(undefined)
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 10n ** 38n }),
        fc.bigInt({ min: 0n, max: 10n ** 38n }),
        (part, more) => {
          const text = shareText(part.toString(), (part + more).toString())
          expect(text)
            .to.match(/^(< 0\.1|100\.0|\d{1,2}\.\d) %$/)
            .and.not.equal('0.0 %')
          if (more === 0n) expect(text).to.equal('100.0 %')
        },
      ),
    )
  })

  it('say how long a balance lasts', () => {
    expect(daysLeft('5191.7', '4200', 7)).to.equal('8.6')
    expect(daysLeft('1000000', '7', 7)).to.equal('1000000')
    expect(daysLeft('0.5', '7', 7)).to.equal('0.5')
    for (const [balance, used] of [
      ['0', '7'],
      ['-5', '7'],
      ['5', '0'],
      ['5', '-1'],
    ] as const)
      expect(daysLeft(balance, used, 7)).to.equal(undefined)
  })
})
