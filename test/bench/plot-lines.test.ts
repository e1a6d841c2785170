import { expect } from 'chai'
import { plotLines } from '../../bench/plot-lines.ts'

describe('a plot', () => {
  const svg = plotLines({
    title: 'Balance',
    unit: 'ms',
    at: [1e6, 1e7, 1e8],
    lines: [{ name: 'p50', values: [2, 4, 8] }],
  })

  it('puts values by their size, and where they stand by its logarithm', () => {
    const points = /<polyline points="([^"]*)"/
      .exec(svg)?.[1]
      ?.split(' ')
      .map((point) => point.split(',').map(Number))
    const [[x1 = 0, y1 = 0] = [], [x2 = 0, y2 = 0] = [], [x3 = 0, y3 = 0] = []] = points ?? []
    expect(x2 - x1).to.be.greaterThan(0)
    expect(x3 - x2).to.be.closeTo(x2 - x1, 0.2)
    expect(y1 - y2).to.be.greaterThan(0)
    expect(y2 - y3).to.be.closeTo(2 * (y1 - y2), 0.3)
  })

  it('names what it shows', () => {
    for (const text of ['Balance', '10 ms', '100,000,000', 'p50']) expect(svg).to.contain(`>${text}<`)
  })

  it('can be drawn of one point', () => {
    expect(plotLines({ title: '', unit: '', at: [1e6], lines: [{ name: '', values: [0] }] })).not.to.contain(
      'NaN',
    )
  })
})
