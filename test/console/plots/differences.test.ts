import { expect } from 'chai'
import fc from 'fast-check'
import { binsOf, prepareHistogram } from '../../../console/src/plots/prepare/histogram.ts'
import { prepareSpread } from '../../../console/src/plots/prepare/spread.ts'
import { compareRatios, parseRatio } from '../../../shared/amount/ratio.ts'

/** Decimal text of up to 38 digits, around 0 and far from it. */
const decimals = fc
  .tuple(
    fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
    fc.constantFrom(1n, 10n ** 12n, 10n ** 26n),
    fc.nat(8),
  )
  .map(([units, divisor, places]) => {
    const digits = (units < 0n ? -units : units) / divisor
    const text = digits.toString().padStart(places + 1, '0')
    const sign = units < 0n && digits > 0n ? '-' : ''
    return `${sign}${text.slice(0, text.length - places)}${places === 0 ? '' : `.${text.slice(text.length - places)}`}`
  })
const isBelow = (a: string, b: string) => compareRatios(parseRatio(a), parseRatio(b)) < 0

describe('the distribution of differences', () => {
  it('counts each value in the one bin that it lies in', () => {
    fc.assert(
      fc.property(fc.array(decimals, { minLength: 1, maxLength: 60 }), (values) => {
        const bins = binsOf(values)
        expect(bins.length).to.be.within(1, 70)
        for (const { from, to, count, isClosed } of bins)
          expect(count).to.equal(
            isClosed === true
              ? values.length
              : values.filter((value) => !isBelow(value, from) && isBelow(value, to)).length,
          )
        expect(bins.reduce((sum, { count }) => sum + count, 0)).to.equal(values.length)
        for (const [index, { from }] of bins.entries())
          if (index > 0) expect(bins[index - 1]?.to).to.equal(from)
      }),
    )
  })

  it('puts a value on a bound into the bin that begins there', () => {
    const bins = binsOf(['0', '0.1', '0.2', '0.3', '2.5'])
    expect(bins.slice(0, 4)).to.deep.equal([
      { from: '0', to: '0.1', count: 1 },
      { from: '0.1', to: '0.2', count: 1 },
      { from: '0.2', to: '0.3', count: 1 },
      { from: '0.3', to: '0.4', count: 1 },
    ])
  })

  it('is one bar when all are the same, and nothing of nothing', () => {
    expect(binsOf(['-1.50', '-1.5'])).to.deep.equal([{ from: '-1.50', to: '-1.5', count: 2, isClosed: true }])
    expect(binsOf([])).to.deep.equal([])
  })

  it('is one bar, with an axis, of values that floats cannot tell apart', () => {
    for (const [from, to] of [
      ['9007199254740993', '9007199254741093'],
      ['-90071992547409930.5', '-90071992547409910'],
      ['1000000000000000000000000000000', '1000000000000000000000000000001'],
      ['7000000000000000000000000000000', '7000000000000000000000000000000'],
    ] as const) {
      const bins = binsOf([to, from])
      expect(bins).to.deep.equal([{ from, to, count: 2, isClosed: true }])
      const { lineTicks, bars } = prepareHistogram(bins, { width: 400, height: 200 })
      expect(lineTicks).to.not.have.length(0)
      expect(bars[0]?.x).to.be.within(0, 400)
    }
  })

  it('draws every bar that has a value, and higher ones for more', () => {
    const bins = binsOf(['0', ...Array.from({ length: 5_000 }, () => '10')])
    const { bars, box } = prepareHistogram(bins, { width: 400, height: 200 })
    const drawn = bars.filter(({ height }) => height > 0)
    expect(drawn).to.have.length(2)
    expect(drawn[0]?.height).to.be.at.least(1)
    expect(drawn[1]?.y).to.be.closeTo(box.top, 0.01)
  })

  it('has the box between its quantiles, and always 0', () => {
    const quantiles = fc
      .array(fc.integer({ min: -1_000, max: 1_000 }), { minLength: 5, maxLength: 5 })
      .map((values) => values.sort((a, b) => a - b).map(String))
    fc.assert(
      fc.property(quantiles, ([p5 = '', p25 = '', p50 = '', p75 = '', p95 = '']) => {
        const { line, box, median, zero } = prepareSpread({ p5, p25, p50, p75, p95 }, 500)
        const places = [line.from, box.from, median, box.to, line.to]
        expect(places).to.deep.equal(places.toSorted((a, b) => a - b))
        for (const place of [...places, zero]) expect(place).to.be.within(0, 500)
      }),
    )
  })
})
