import { hash } from 'node:crypto'
import type { Rate } from './rate.ts'

/**
 * What a rate asks of properties: the values it allows of each that it asks about, of which an event must have one. It
 * asks nothing of others, which may be absent.
 */
export type Scope = ReadonlyMap<string, ReadonlySet<string>>

/** With a price for the rest a rate's group_by asks nothing: that reaches all values and none. */
export function scopeOf(rate: Rate): Scope {
  const scope = new Map<string, ReadonlySet<string>>()
  const allow = (property: string, values: readonly string[]) => {
    const before = scope.get(property)
    scope.set(property, new Set(before ? values.filter((value) => before.has(value)) : values))
  }
  for (const { property, values } of rate.filters) allow(property, values)
  if (rate.groupBy !== null && rate.priceId === null)
    allow(
      rate.groupBy,
      rate.prices.map(({ value }) => value),
    )
  return scope
}

/**
 * The same for rates that ask the same of properties, however they say it: in which order, how often, in one filter or
 * in several. With one source and aggregation they reach the same events.
 *
 * @returns a SHA-256 in hexadecimal digits
 */
export function scopeDigest(rate: Rate): string {
  const canonical = [...scopeOf(rate)]
    .map(([property, values]) => [property, [...values].sort()] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return hash('sha256', JSON.stringify(canonical), 'hex')
}
