import { expect } from 'chai'
import { steadyClock } from '../../../shared/time/steady-clock.ts'

describe('the steady clock', () => {
  it('counts time that only one of its sources saw, and never goes back', () => {
    let [wall, monotonic] = [1_000_000, 50]
    const steady = steadyClock(
      () => wall,
      () => monotonic,
    )
    const after = (wallMs: number, monotonicMs: number): number => {
      wall += wallMs
      monotonic += monotonicMs
      return steady()
    }
    expect(after(10, 10)).to.equal(10)
    expect(after(60_000, 1), 'the machine slept').to.equal(60_010)
    expect(after(-3_600_000, 5), 'the wall clock was set back').to.equal(60_015)
    expect(after(3_600_000, 0), 'and set right again: rather too much').to.be.at.least(60_015)
  })
})
