import { intersect } from '../time-range.ts'
import type { UsageSource } from '../usage-source.ts'
import type { Rate } from './rate.ts'
import { type Scope, scopeOf } from './scope.ts'
import { rangeOf } from './timeline-change.ts'

/** An event that two rates of a card would both match. */
interface OverlapExample {
  source: UsageSource
  /** In Unix seconds: the first second in which both are in force. */
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
 * Decides exactly whether one event could match two rates with the same aggregation. Rates with different aggregations
 * never overlap, because a card may rate both the sum and the count of the same events.
 *
 * @returns an event that matches both rates, or undefined if there can be none
 * @internal
 */
export function overlapOf(a: Rate, b: Rate): OverlapExample | undefined {
  const occurredAt = meetingOf(a, b)
  if (a.source === null || occurredAt === undefined) return undefined
  const properties = propertiesOfBoth(scopeOf(a), scopeOf(b))
  return properties && { source: a.source, occurredAt, properties }
}

/**
 * The first two of a card's rates that overlap, or undefined. Ended rates count for the time in which they were in
 * force.
 *
 * @param newFrom the index of the first new rate. The rates before it must not overlap each other
 */
export function findOverlap(rates: readonly Rate[], newFrom = 0): Overlap | undefined {
  const sharers = scopeSharers(rates.slice(newFrom))
  for (const [index, a] of rates.entries()) {
    let sharing: bigint | undefined
    for (const [nth, b] of rates.slice(newFrom).entries()) {
      if (newFrom + nth <= index || meetingOf(a, b) === undefined) continue
      sharing ??= sharers(a)
      if (((sharing >> BigInt(nth)) & 1n) === 0n) continue
      const example = overlapOf(a, b)
      if (example) return { a, b, example }
    }
  }
  return undefined
}

/**
 * The first second in which both rates are in force, if they measure the same source in the same way; otherwise
 * undefined.
 */
const meetingOf = (a: Rate, b: Rate): number | undefined =>
  a.source === null || a.source !== b.source || a.aggregation !== b.aggregation
    ? undefined
    : intersect(rangeOf(a), rangeOf(b))?.startAt

/**
 * Returns a function that finds, for a rate, those of `others` that share a value with the rate in every property on
 * which both have a condition. In its result, bit n is set if the n-th of `others` is one of them.
 *
 * Why pairs are not compared one by one: 200 rates with five filters of a hundred values each would need ten million
 * look-ups, which would block the event loop.
 */
function scopeSharers(others: readonly Rate[]): (rate: Rate) => bigint {
  const all = (1n << BigInt(others.length)) - 1n
  const asking = new Map<string, bigint>()
  const allowing = new Map<string, Map<string, bigint>>()
  for (const [nth, other] of others.entries()) {
    const bit = 1n << BigInt(nth)
    for (const [property, values] of scopeOf(other)) {
      asking.set(property, (asking.get(property) ?? 0n) | bit)
      const byValue = allowing.get(property) ?? new Map<string, bigint>()
      allowing.set(property, byValue)
      for (const value of values) byValue.set(value, (byValue.get(value) ?? 0n) | bit)
    }
  }
  return (rate) => {
    let sharing = all
    for (const [property, values] of scopeOf(rate)) {
      let some = all & ~(asking.get(property) ?? 0n)
      for (const value of values) some |= allowing.get(property)?.get(value) ?? 0n
      sharing &= some
    }
    return sharing
  }
}

/**
 * For each property of either scope, one value that both scopes allow. Undefined if some property has no such value.
 * Each property can be decided alone, because its condition does not depend on other properties.
 */
function propertiesOfBoth(a: Scope, b: Scope): Record<string, string> | undefined {
  const chosen: [string, string][] = []
  for (const property of new Set([...a.keys(), ...b.keys()])) {
    const value = commonValue(a.get(property), b.get(property))
    if (value === undefined) return undefined
    chosen.push([property, value])
  }
  return Object.fromEntries(chosen)
}

/** @param a, b the allowed values; undefined if any value is allowed. At most one of the two is undefined */
function commonValue(a?: ReadonlySet<string>, b?: ReadonlySet<string>): string | undefined {
  for (const value of a ?? b ?? []) if (b?.has(value) ?? true) return value
  return undefined
}
