import { type Amount, averageAmount, formatAmount } from '../amount/amount.ts'

/** The function that turns a set of usage events into one number. */
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

/** A value that can be computed from events. */
export type Measure = keyof UsageAggregate

export const MEASURES: readonly Measure[] = ['count', 'sum', 'min', 'max', 'latest']

/** The measures from which an aggregation is computed. */
export const measuresOf = (aggregation: Aggregation): readonly Measure[] =>
  aggregation === 'avg' ? ['sum', 'count'] : [aggregation]

/**
 * One measure of an aggregate.
 *
 * @throws Error when the measure was not requested
 * @internal
 */
export function measureOf<M extends Measure>(
  usage: UsageAggregate,
  measure: M,
): NonNullable<UsageAggregate[M]> {
  const value = usage[measure]
  if (value === undefined) throw new Error(`${measure} was not requested`)
  return value
}

/**
 * The value of an aggregation as decimal text. An average is rounded to 18 decimal places, half to even. All other
 * values are exact.
 *
 * @throws Error when a measure that the aggregation needs was not requested
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
