import { expect } from 'chai'
import { cutRatio, daysLeft } from '../../../console/src/format/fraction.ts'

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
