import { expect } from 'chai'
import fc from 'fast-check'
import {
  besidePeriod,
  instantParameter,
  monthText,
  periodStarts,
  periodText,
  startOfMonth,
  STARTS_MAX,
} from '../../../console/src/format/period.ts'
import { parseInstant } from '../../../console/src/format/time.ts'
import { periodAt } from '../../../shared/domain/billing/periods.ts'

const at = (text: string): number => Date.parse(text) / 1_000

describe('periods of contracts', () => {
  it('are named by the month, the day or the days that they are', () => {
    expect(periodText(at('2026-01-01'), at('2026-02-01'))).to.equal('Jan 2026')
    expect(periodText(at('2026-12-01'), at('2027-01-01'))).to.equal('Dec 2026')
    expect(periodText(at('2026-01-01'), at('2026-01-31'))).to.equal('2026-01-01 to 2026-01-30')
    expect(periodText(at('2026-01-15'), at('2026-02-15'))).to.equal('2026-01-15 to 2026-02-14')
    expect(periodText(at('2026-01-15'), at('2026-01-16'))).to.equal('2026-01-15')
    expect(periodText(at('2026-01-15T09:30:00Z'), at('2026-02-15T09:30:00Z'))).to.equal(
      '2026-01-15 09:30:00 to 2026-02-15 09:30:00',
    )
  })

  it('have the months beside them, also over a new year', () => {
    expect(besidePeriod(at('2026-01-01'), at('2026-02-01'))).to.deep.equal({
      before: 'Dec 2025',
      after: 'Feb 2026',
    })
    expect(besidePeriod(at('2026-01-15'), at('2026-02-15')).before).to.equal('Earlier')
    expect(monthText(at('2026-02-28T23:59:59Z'))).to.equal('Feb 2026')
    expect(startOfMonth(at('2026-01-31T12:00:00Z'), 1)).to.equal(at('2026-02-01'))
  })

  it('begin when Tally begins them, whatever their anchor is', () => {
    const cadences = ['day', 'week', 'month', 'quarter', 'half_year', 'year'] as const
    const seconds = fc.integer({ min: at('1990-01-01'), max: at('2060-01-01') })
    fc.assert(
      fc.property(
        fc.constantFrom(...cadences),
        seconds,
        seconds,
        fc.integer({ min: 0, max: 3 * 365 * 86_400 }),
        (cadence, anchorAt, from, length) => {
          const expected: number[] = []
          const [start, to] = [periodAt({ cadence, anchorAt }, from).startAt, from + length]
          for (let begin = start; begin <= to; begin = periodAt({ cadence, anchorAt }, begin).endAt)
            if (begin >= from) expected.push(begin)
          expect(periodStarts(cadence, anchorAt, from, to)).to.deep.equal(
            expected.length > STARTS_MAX ? [] : expected,
          )
        },
      ),
    )
  })

  it('are none when there are too many to draw, which takes no time', () => {
    const [start, day] = [at('2026-01-01'), 86_400]
    expect(periodStarts('day', start, start, start + (STARTS_MAX - 1) * day)).to.have.length(STARTS_MAX)
    expect(periodStarts('day', start, start, start + STARTS_MAX * day)).to.deep.equal([])
    const from = Date.now()
    for (let times = 0; times < 100; times++)
      expect(periodStarts('day', start, start, at('9999-12-31'))).to.deep.equal([])
    expect(Date.now() - from).to.be.below(1_000)
  })

  it('stand in an address by an instant that is read again', () => {
    expect(instantParameter(at('2026-02-08'))).to.equal('2026-02-08T00:00:00')
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_000_000_000 }), (second) => {
        expect(parseInstant(instantParameter(second))).to.equal(second)
      }),
    )
  })
})
