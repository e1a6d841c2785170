import { type Amount, averageAmount, formatAmount } from '../amount/amount.ts'

/** How a set of usage events is boiled down to one number. */
export type Aggregation = 'sum' | 'min' | 'max' | 'avg' | 'latest' | 'count'

/** What was asked of the events of one source, of which there is at least one. */
export interface UsageAggregate {
  count?: bigint
  sum?: Amount
  min?: Amount
  max?: Amount
  /** The quantity of the event with the greatest (occurredAt, acceptedAt, id). */
  latest?: Amount
}

/** What can be computed of events. */
export type Measure = keyof UsageAggregate

export const MEASURES: readonly Measure[] = ['count', 'sum', 'min', 'max', 'latest']

/** What an aggregation is made of. */
export const measuresOf = (aggregation: Aggregation): readonly Measure[] =>
  aggregation === 'avg' ? ['sum', 'count'] : [aggregation]

/**
 * One measure.
 *
 * @throws Error when it was not asked for
 * @internal
 */
export function measureOf<M extends Measure>(
  usage: UsageAggregate,
  measure: M,
): NonNullable<UsageAggregate[M]> {
  const value = usage[measure]
  if (value === undefined) throw new Error(`${measure} was not asked for`)
  return value
}

/**
 * One aggregation as decimal text; an average is rounded to 18 places, half even, the others are exact.
 *
 * @throws Error when what it is made of was not asked for
 */
export function formatAggregation(usage: UsageAggregate, aggregation: Aggregation): string {
  switch (aggregation) {
    case 'count':
      return measureOf(usage, 'count').toString()
    case 'avg':
      return formatAmount(averageAmount(measureOf(usage, 'sum'), measureOf(usage, 'count')))
    case 'sum':
    case 'min':
    case 'max':
    case 'latest':
      return formatAmount(measureOf(usage, aggregation))
  }
}
