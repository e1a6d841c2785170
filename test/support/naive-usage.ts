import type { EventJson, RateJson } from './billing-vectors.ts'
import { divideHalfEven, textOf, unitsOf } from './decimal-units.ts'

/** The known events, each with its last correction. */
export function naiveKnown(events: readonly EventJson[], knownAt: number): EventJson[] {
  const known: EventJson[] = []
  for (const event of events) {
    if (event.accepted_at >= knownAt) continue
    let { quantity } = event
    let isVoided = false
    for (const correction of event.corrections ?? []) {
      if (correction.corrected_at >= knownAt) continue
      if (correction.quantity !== undefined) quantity = correction.quantity
      if (correction.voided === true) isVoided = true
    }
    if (!isVoided) known.push({ ...event, quantity })
  }
  return known
}

/**
 * The value of a rate to which an event belongs: a listed value, null for the rest, or undefined if the rate does not
 * cover the event.
 */
export function naiveGroup(rate: RateJson, event: EventJson): string | null | undefined {
  if (rate.source === undefined || event.source !== rate.source) return undefined
  for (const { property, values } of rate.filters ?? []) {
    const value = valueIn(event, property)
    if (value === undefined || !values.includes(value)) return undefined
  }
  if (rate.group_by !== undefined) {
    const value = valueIn(event, rate.group_by)
    for (const listed of rate.prices ?? []) if (listed.value === value) return listed.value
  }
  return rate.price_id === undefined ? undefined : null
}

function valueIn(event: EventJson, property: string): string | undefined {
  for (const [name, value] of Object.entries(event.properties ?? {})) {
    if (name !== property) continue
    if (value === true) return 'true'
    if (value === false) return 'false'
    if (typeof value === 'number') return JSON.stringify(value)
    if (typeof value !== 'string') return undefined
    const characters = Array.from(value).length
    return characters >= 1 && characters <= 500 ? value : undefined
  }
  return undefined
}

/** An aggregation of events, as decimal text. */
export function naiveQuantity(events: readonly EventJson[], aggregation: string): string {
  let sum = 0n
  let min: bigint | undefined
  let max: bigint | undefined
  let latest: EventJson | undefined
  for (const event of events) {
    const units = unitsOf(event.quantity)
    sum += units
    if (min === undefined || units < min) min = units
    if (max === undefined || units > max) max = units
    if (latest === undefined || isAfter(event, latest)) latest = event
  }
  if (min === undefined || max === undefined || latest === undefined) return '0'
  switch (aggregation) {
    case 'sum':
      return textOf(sum)
    case 'min':
      return textOf(min)
    case 'max':
      return textOf(max)
    case 'avg':
      return textOf(divideHalfEven(sum, BigInt(events.length)))
    case 'latest':
      return textOf(unitsOf(latest.quantity))
    case 'count':
      return String(events.length)
    default:
      throw new Error(`no aggregation: ${aggregation}`)
  }
}

function isAfter(a: EventJson, b: EventJson): boolean {
  if (a.occurred_at !== b.occurred_at) return a.occurred_at > b.occurred_at
  if (a.accepted_at !== b.accepted_at) return a.accepted_at > b.accepted_at
  return a.id > b.id
}

/**
 * The events of a source that no rate covers. Each aggregation of the rates leaves some events, and the smallest of
 * these sets counts. Among sets of equal size, that of the first aggregation by name counts. Without rates, all events
 * count.
 */
export function naiveUnrated(rates: readonly RateJson[], events: readonly EventJson[]): EventJson[] {
  let fewest: EventJson[] | undefined
  for (const aggregation of ['avg', 'count', 'latest', 'max', 'min', 'sum']) {
    const some = rates.filter((rate) => (rate.aggregation ?? 'sum') === aggregation)
    if (some.length === 0) continue
    const left: EventJson[] = []
    for (const event of events)
      if (some.every((rate) => naiveGroup(rate, event) === undefined)) left.push(event)
    if (fewest === undefined || left.length < fewest.length) fewest = left
  }
  return fewest ?? [...events]
}
