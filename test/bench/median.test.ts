import { expect } from 'chai'
import { median } from '../../bench/median.ts'

describe('the median', () => {
  it('is the value in the middle, or between the two that are', () => {
    expect(median([9, 1, 2])).to.equal(2)
    expect(median([1, 100, 2, 4])).to.equal(3)
    expect(median([7])).to.equal(7)
    expect(median([])).to.be.NaN
  })
})
