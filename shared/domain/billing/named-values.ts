import type { UsageSource } from '../usage-source.ts'
import type { Rate } from './rate.ts'

/** The values of properties by which rates split usage, by source and by property. */
export type NamedValues = ReadonlyMap<UsageSource, ReadonlyMap<string, ReadonlySet<string>>>

/** One property of a source, and some of its values. */
type NamedProperty = readonly [source: UsageSource, property: string, values: Iterable<string>]

/** The values by which usage of each source must be split. */
export const namedValues = (rates: readonly Rate[]): NamedValues =>
  collect(
    rates.flatMap(({ source, filters, groupBy, prices }): NamedProperty[] => {
      if (source === null) return []
      const listed = prices.map(({ value }) => value)
      return [
        ...filters.map(({ property, values }): NamedProperty => [source, property, values]),
        ...(groupBy === null ? [] : [[source, groupBy, listed] as const]),
      ]
    }),
  )

/** The union of several sets of values. */
export function mergeNamed(all: readonly NamedValues[]): NamedValues {
  const [first, ...others] = all
  return first !== undefined && others.length === 0 ? first : collect(all.flatMap(propertiesIn))
}

/** The number of values of all sources and properties together. */
export const countNamed = (named: NamedValues): number =>
  [...named.values()].flatMap((ofSource) => [...ofSource.values()]).reduce((sum, { size }) => sum + size, 0)

const propertiesIn = (named: NamedValues): NamedProperty[] =>
  [...named].flatMap(([source, properties]) =>
    [...properties].map(([property, values]): NamedProperty => [source, property, values]),
  )

function collect(all: readonly NamedProperty[]): NamedValues {
  const named = new Map<UsageSource, Map<string, Set<string>>>()
  for (const [source, property, values] of all) {
    const ofSource = named.get(source) ?? new Map<string, Set<string>>()
    named.set(source, ofSource)
    const before = ofSource.get(property) ?? new Set<string>()
    ofSource.set(property, before)
    for (const value of values) before.add(value)
  }
  return named
}
