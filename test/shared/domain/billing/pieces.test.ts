import { expect } from 'chai'
import fc from 'fast-check'
import { compareRatios, formatRatio, ratioOf, sumRatios } from '../../../../shared/amount/ratio.ts'
import type { ContractTimes } from '../../../../shared/domain/billing/contract.ts'
import { boundary, type Cadence, periodAt, periodIndex } from '../../../../shared/domain/billing/periods.ts'
import { contractRange, pieceOf, shareOf, shareRatio } from '../../../../shared/domain/billing/pieces.ts'
import { intersect } from '../../../../shared/domain/time-range.ts'

const SEED = 20_260_103
const DAY_S = 86_400

const cadence = fc.constantFrom<Cadence>('day', 'week', 'month', 'quarter', 'half_year', 'year')
const second = fc.integer({ min: 0, max: 4_000_000_000 })
/** Times of any kind, often at the end of a month. */
const anchor = fc.oneof(
  second,
  fc
    .tuple(
      fc.integer({ min: 1970, max: 2090 }),
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 0, max: DAY_S - 1 }),
    )
    .map(([year, month, time]) => Date.UTC(year, month, 0) / 1_000 + time),
)
const schedule = fc.record({ anchorAt: anchor, cadence })

const MONTHS: Partial<Record<Cadence, number>> = { month: 1, quarter: 3, half_year: 6, year: 12 }
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Computes the boundary by a calendar, month by month. */
function boundaryByHand(anchorAt: number, months: number): string {
  const text = new Date(anchorAt * 1_000).toISOString()
  let [year = 0, month = 0, day = 0] = text.slice(0, 10).split('-').map(Number)
  for (let i = 0; i < Math.abs(months); i++) {
    month += Math.sign(months)
    if (month === 13) [year, month] = [year + 1, 1]
    if (month === 0) [year, month] = [year - 1, 12]
  }
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  day = Math.min(day, month === 2 && isLeap ? 29 : (MONTH_DAYS[month - 1] ?? 0))
  const two = (n: number) => n.toString().padStart(2, '0')
  return `${year}-${two(month)}-${two(day)}${text.slice(10)}`
}

describe('periods', () => {
  it('begin on the anchor’s day and time, or on the last day of a shorter month', () => {
    fc.assert(
      fc.property(schedule, fc.integer({ min: -40, max: 40 }), ({ anchorAt, cadence: every }, k) => {
        const startAt = boundary({ anchorAt, cadence: every }, k)
        const months = MONTHS[every]
        if (months === undefined) expect(startAt).to.equal(anchorAt + k * DAY_S * (every === 'day' ? 1 : 7))
        else expect(new Date(startAt * 1_000).toISOString()).to.equal(boundaryByHand(anchorAt, k * months))
      }),
      { seed: SEED, numRuns: 1_000 },
    )
  })

  it('follow each other, and hold each second once', () => {
    fc.assert(
      fc.property(schedule, second, (times, at) => {
        const k = periodIndex(times, at)
        const { startAt, endAt } = periodAt(times, at)
        expect([boundary(times, k), boundary(times, k + 1)]).to.deep.equal([startAt, endAt])
        expect(startAt <= at && at < endAt).to.equal(true)
        expect(periodIndex(times, startAt)).to.equal(k)
        expect(periodIndex(times, endAt - 1)).to.equal(k)
        expect(periodIndex(times, endAt)).to.equal(k + 1)
      }),
      { seed: SEED, numRuns: 1_000 },
    )
  })
})

/** A contract with consecutive lines. */
const cutContract = fc
  .record({
    times: schedule,
    startsAt: second,
    length: fc.option(fc.integer({ min: 1, max: 800 * DAY_S })),
    canceledAfter: fc.option(fc.integer({ min: 0, max: 800 * DAY_S })),
    cuts: fc.uniqueArray(fc.integer({ min: 1, max: 800 * DAY_S }), { maxLength: 6 }),
    at: fc.integer({ min: 0, max: 800 * DAY_S }),
  })
  .map(({ times, startsAt, length, canceledAfter, cuts, at }) => {
    const contract: ContractTimes = {
      ...times,
      startsAt,
      endsAt: length === null ? null : startsAt + length,
      cancelAt: canceledAfter === null ? null : startsAt + canceledAfter,
    }
    const starts = [0, ...cuts.toSorted((a, b) => a - b)].map((cut) => startsAt + cut)
    const lines = starts.map((start, index) => ({ startsAt: start, endsAt: starts[index + 1] ?? null }))
    return { contract, lines, period: periodAt(times, startsAt + at) }
  })

describe('pieces', () => {
  it('of lines that follow each other tile what the contract has of a period, and their shares add up to it', () => {
    let whole = 0
    fc.assert(
      fc.property(cutContract, ({ contract, lines, period }) => {
        const pieces = lines.flatMap((line) => pieceOf(line, contract, period) ?? [])
        const part = intersect(period, contractRange(contract))
        if (part === undefined) {
          expect(pieces).to.have.length(0)
          return
        }
        expect(pieces[0]?.startAt).to.equal(part.startAt)
        expect(pieces.at(-1)?.endAt).to.equal(part.endAt)
        for (const [index, piece] of pieces.entries()) {
          expect(piece.startAt).to.be.below(piece.endAt)
          if (index > 0) expect(piece.startAt).to.equal(pieces[index - 1]?.endAt)
        }
        const shares = sumRatios(pieces.map((piece) => shareRatio(shareOf(piece, period))))
        const wanted = ratioOf(BigInt(part.endAt - part.startAt), BigInt(period.endAt - period.startAt))
        expect(compareRatios(shares, wanted)).to.equal(0)
        if (part.startAt === period.startAt && part.endAt === period.endAt) {
          whole++
          expect(formatRatio(shares)).to.equal('1')
        }
      }),
      { seed: SEED, numRuns: 1_000 },
    )
    expect(whole).to.be.above(100)
  })
})
