import { addAmounts, type Amount, compareAmounts, formatAmount } from '../../amount/amount.ts'
import { divideRatios, parseRatio, type Ratio, RATIO_ZERO, ratioOf } from '../../amount/ratio.ts'
import type { Micros } from '../../time/microsecond-clock.ts'
import { type Aggregation, formatAggregation } from '../usage-aggregate.ts'

/** All measures of a set of one or more events of one source; two of them can be merged. */
export interface MeasuredUsage {
  count: bigint
  sum: Amount
  min: Amount
  max: Amount
  /** The event with the greatest (occurredAt, acceptedAt, id). */
  latest: LatestEvent
}

interface LatestEvent {
  quantity: Amount
  /** In Unix seconds. */
  occurredAt: number
  acceptedAt: Micros
  id: string
}

/** The measures of one event. */
export const usageOfEvent = (event: LatestEvent): MeasuredUsage => ({
  count: 1n,
  sum: event.quantity,
  min: event.quantity,
  max: event.quantity,
  latest: event,
})

/** The measures of the union of two sets without a common event; associative and commutative. */
export const mergeUsage = (a: MeasuredUsage, b: MeasuredUsage): MeasuredUsage => ({
  count: a.count + b.count,
  sum: addAmounts(a.sum, b.sum),
  min: compareAmounts(a.min, b.min) <= 0 ? a.min : b.min,
  max: compareAmounts(a.max, b.max) >= 0 ? a.max : b.max,
  latest: isLater(a.latest, b.latest) ? a.latest : b.latest,
})

function isLater(a: LatestEvent, b: LatestEvent): boolean {
  if (a.occurredAt !== b.occurredAt) return a.occurredAt > b.occurredAt
  if (a.acceptedAt !== b.acceptedAt) return a.acceptedAt > b.acceptedAt
  return a.id > b.id
}

/**
 * One aggregation in the form that is priced: exact, an average as sum over count. Rounded to 18 places, a third of a
 * very large price would be off by a dollar. 0 without events.
 */
export function exactQuantityOf(usage: MeasuredUsage | undefined, aggregation: Aggregation): Ratio {
  if (usage === undefined || aggregation !== 'avg') return quantityOf(usage, aggregation)
  return divideRatios(parseRatio(formatAmount(usage.sum)), ratioOf(usage.count))
}

/**
 * One aggregation in the form that is shown: an average has 18 places, half even, as everywhere in usage and as in
 * the query of a line.
 */
export function quantityOf(usage: MeasuredUsage | undefined, aggregation: Aggregation): Ratio {
  if (usage === undefined) return RATIO_ZERO
  if (aggregation === 'count') return ratioOf(usage.count)
  const { sum, count } = usage
  if (aggregation === 'avg') return parseRatio(formatAggregation({ sum, count }, aggregation))
  return parseRatio(formatAmount(aggregation === 'latest' ? usage.latest.quantity : usage[aggregation]))
}
