import { expect } from 'chai'
import fc from 'fast-check'
import {
  agoText,
  dayLabel,
  distanceText,
  instantText,
  lastDays,
  monthLabel,
  monthsOf,
  parseDay,
  parseInstant,
  periodText,
  secondsOf,
  startOfDay,
  startOfPeriod,
  utcDay,
} from '../../../console/src/format/time.ts'

const NOW = 1_764_322_200 // 28 November 2025, 09:30:00 UTC

describe('times on the screen', () => {
  it('are read back as they were written', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 }), (at) => {
        expect(parseInstant(instantText(at, 'utc'))).to.equal(at)
        expect(parseDay(utcDay(at))).to.equal(startOfDay(at))
      }),
    )
  })

  it('are of this machine where that is wanted', () => {
    expect(instantText(NOW, 'local', 'Asia/Tokyo')).to.equal('2025-11-28 18:30:00')
    expect(instantText(NOW, 'local', 'America/New_York')).to.equal('2025-11-28 04:30:00')
  })

  it('are refused when there is no such instant', () => {
    for (const text of [
      '',
      '2026-02-31',
      '2026-13-01',
      '28.11.2026',
      '2026-11-28 25:00',
      '2026-11-28T09',
      'now',
    ])
      expect(parseInstant(text), text).to.equal(undefined)
    expect(parseInstant('2026-11-28 09:30')).to.equal((parseDay('2026-11-28') ?? 0) + 34_200)
    expect(parseDay('2026-11-28 09:30')).to.equal(undefined)
  })

  it('are of a month, which begins with its first second', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 }), (at) => {
        const start = startOfPeriod(at, 'month')
        expect(utcDay(start)).to.equal(`${periodText(at, 'month')}-01`)
        expect(start).to.be.at.most(at)
        expect(startOfPeriod(start, 'day')).to.equal(start)
        expect(startOfPeriod(start - 1, 'month')).to.be.below(start)
      }),
    )
    expect(periodText(NOW, 'day')).to.equal('2025-11-28')
    expect(periodText(NOW, 'month')).to.equal('2025-11')
    expect([monthLabel(NOW, false), monthLabel(NOW, true)]).to.deep.equal(['Nov', 'Nov 2025'])
  })

  it('make ranges of whole UTC days, both included', () => {
    expect(lastDays(NOW, 7)).to.deep.equal({ from: '2025-11-22', to: '2025-11-28' })
    expect(monthsOf(NOW)).to.deep.equal({
      current: { from: '2025-11-01', to: '2025-11-28' },
      before: { from: '2025-10-01', to: '2025-10-31' },
    })
    expect(secondsOf({ from: '2025-11-28', to: '2025-11-28' })).to.deep.equal({
      startAt: startOfDay(NOW),
      endAt: startOfDay(NOW) + 86_400,
    })
    expect(secondsOf({ from: '2025-11-28', to: '2025-11-27' })).to.equal('the range ends before it begins')
    expect(secondsOf({ from: '2025-02-30', to: '2025-11-27' })).to.equal(
      '2025-02-30 is no day: write it as 2026-11-28',
    )
    expect(secondsOf({ from: '2000-01-01', to: '2025-11-27' })).to.equal('a range has at most 3700 days')
    expect(secondsOf({ from: '2015-10-12', to: '2025-11-27' })).to.not.be.a('string')
  })

  it('have short labels', () => {
    expect([dayLabel(NOW, false), dayLabel(NOW, true)]).to.deep.equal(['28 Nov', '28 Nov 2025'])
    expect([0, 12, 200, 8_000, 900_000].map(agoText)).to.deep.equal([
      'now',
      '12 s ago',
      '3 min ago',
      '2 h ago',
      '10 days ago',
    ])
  })

  it('are apart by one whole unit, in both directions', () => {
    const texts = [0, 59, -59, 60, 3_599, 3_600, -86_399, 86_400, 172_799, -172_800].map(distanceText)
    const expected = ['0 s', '59 s', '59 s', '1 min', '59 min', '1 h', '23 h', '1 day', '1 day', '2 days']
    expect(texts).to.deep.equal(expected)
  })
})
