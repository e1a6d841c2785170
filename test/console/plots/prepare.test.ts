import { expect } from 'chai'
import fc from 'fast-check'
import { tickText, valueAxis } from '../../../console/src/plots/prepare/axis.ts'
import { prepareBars } from '../../../console/src/plots/prepare/bars.ts'
import { prepareSteps } from '../../../console/src/plots/prepare/steps.ts'

const SIZE = { width: 600, height: 220 }
const DAY_S = 86_400
const daysOf = (rows: readonly (readonly (string | null)[])[]) =>
  rows.map((values, day) => ({ startAt: day * DAY_S, values }))

describe('marks of plots', () => {
  it('stack all series of a day to their whole sum', () => {
    const amounts = fc.integer({ min: 0, max: 10 ** 9 })
    fc.assert(
      fc.property(fc.array(fc.tuple(amounts, amounts, amounts), { minLength: 1, maxLength: 40 }), (rows) => {
        const { columns, zero, box } = prepareBars(
          {
            series: [{ name: 'a' }, { name: 'b' }, { name: 'rest', isRest: true }],
            days: daysOf(rows.map((row) => row.map(String))),
          },
          SIZE,
        )
        const sums = rows.map((row) => row.reduce((sum, value) => sum + value, 0))
        const highest = Math.max(...sums, 1e-9)
        for (const [day, { bars }] of columns.entries()) {
          const height = bars.reduce((sum, bar) => sum + bar.height, 0)
          const sum = sums[day] ?? 0
          if (Math.max(...sums) > 0) expect(height).to.be.closeTo((sum / highest) * (zero - box.top), 0.01)
          expect(bars.map(({ series }) => series)).to.deep.equal(
            [0, 1, 2].filter((series) => rows[day]?.[series] !== 0),
          )
        }
      }),
    )
  })

  it('draw nothing where there is no value, and mark the day that is not over', () => {
    const { columns } = prepareBars(
      { series: [{ name: 'a' }], days: daysOf([['5'], [null], ['0'], ['2']]), runningDay: 3 * DAY_S },
      SIZE,
    )
    expect(columns.map(({ bars }) => bars.length)).to.deep.equal([1, 0, 0, 1])
    expect(columns.map(({ isRunning }) => isRunning)).to.deep.equal([false, false, false, true])
  })

  it('stay within their box, however many days there are, and whatever they are', () => {
    const values = fc.double({ min: -1e20, max: 1e20, noNaN: true }).map((value) => value.toFixed(3))
    fc.assert(
      fc.property(
        fc.array(values, { maxLength: 3_700, size: 'medium' }),
        fc.integer({ min: 120, max: 1_400 }),
        (given, width) => {
          const { columns, box, zero } = prepareBars(
            { series: [{ name: 'a' }], days: daysOf(given.map((value) => [value])) },
            { width, height: 220 },
          )
          expect(zero).to.be.within(box.top, box.bottom)
          for (const { x, width: wide, bars } of columns) {
            expect(x).to.be.at.least(box.left - 0.01)
            expect(x + wide).to.be.at.most(box.right + 0.51)
            for (const { y, height } of bars) {
              expect(y).to.be.at.least(box.top - 0.01)
              expect(y + height).to.be.at.most(box.bottom + 0.01)
            }
          }
        },
      ),
      { numRuns: 50 },
    )
  })

  it('are steps through all days, from the first to the last', () => {
    const values = fc.array(fc.integer({ min: -1_000, max: 10 ** 9 }), { minLength: 1, maxLength: 400 })
    fc.assert(
      fc.property(values, (given) => {
        const days = given.map((value, day) => ({ startAt: day * DAY_S, value: String(value) }))
        const { points, path, box, zero } = prepareSteps({ days }, SIZE)
        expect(points.map(({ startAt }) => startAt)).to.deep.equal(days.map(({ startAt }) => startAt))
        for (const [index, { x, y }] of points.entries()) {
          expect(x).to.be.within(box.left - 0.01, box.right + 0.01)
          expect(y).to.be.within(box.top - 0.01, box.bottom + 0.01)
          // What is below 0 is drawn below the line of 0.
          if ((given[index] ?? 0) >= 0) expect(y).to.be.at.most(zero)
          else expect(y).to.be.at.least(zero)
        }
        expect(path).to.match(/^M[\d.]+,[\d.]+/)
        // One day is seen, too: a line has a length.
        expect(path).to.match(/[LH]/)
      }),
    )
  })

  it('have ticks of 1, 2 or 5 times a power of ten, as exact text', () => {
    expect(tickText(0.30000000000000004, -10)).to.equal('0.3')
    expect(tickText(-40, 20)).to.equal('-40')
    expect(tickText(3e25, 1e25)).to.equal('30000000000000000000000000')
    expect(tickText(0.00004, -50_000)).to.equal('0.00004')
    const { ticks } = valueAxis([0, 10_000, -2_000], SIZE)
    expect(ticks.map(({ label }) => label)).to.deep.equal(['-2 k', '0', '2 k', '4 k', '6 k', '8 k', '10 k'])
    expect(valueAxis([], SIZE).ticks.map(({ label }) => label)).to.deep.equal(['0'])
  })
})
