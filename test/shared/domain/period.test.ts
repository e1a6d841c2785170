import { expect } from 'chai'
import fc from 'fast-check'
import { daysIn, periodStartsIn, yearsBefore } from '../../../shared/domain/period.ts'

const at = (text: string): number => Date.parse(text.length === 10 ? `${text}T00:00:00Z` : text) / 1_000
const dateOf = (second: number): string => new Date(second * 1_000).toISOString().slice(0, 10)

describe('periods of the UTC calendar', () => {
  it('are those that a half-open range meets', () => {
    const months = (startAt: string, endAt: string) =>
      periodStartsIn('month', { startAt: at(startAt), endAt: at(endAt) }).map(dateOf)
    expect(months('2024-01-31T23:59:59Z', '2024-02-01')).to.deep.equal(['2024-01-01'])
    expect(months('2024-01-31T23:59:59Z', '2024-02-01T00:00:01Z')).to.deep.equal(['2024-01-01', '2024-02-01'])
    expect(months('2024-12-15', '2025-02-02')).to.deep.equal(['2024-12-01', '2025-01-01', '2025-02-01'])
    expect(months('2024-02-01', '2024-02-01')).to.deep.equal([])
    const days = periodStartsIn('day', {
      startAt: at('2024-02-28T12:00:00Z'),
      endAt: at('2024-03-01T00:00:01Z'),
    })
    expect(days.map(dateOf)).to.deep.equal(['2024-02-28', '2024-02-29', '2024-03-01'])
  })

  it('start at midnight, follow each other without a gap, and cover the range, whatever it is', () => {
    const second = fc.integer({ min: 0, max: 2 ** 32 })
    fc.assert(
      fc.property(second, fc.integer({ min: 1, max: 400 * 86_400 }), (startAt, length) => {
        const range = { startAt, endAt: startAt + length }
        const days = periodStartsIn('day', range)
        expect(days).to.have.length(daysIn(range))
        for (const period of ['day', 'month'] as const) {
          const width = period === 'day' ? 10 : 7
          const nameOf = (at: number) => dateOf(at).slice(0, width)
          const starts = periodStartsIn(period, range)
          const named = [...new Set(days.map(nameOf))]
          expect(starts.map(nameOf)).to.deep.equal(named)
          for (const start of starts)
            expect(new Date(start * 1_000).toISOString()).to.match(
              period === 'day' ? /T00:00:00\.000Z$/ : /-01T00:00:00\.000Z$/,
            )
        }
      }),
    )
  })

  it('lie years before at the same second of the same date, for a leap day on the 28th', () => {
    expect(yearsBefore(at('2026-11-21T13:14:15Z'), 5)).to.equal(at('2021-11-21T13:14:15Z'))
    expect(yearsBefore(at('2024-02-29T23:59:59Z'), 5)).to.equal(at('2019-02-28T23:59:59Z'))
    expect(yearsBefore(at('2024-02-29'), 4)).to.equal(at('2020-02-29'))
    expect(yearsBefore(at('2025-03-01'), 5)).to.equal(at('2020-03-01'))
  })
})
