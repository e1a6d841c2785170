import { expect } from 'chai'
import fc from 'fast-check'
import { groupOf } from '../../../../shared/domain/billing/matches.ts'
import { findOverlap, overlapOf } from '../../../../shared/domain/billing/overlap.ts'
import type { Rate } from '../../../../shared/domain/billing/rate.ts'
import { isOpenAt } from '../../../../shared/domain/billing/timeline-change.ts'
import { randomRate } from '../../../support/random-rates.ts'

const SEED = 20_260_104
const SECONDS = [0, 1, 2, 3, 4, 5]
/** All values of rates, another value, and no value. Only a price for the rest covers the last two. */
const VALUES = ['a', 'b', 'c', 'd', undefined]

function* allEvents() {
  for (const source of ['metric_t', 'metric_u'])
    for (const region of VALUES)
      for (const model of VALUES)
        yield { source, properties: { ...(region && { region }), ...(model && { model }) } }
}
const EVENTS = [...allEvents()]

const reaches = (rate: Rate, event: (typeof EVENTS)[number], at: number) =>
  isOpenAt(rate, at) && groupOf(rate, event) !== undefined

/** Tries every possible event, at every second. */
const overlapBySearch = (a: Rate, b: Rate): boolean =>
  a.aggregation === b.aggregation &&
  SECONDS.some((at) => EVENTS.some((event) => reaches(a, event, at) && reaches(b, event, at)))

describe('overlaps of rates', () => {
  it('are found exactly where a search through all events finds one, with an event that both reach', () => {
    const found = { yes: 0, no: 0 }
    fc.assert(
      fc.property(randomRate('rate_a'), randomRate('rate_b'), (a, b) => {
        const example = overlapOf(a, b)
        expect(example !== undefined).to.equal(overlapBySearch(a, b))
        found[example ? 'yes' : 'no']++
        if (example)
          for (const rate of [a, b]) expect(reaches(rate, example, example.occurredAt)).to.equal(true)
      }),
      { seed: SEED, numRuns: 3_000 },
    )
    expect(Math.min(found.yes, found.no)).to.be.above(300)
  })

  it('are found among many rates as between two of them', () => {
    const lists = fc
      .array(fc.integer(), { minLength: 2, maxLength: 7 })
      .chain((some) =>
        fc.tuple(
          fc.tuple(...some.map((_, n) => randomRate(`rate_${n}`))),
          fc.integer({ min: 0, max: some.length }),
        ),
      )
    const found = { yes: 0, no: 0 }
    fc.assert(
      fc.property(lists, ([rates, newFrom]) => {
        const pairs = rates.flatMap((a, index) =>
          rates.slice(Math.max(index + 1, newFrom)).map((b) => ({ a, b, example: overlapOf(a, b) })),
        )
        const first = pairs.find(({ example }) => example !== undefined)
        expect(findOverlap(rates, newFrom)).to.deep.equal(first)
        found[first ? 'yes' : 'no']++
      }),
      { seed: SEED, numRuns: 2_000 },
    )
    expect(Math.min(found.yes, found.no)).to.be.above(300)
  })

  it('are named by the first two rates of a card', () => {
    const rate = (id: string, source: string | null): Rate => ({
      id,
      startsAt: 7,
      endsAt: null,
      source,
      aggregation: 'sum',
      filters: [],
      groupBy: null,
      prices: [],
      priceId: 'price_a',
    })
    const rates = [rate('rate_a', 'metric_t'), rate('rate_b', 'metric_u'), rate('rate_c', 'metric_u')]
    expect(findOverlap(rates)).to.deep.equal({
      a: rates[1],
      b: rates[2],
      example: { source: 'metric_u', occurredAt: 7, properties: {} },
    })
    // Old rates are not compared with each other; new rates are compared with all.
    expect(findOverlap(rates, 3)).to.equal(undefined)
    for (const newFrom of [1, 2]) expect(findOverlap(rates, newFrom)?.b).to.equal(rates[2])
    // Fixed charges cover no events, so two of them do not overlap.
    expect(findOverlap([rate('rate_a', null), rate('rate_b', null)])).to.equal(undefined)
  })
})
