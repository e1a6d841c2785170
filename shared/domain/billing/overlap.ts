import { intersect } from '../time-range.ts'
import type { UsageSource } from '../usage-source.ts'
import type { Rate } from './rate.ts'
import { type Scope, scopeOf } from './scope.ts'
import { rangeOf } from './timeline-change.ts'

/** An event that two rates of a card would both reach. */
interface OverlapExample {
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
 * @internal
 */
export function overlapOf(a: Rate, b: Rate): OverlapExample | undefined {
  const occurredAt = meetingOf(a, b)
  if (a.source === null || occurredAt === undefined) return undefined
  const properties = propertiesOfBoth(scopeOf(a), scopeOf(b))
  return properties && { source: a.source, occurredAt, properties }
}

/**
 * The first two that overlap of a card's rates, or undefined. Those that ended count for the time they were in force.
 *
 * @param newFrom which of the rates is the first that is new; those before are known not to overlap each other
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

/** The first second that both are in force, of rates that measure the same source in the same way; else undefined. */
const meetingOf = (a: Rate, b: Rate): number | undefined =>
  a.source === null || a.source !== b.source || a.aggregation !== b.aggregation
    ? undefined
    : intersect(rangeOf(a), rangeOf(b))?.startAt

/**
 * Tells of a rate with which of some others it shares values of every property that both ask about: a bit for each.
 *
 * Why not pair by pair: of 200 rates that have five filters with a hundred values each, ten million values would be
 * looked up (measured: 0.6 s of CPU, in which nobody else is served, against 0.1 s).
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

/** One value that both allow for each property that either asks about. Properties do not bear on each other. */
function propertiesOfBoth(a: Scope, b: Scope): Record<string, string> | undefined {
  const chosen: [string, string][] = []
  for (const property of new Set([...a.keys(), ...b.keys()])) {
    const value = commonValue(a.get(property), b.get(property))
    if (value === undefined) return undefined
    chosen.push([property, value])
  }
  return Object.fromEntries(chosen)
}

/** @param a, b what is allowed; undefined for anything, of which there are not two */
function commonValue(a?: ReadonlySet<string>, b?: ReadonlySet<string>): string | undefined {
  for (const value of a ?? b ?? []) if (b?.has(value) ?? true) return value
  return undefined
}
