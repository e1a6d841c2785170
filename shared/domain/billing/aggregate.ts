import { addAmounts, type Amount, compareAmounts, formatAmount } from '../../amount/amount.ts'
import { divideRatios, parseRatio, type Ratio, RATIO_ZERO, ratioOf } from '../../amount/ratio.ts'
import type { Micros } from '../../time/microsecond-clock.ts'
import { type Aggregation, formatAggregation } from '../usage-aggregate.ts'

/** All measures of one or more events of one source. mergeUsage merges the measures of two sets of events. */
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

/** Merges the measures of two sets that have no event in common. The function is associative and commutative. */
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
 * The exact value of an aggregation, to which a price is applied; 0 without events. An average is the sum divided by
 * the count, not rounded. If it were rounded to 18 decimal places, a very large price could give an amount that is
 * wrong by a dollar.
 */
export function exactQuantityOf(usage: MeasuredUsage | undefined, aggregation: Aggregation): Ratio {
  if (usage === undefined || aggregation !== 'avg') return quantityOf(usage, aggregation)
  return divideRatios(parseRatio(formatAmount(usage.sum)), ratioOf(usage.count))
}

/**
 * The value of an aggregation that is shown. An average is rounded to 18 decimal places, half to even. All answers
 * about usage, and the query of an invoice line, round in the same way.
 */
export function quantityOf(usage: MeasuredUsage | undefined, aggregation: Aggregation): Ratio {
  if (usage === undefined) return RATIO_ZERO
  if (aggregation === 'count') return ratioOf(usage.count)
  const { sum, count } = usage
  if (aggregation === 'avg') return parseRatio(formatAggregation({ sum, count }, aggregation))
  return parseRatio(formatAmount(aggregation === 'latest' ? usage.latest.quantity : usage[aggregation]))
}
