import fc from 'fast-check'
import type { Rate } from '../../shared/domain/billing/rate.ts'

const values = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 2 })

/** Rates with few sources, properties, values and seconds, so that about half of all pairs overlap. */
export const randomRate = (id: string): fc.Arbitrary<Rate> =>
  fc
    .record({
      source: fc.constantFrom('metric_t', 'metric_t', 'metric_t', 'metric_u'),
      aggregation: fc.constantFrom<Rate['aggregation']>('sum', 'sum', 'sum', 'count'),
      startsAt: fc.integer({ min: 0, max: 3 }),
      length: fc.option(fc.integer({ min: 0, max: 3 })),
      filters: fc.uniqueArray(fc.record({ property: fc.constantFrom('region', 'model'), values }), {
        maxLength: 2,
        selector: ({ property }) => property,
      }),
      groupBy: fc.constantFrom('region', 'model', null, null),
      listed: values,
      hasRest: fc.boolean(),
    })
    .map(({ source, aggregation, startsAt, length, filters, groupBy, listed, hasRest }) => ({
      id,
      source,
      aggregation,
      startsAt,
      endsAt: length === null ? null : startsAt + length,
      filters: filters.filter(({ property }) => property !== groupBy),
      groupBy,
      prices: groupBy === null ? [] : listed.map((value) => ({ value, priceId: `price_${value}` })),
      priceId: groupBy === null || hasRest ? 'price_rest' : null,
    }))
