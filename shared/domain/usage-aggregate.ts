import { averageAmount, formatAmount, type Amount } from '../amount/amount.ts'

/** How a set of usage events is boiled down to one number. */
export type Aggregation = 'sum' | 'min' | 'max' | 'avg' | 'latest' | 'count'

/** Everything that can be asked of the events of one source, of which there is at least one. */
export interface UsageAggregate {
  count: bigint
  sum: Amount
  min: Amount
  max: Amount
  /** The quantity of the event with the greatest (occurredAt, acceptedAt, id). */
  latest: Amount
}

/** One aggregation as decimal text; an average is rounded to 18 places, half even, the others are exact. */
export function formatAggregation(usage: UsageAggregate, aggregation: Aggregation): string {
  switch (aggregation) {
    case 'count':
      return usage.count.toString()
    case 'avg':
      return formatAmount(averageAmount(usage.sum, usage.count))
    case 'sum':
    case 'min':
    case 'max':
    case 'latest':
      return formatAmount(usage[aggregation])
  }
}
