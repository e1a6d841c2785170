import { expect } from 'chai'
import fc from 'fast-check'
import { meanDays } from '../../../console/src/format/mean-days.ts'

describe('the days of a mean', () => {
  const days = fc.array(fc.constantFrom('0', '0.0', '1', '2.25', '-1'), { maxLength: 7 })
  const rows = (quantities: readonly string[]) =>
    quantities.map((quantity, index) => ({ startAt: index * 86_400, quantity }))

  it('are all days of what was used before, and otherwise those since its first usage', () => {
    expect(meanDays(rows(['0', '0', '6', '0', '3']), true)).to.deep.equal({
      used: '9',
      days: 5,
      isSinceFirst: false,
    })
    expect(meanDays(rows(['0', '0', '6', '0', '3']), false)).to.deep.equal({
      used: '9',
      days: 3,
      isSinceFirst: true,
    })
    expect(meanDays(rows(['0', '0']), false).days).to.equal(0)
  })

  it('leave no usage out', () => {
    fc.assert(
      fc.property(days, fc.boolean(), (quantities, wasUsedBefore) => {
        const { used, days: count } = meanDays(rows(quantities), wasUsedBefore)
        expect(used).to.equal(meanDays(rows(quantities), true).used)
        expect(count).to.be.at.most(quantities.length)
      }),
    )
  })
})
