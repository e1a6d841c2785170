import { expect } from 'chai'
import { readMetrics } from '../../bench/scrape.ts'

describe('metrics that the bench reads', () => {
  it('are summed over their labels', () => {
    const { sum } = readMetrics(
      [
        '# HELP rows_total Rows.',
        '# TYPE rows_total counter',
        'rows_total{work="close"} 1200',
        'rows_total{work="late",of="a } b"} 34',
        'rows_total_more 5',
        'alone 1.5e+3',
        '',
      ].join('\n'),
    )
    expect(sum('rows_total')).to.equal(1_234)
    expect(sum('alone')).to.equal(1_500)
    expect(sum('none')).to.equal(0)
  })
})
