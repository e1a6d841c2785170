import { type Properties, propertyText } from '../properties.ts'
import type { UsageSource } from '../usage-source.ts'
import type { Rate } from './rate.ts'

/** The parts of usage that decide which rates match. */
export interface Rateable {
  source: UsageSource
  properties: Properties
}

/**
 * Means all values that a rate does not list, and usage without the property. For a rate that lists no values, it means
 * all usage.
 */
export const REST = null

/**
 * The text by which a top-level property is compared. Undefined if the property is absent, or propertyText returns
 * undefined for its value.
 */
export const valueOf = (properties: Properties, name: string): string | undefined =>
  Object.hasOwn(properties, name) ? propertyText(properties[name]) : undefined

/** Whether usage matches a rate's source and filters. */
const matches = (rate: Rate, usage: Rateable): boolean =>
  usage.source === rate.source &&
  rate.filters.every(({ property, values }) => {
    const value = valueOf(usage.properties, property)
    return value !== undefined && values.includes(value)
  })

/**
 * Finds which of a rate's prices applies to usage.
 *
 * @returns the listed value, REST, or undefined when the rate does not match
 */
export function groupOf(rate: Rate, usage: Rateable): string | typeof REST | undefined {
  if (!matches(rate, usage)) return undefined
  const value = rate.groupBy === null ? undefined : valueOf(usage.properties, rate.groupBy)
  if (value !== undefined && rate.prices.some((listed) => listed.value === value)) return value
  return rate.priceId === null ? undefined : REST
}
