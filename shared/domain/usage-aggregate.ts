import { type Amount, averageAmount, formatAmount } from '../amount/amount.ts'

/** How a set of usage events becomes one number. */
export type Aggregation = 'sum' | 'min' | 'max' | 'avg' | 'latest' | 'count'

/** The requested measures of one or more events of one source. */
export interface UsageAggregate {
  count?: bigint
  sum?: Amount
  min?: Amount
  max?: Amount
  /** The quantity of the event with the greatest (occurredAt, acceptedAt, id). */
  latest?: Amount
}

/** What can be computed from events. */
export type Measure = keyof UsageAggregate

export const MEASURES: readonly Measure[] = ['count', 'sum', 'min', 'max', 'latest']

/** The measures from which an aggregation is computed. */
export const measuresOf = (aggregation: Aggregation): readonly Measure[] =>
  aggregation === 'avg' ? ['sum', 'count'] : [aggregation]

/**
 * One measure.
 *
 * @throws Error when it was not requested
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
 * One aggregation as decimal text. An average is rounded to 18 places, half even; the others are exact.
 *
 * @throws Error when a measure that it needs was not requested
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
