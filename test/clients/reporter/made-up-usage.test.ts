import { expect } from 'chai'
import fc from 'fast-check'
import { LatencyHistogram } from '../../../clients/reporter/simulate/latency-histogram.ts'
import {
  type MadeUpEvent,
  madeUpUsage,
  type MadeUpUsageOptions,
} from '../../../clients/reporter/simulate/made-up-usage.ts'
import { seededRandom, zipfPicker } from '../../../clients/reporter/simulate/seeded-random.ts'
import { findAmountFault } from '../../../shared/amount/amount.ts'

const AT = 1_700_000_000

function take(count: number, options: Partial<MadeUpUsageOptions> = {}): MadeUpEvent[] {
  const usage = madeUpUsage(
    {
      seed: '1',
      run: 'r',
      accounts: 50,
      skew: 1,
      lateShare: 0.1,
      duplicateShare: 0.1,
      lateMaxS: 3_600,
      ...options,
    },
    () => AT,
  )
  return Array.from({ length: count }, () => usage.next().value)
}

describe('made-up usage', () => {
  it('is the same for the same seed, and other usage for another', () => {
    expect(take(5_000)).to.deep.equal(take(5_000))
    expect(take(100, { seed: '2' })).to.not.deep.equal(take(100))
  })

  it('has the shares of late events and duplicates that it is asked for', () => {
    const events = take(20_000)
    const duplicates = events.filter(({ isDuplicate }) => isDuplicate)
    expect(duplicates.length / events.length).to.be.within(0.07, 0.11)
    const late = events.filter(({ isLate }) => isLate)
    expect(late.length / events.length).to.be.within(0.08, 0.12)
    for (const { occurredAt, isLate } of events)
      expect(occurredAt).to.be.within(isLate ? AT - 3_660 : AT, isLate ? AT - 60 : AT)
    expect(
      take(2_000, { lateShare: 0, duplicateShare: 0 }).some((event) => event.isLate || event.isDuplicate),
    ).to.equal(false)
  })

  it('repeats an event as it was, and gives every other a key of its own', () => {
    const firsts = new Map<string, MadeUpEvent>()
    for (const event of take(20_000)) {
      if (event.isDuplicate) expect({ ...event, isDuplicate: false }).to.deep.equal(firsts.get(event.key))
      else {
        expect(firsts.has(event.key)).to.equal(false)
        firsts.set(event.key, event)
      }
    }
  })

  it('has quantities that Tally takes, and that differ', () => {
    const events = take(8_000)
    for (const { quantity } of events) expect(findAmountFault(quantity)).to.equal(undefined)
    expect(new Set(events.map(({ quantity }) => quantity)).size).to.be.greaterThan(1_000)
  })

  it('makes some accounts far busier than others', () => {
    const counts = new Array<number>(50).fill(0)
    for (const { account } of take(40_000)) counts[account] = (counts[account] ?? 0) + 1
    const [first = 0, second = 0, , , fifth = 0] = counts
    expect(first / second).to.be.within(1.7, 2.3)
    expect(first / fifth).to.be.within(4, 6)
    expect(Math.min(...counts)).to.be.greaterThan(0)
  })

  it('makes them all alike with a skew of nothing', () => {
    const random = seededRandom('x')
    const pick = zipfPicker(10, 0)
    const counts = new Array<number>(10).fill(0)
    for (let n = 0; n < 50_000; n++) {
      const picked = pick(random)
      counts[picked] = (counts[picked] ?? 0) + 1
    }
    for (const count of counts) expect(count).to.be.within(4_700, 5_300)
  })
})

describe('latency histogram', () => {
  it('gives percentiles to 2 %, as sorting all of them would', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.1, max: 60_000, noNaN: true }), { minLength: 1 }),
        fc.constantFrom(0.5, 0.9, 0.99, 1),
        (all, share) => {
          const histogram = new LatencyHistogram()
          for (const ms of all) histogram.add(ms)
          const exact = [...all].sort((a, b) => a - b)[Math.max(Math.ceil(all.length * share), 1) - 1] ?? NaN
          expect(histogram.percentile(share)).to.be.within(exact * 0.999, exact * 1.021)
          expect(histogram.maxMs).to.equal(Math.max(...all))
        },
      ),
    )
  })

  it('has nothing to tell when it is empty', () => {
    expect(new LatencyHistogram().percentile(0.99)).to.equal(undefined)
  })
})
