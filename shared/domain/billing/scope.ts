import { hash } from 'node:crypto'
import type { Rate } from './rate.ts'

/**
 * A rate's conditions on properties: the allowed values of each property. An event must have one of these values.
 * Properties without a condition may be absent.
 */
export type Scope = ReadonlyMap<string, ReadonlySet<string>>

/**
 * The conditions of a rate. If the rate has a price for all other values, its group_by is no condition, because the
 * rate matches every value of the property, and events without the property.
 */
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
 * A digest of a rate's conditions on properties. Rates with equal conditions have equal digests, whatever the order or
 * number of their filters and values. Two rates with equal digests and the same source match the same events.
 *
 * @returns a SHA-256 in hexadecimal digits
 */
export function scopeDigest(rate: Rate): string {
  const canonical = [...scopeOf(rate)]
    .map(([property, values]) => [property, [...values].sort()] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return hash('sha256', JSON.stringify(canonical), 'hex')
}
