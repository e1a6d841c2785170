import {
  type Aggregation,
  formatAggregation,
  type UsageAggregate,
} from '../../../shared/domain/usage-aggregate.ts'
import type { UsageSource } from '../../../shared/domain/usage-source.ts'

/** The usage of one source, as one number. */
export interface SourceUsage {
  source: UsageSource
  /** Decimal text. */
  quantity: string
}

/** The sources that have usage, in the order given. */
export function usageOfSources(
  sources: readonly { source: UsageSource }[],
  aggregates: ReadonlyMap<UsageSource, UsageAggregate> = new Map(),
  aggregation: Aggregation,
): SourceUsage[] {
  return sources.flatMap(({ source }) => {
    const aggregate = aggregates.get(source)
    return aggregate === undefined ? [] : [{ source, quantity: formatAggregation(aggregate, aggregation) }]
  })
}
