/** A property that events have. */
export interface SeenProperty {
  name: string
  /** How many of the events have it. */
  events: number
  /** Some of its different values, as text; not lists and objects. */
  values: readonly string[]
  /** Whether usage can be grouped by it: the API takes no other names. */
  isSearchable: boolean
}

const SEARCHABLE = /^[A-Za-z0-9_.-]{1,100}$/
const VALUES_MAX = 5

/** The properties of some events: those that most events have first, then by name. */
export function seenProperties(
  events: readonly { readonly properties: Readonly<Record<string, unknown>> }[],
): SeenProperty[] {
  const seen = new Map<string, { events: number; values: Set<string> }>()
  for (const { properties } of events)
    for (const [name, value] of Object.entries(properties)) {
      const found = seen.get(name) ?? { events: 0, values: new Set() }
      found.events++
      const text = valueText(value)
      if (text !== undefined && found.values.size < VALUES_MAX) found.values.add(text)
      seen.set(name, found)
    }
  return [...seen]
    .map(([name, { events: count, values }]) => ({
      name,
      events: count,
      values: [...values],
      isSearchable: SEARCHABLE.test(name),
    }))
    .sort((a, b) => b.events - a.events || (a.name < b.name ? -1 : 1))
}

export const isPropertyName = (text: string): boolean => SEARCHABLE.test(text)

/** Some properties of an event in a line: `model: large, region: eu`. Lists and objects are left out. */
export function propertiesText(properties: Readonly<Record<string, unknown>>): string {
  const entries = Object.entries(properties)
  const shown = entries.slice(0, VALUES_MAX).map(([name, value]) => `${name}: ${valueText(value) ?? '…'}`)
  return [...shown, ...(entries.length > VALUES_MAX ? [`${entries.length - VALUES_MAX} more`] : [])].join(
    ', ',
  )
}

/** The text by which the API finds a value. Tally refuses numbers that a parser of JSON would round. */
function valueText(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value
  return typeof value === 'number' || typeof value === 'boolean' ? JSON.stringify(value) : undefined
}
