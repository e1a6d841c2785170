import { type Properties, propertyText } from '../properties.ts'
import type { UsageSource } from '../usage-source.ts'
import type { Rate } from './rate.ts'

/** Usage as far as rates tell it apart. */
export interface Rateable {
  source: UsageSource
  properties: Properties
}

/** All values that a rate does not list, and usage without the property; all usage of a rate that lists none. */
export const REST = null

/** What a top-level property is told by, or undefined where it is absent or cannot be asked for. */
export const valueOf = (properties: Properties, name: string): string | undefined =>
  Object.hasOwn(properties, name) ? propertyText(properties[name]) : undefined

/** Whether usage passes a rate's source and filters. */
const matches = (rate: Rate, usage: Rateable): boolean =>
  usage.source === rate.source &&
  rate.filters.every(({ property, values }) => {
    const value = valueOf(usage.properties, property)
    return value !== undefined && values.includes(value)
  })

/**
 * Which of a rate's prices usage feeds.
 *
 * @returns the listed value, REST, or undefined when the rate does not reach it
 */
export function groupOf(rate: Rate, usage: Rateable): string | typeof REST | undefined {
  if (!matches(rate, usage)) return undefined
  const value = rate.groupBy === null ? undefined : valueOf(usage.properties, rate.groupBy)
  if (value !== undefined && rate.prices.some((listed) => listed.value === value)) return value
  return rate.priceId === null ? undefined : REST
}
