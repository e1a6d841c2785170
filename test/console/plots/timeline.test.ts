import { expect } from 'chai'
import fc from 'fast-check'
import { prepareShares } from '../../../console/src/plots/prepare/shares.ts'
import { prepareTimeline } from '../../../console/src/plots/prepare/timeline.ts'

const DAY_S = 86_400
const WIDTH = 600

describe('marks of a timeline', () => {
  const seconds = fc.integer({ min: 0, max: 4_000_000_000 })
  const span = fc
    .tuple(fc.option(seconds), fc.option(fc.integer({ min: 1, max: 10 ** 8 })), seconds)
    .map(([from, length, base]) => ({ from, to: length === null ? null : (from ?? base) + length }))

  it('stay within their box, in the order of their times', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(span, { maxLength: 4 }), { maxLength: 20 }),
        fc.array(seconds, { maxLength: 3 }),
        fc.integer({ min: 120, max: 1_400 }),
        (rows, marks, width) => {
          const made = prepareTimeline(
            {
              rows: rows.map((bars, row) => ({ name: `row ${row}`, bars })),
              marks: marks.map((at) => ({ at, label: at.toString() })),
            },
            width,
          )
          const { box, bars, lines } = made
          expect(bars).to.have.length(rows.flat().length)
          for (const { x, width: wide, row, bar, isOpenLeft, isOpenRight } of bars) {
            expect(x).to.be.within(box.left - 0.01, box.right + 0.01)
            expect(x + wide).to.be.at.most(box.right + 2.01)
            expect(isOpenLeft).to.equal(rows[row]?.[bar]?.from === null)
            expect(isOpenRight).to.equal(rows[row]?.[bar]?.to === null)
          }
          for (const { at } of [...lines, ...made.ticks]) expect(at).to.be.within(box.left, box.right)
          expect(made.ticks.length * 50).to.be.at.most(width)
        },
      ),
    )
  })

  it('draw what begins earlier further to the left, and what is open up to the end', () => {
    const { bars, lines, box } = prepareTimeline(
      {
        rows: [
          { name: 'a', bars: [{ from: 10 * DAY_S, to: 20 * DAY_S }] },
          { name: 'b', bars: [{ from: 20 * DAY_S, to: null }] },
        ],
        marks: [{ at: 40 * DAY_S, label: 'now' }],
      },
      WIDTH,
    )
    const [first, second] = bars
    expect((first?.x ?? 0) + (first?.width ?? 0)).to.be.closeTo(second?.x ?? 0, 0.01)
    expect((second?.x ?? 0) + (second?.width ?? 0)).to.equal(box.right)
    expect(lines[0]?.at).to.be.greaterThan(second?.x ?? Infinity)
  })

  it('show the beginnings of periods unless they would be a grey surface', () => {
    const input = { rows: [{ name: 'a', bars: [{ from: 0, to: 360 * DAY_S }] }], marks: [] }
    const every = (days: number) =>
      Array.from({ length: Math.floor(360 / days) }, (_, index) => index * days * DAY_S)
    expect(prepareTimeline({ ...input, periods: every(30) }, WIDTH).periods).to.have.length(12)
    expect(prepareTimeline({ ...input, periods: every(1) }, WIDTH).periods).to.deep.equal([])
  })

  it('cut long names, by whole characters', () => {
    const { labels } = prepareTimeline({ rows: [{ name: '🧾'.repeat(256), bars: [] }], marks: [] }, 120)
    expect(labels[0]?.text).to.match(/^(🧾)+…$/u)
    expect(Array.from(labels[0]?.text ?? '').length).to.be.below(20)
  })
})

describe('parts of a bar', () => {
  it('fill it, each as long as its number', () => {
    const numbers = fc.array(fc.nat({ max: 10 ** 9 }), { minLength: 1, maxLength: 50 })
    fc.assert(
      fc.property(numbers, (values) => {
        const parts = prepareShares(values.map(String), WIDTH)
        const sum = values.reduce((total, value) => total + value, 0)
        expect(parts.reduce((total, { width }) => total + width, 0)).to.be.closeTo(
          sum === 0 ? 0 : WIDTH,
          0.01,
        )
        for (const [index, { x, width }] of parts.entries()) {
          expect(width).to.be.closeTo(sum === 0 ? 0 : ((values[index] ?? 0) / sum) * WIDTH, 0.01)
          expect(x + width).to.be.at.most(WIDTH + 0.01)
        }
      }),
    )
  })

  it('may be fractions', () => {
    const [first, second] = prepareShares(['100/3', '66.666666'], 300)
    expect(first?.width).to.be.closeTo(100, 0.01)
    expect(second?.width).to.be.closeTo(200, 0.01)
  })
})
