import { intersect } from '../time-range.ts'
import type { UsageSource } from '../usage-source.ts'
import { rangeOf } from './change.ts'
import type { Rate } from './rate.ts'

/** An event that two rates of a card would both reach. */
export interface OverlapExample {
  source: UsageSource
  /** In Unix seconds: the first second both are in force. */
  occurredAt: number
  properties: Record<string, string>
}

/** Two rates of one card that would count an event twice. */
export interface Overlap {
  a: Rate
  b: Rate
  example: OverlapExample
}

/**
 * Whether an event could feed two rates under one aggregation, decided exactly. A sum and a count of one event are two
 * facts, and may both be rated.
 *
 * @returns such an event, or undefined when there can be none
 */
export function overlapOf(a: Rate, b: Rate): OverlapExample | undefined {
  if (a.source === null || a.source !== b.source || a.aggregation !== b.aggregation) return undefined
  const occurredAt = intersect(rangeOf(a), rangeOf(b))?.startAt
  const properties = propertiesOfBoth(a, b)
  return occurredAt === undefined || properties === undefined
    ? undefined
    : { source: a.source, occurredAt, properties }
}

/** The first two that overlap of a card's rates, or undefined. Those that ended count for the time they were in force. */
export function findOverlap(rates: readonly Rate[]): Overlap | undefined {
  for (const [index, a] of rates.entries())
    for (const b of rates.slice(index + 1)) {
      const example = overlapOf(a, b)
      if (example) return { a, b, example }
    }
  return undefined
}

/** One value that both allow for each property that either asks about. Properties do not bear on each other. */
function propertiesOfBoth(a: Rate, b: Rate): Record<string, string> | undefined {
  const allowed = new Map<string, ReadonlySet<string>>()
  for (const { property, values } of [...allowedBy(a), ...allowedBy(b)]) {
    const before = allowed.get(property)
    allowed.set(property, new Set(before ? values.filter((value) => before.has(value)) : values))
  }
  const chosen: [string, string][] = []
  for (const [property, values] of allowed) {
    const [value] = values
    if (value === undefined) return undefined
    chosen.push([property, value])
  }
  return Object.fromEntries(chosen)
}

/** What a rate asks of properties. With a price for the rest its group_by asks nothing: that reaches all values and none. */
function allowedBy(rate: Rate): { property: string; values: readonly string[] }[] {
  if (rate.groupBy === null || rate.priceId !== null) return [...rate.filters]
  return [...rate.filters, { property: rate.groupBy, values: rate.prices.map(({ value }) => value) }]
}
