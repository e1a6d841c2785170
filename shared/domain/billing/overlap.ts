import { intersect } from '../time-range.ts'
import type { UsageSource } from '../usage-source.ts'
import { rangeOf } from './change.ts'
import type { Rate } from './rate.ts'
import { scopeOf, type Scope } from './scope.ts'

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
export const overlapOf = (a: Rate, b: Rate): OverlapExample | undefined =>
  overlapWithin({ rate: a, scope: scopeOf(a) }, { rate: b, scope: scopeOf(b) })

/**
 * The first two that overlap of a card's rates, or undefined. Those that ended count for the time they were in force.
 *
 * @param newFrom which of the rates is the first that is new; those before are known not to overlap each other
 */
export function findOverlap(rates: readonly Rate[], newFrom = 0): Overlap | undefined {
  const scoped = rates.map((rate) => ({ rate, scope: scopeOf(rate) }))
  for (const [index, a] of scoped.entries())
    for (const b of scoped.slice(Math.max(index + 1, newFrom))) {
      const example = overlapWithin(a, b)
      if (example) return { a: a.rate, b: b.rate, example }
    }
  return undefined
}

/** A rate with its scope, which is made once for all that it is compared with. */
interface ScopedRate {
  rate: Rate
  scope: Scope
}

function overlapWithin(a: ScopedRate, b: ScopedRate): OverlapExample | undefined {
  const { source, aggregation } = a.rate
  if (source === null || source !== b.rate.source || aggregation !== b.rate.aggregation) return undefined
  const occurredAt = intersect(rangeOf(a.rate), rangeOf(b.rate))?.startAt
  if (occurredAt === undefined) return undefined
  const properties = propertiesOfBoth(a.scope, b.scope)
  return properties && { source, occurredAt, properties }
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
  const fewest = a !== undefined && (b === undefined || a.size <= b.size) ? a : b
  const other = fewest === a ? b : a
  for (const value of fewest ?? []) if (other?.has(value) ?? true) return value
  return undefined
}
