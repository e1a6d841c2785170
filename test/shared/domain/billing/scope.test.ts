import { expect } from 'chai'
import fc from 'fast-check'
import { overlapOf } from '../../../../shared/domain/billing/overlap.ts'
import type { Filter, Rate } from '../../../../shared/domain/billing/rate.ts'
import { scopeDigest, scopeOf } from '../../../../shared/domain/billing/scope.ts'
import { randomRate } from '../../../support/random-rates.ts'

const rate = (some: Partial<Rate>): Rate => ({
  id: 'rate_a',
  startsAt: 0,
  endsAt: null,
  source: 'metric_t',
  aggregation: 'sum',
  filters: [],
  groupBy: null,
  prices: [],
  priceId: 'price_a',
  ...some,
})
const filter = (property: string, ...values: string[]): Filter => ({ property, values })
const listing = (...values: string[]) => values.map((value) => ({ value, priceId: `price_${value}` }))

describe('the digest of what a rate asks of properties', () => {
  const digestOf = (some: Partial<Rate>) => scopeDigest(rate(some))

  it('is one however the same is said', () => {
    const same: Partial<Rate>[] = [
      { filters: [filter('model', 'a', 'b'), filter('region', 'eu')] },
      { filters: [filter('region', 'eu'), filter('model', 'a', 'b')] },
      { filters: [filter('model', 'b', 'a'), filter('region', 'eu')] },
      { filters: [filter('model', 'b', 'a', 'b', 'a'), filter('region', 'eu', 'eu')] },
      // An event must pass both filters, so only their common values are allowed.
      { filters: [filter('model', 'a', 'b', 'c'), filter('region', 'eu'), filter('model', 'b', 'd', 'a')] },
      { filters: [filter('region', 'eu')], groupBy: 'model', prices: listing('b', 'a'), priceId: null },
      // A price for the rest covers all values.
      { filters: [filter('region', 'eu'), filter('model', 'b', 'a')], groupBy: 'size', prices: listing('l') },
    ]
    expect(new Set(same.map(digestOf)).size).to.equal(1)
    expect(digestOf(same[0] ?? {})).to.match(/^[0-9a-f]{64}$/)
    // Other fields of the rate do not matter.
    const other = {
      source: 'usd',
      aggregation: 'max',
      startsAt: 5,
      priceId: 'price_b',
      id: 'rate_b',
    } as const
    expect(digestOf({ ...same[0], ...other })).to.equal(digestOf(same[0] ?? {}))
  })

  it('is another where something else is asked', () => {
    const others: Partial<Rate>[] = [
      {},
      { filters: [filter('model', 'a')] },
      { filters: [filter('model', 'a', 'b')] },
      { filters: [filter('model', 'ab')] },
      { filters: [filter('model', 'a","b')] },
      { filters: [filter('mode', 'la')] },
      { filters: [filter('a', 'model')] },
      { filters: [filter('model', 'a'), filter('a', 'model')] },
      { filters: [filter('__proto__', 'a')] },
    ]
    expect(new Set(others.map(digestOf)).size).to.equal(others.length)
  })

  it('is equal for random rates exactly where their scopes are, and then they overlap', () => {
    const found = { equal: 0, other: 0 }
    fc.assert(
      fc.property(randomRate('rate_a'), randomRate('rate_b'), (a, b) => {
        const [inA, inB] = [a, b].map((one) =>
          JSON.stringify(
            ['region', 'model'].map((property) => [...(scopeOf(one).get(property) ?? ['any'])].sort()),
          ),
        )
        expect(scopeDigest(a) === scopeDigest(b)).to.equal(inA === inB)
        found[inA === inB ? 'equal' : 'other']++
        if (inA !== inB) return
        const always = { source: 'metric_t', aggregation: 'sum', startsAt: 0, endsAt: null } as const
        expect(overlapOf({ ...a, ...always }, { ...b, ...always })).to.be.an('object')
      }),
      { seed: 20_260_105, numRuns: 2_000 },
    )
    expect(Math.min(found.equal, found.other)).to.be.above(100)
  })
})
