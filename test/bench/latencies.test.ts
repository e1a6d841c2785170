import { expect } from 'chai'
import { summarise } from '../../bench/latencies.ts'

describe('a summary of latencies', () => {
  it('sorts them as numbers, and leaves the list as it is', () => {
    const times = [100, 9, 20, 1]
    expect(summarise(times)).to.deep.equal({ count: 4, p50Ms: 20, p99Ms: 100, maxMs: 100 })
    expect(times).to.deep.equal([100, 9, 20, 1])
  })

  it('leaves one in a hundred above the 99th percentile', () => {
    const times = Array.from({ length: 1_000 }, (_, n) => n)
    expect(summarise(times)).to.deep.equal({ count: 1_000, p50Ms: 500, p99Ms: 990, maxMs: 999 })
  })

  it('is no number where there was nothing', () => {
    expect(summarise([]).p50Ms).to.be.NaN
  })
})
