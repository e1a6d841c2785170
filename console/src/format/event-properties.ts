import { isPropertyName } from './properties.ts'

type Properties = Readonly<Record<string, unknown>>

/** A property of the top level, as it is shown. */
export interface PropertyChip {
  name: string
  text: string
  /** Whether the API finds events by this name and value. */
  isFilter: boolean
}

const VALUE_MAX = 500

/** The properties of an event, with the text of each value by which the API finds it. */
export const chipsOf = (properties: Properties): PropertyChip[] =>
  Object.entries(properties).map(([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    const isScalar = ['string', 'number', 'boolean'].includes(typeof value)
    const hasLength = text !== '' && Array.from(text).length <= VALUE_MAX
    return { name, text, isFilter: isScalar && hasLength && isPropertyName(name) }
  })

const STRINGS = /"(?:[^"\\]|\\.)*"/g
const NUMBERS = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** Properties that somebody typed, or what is wrong with the text. */
export type TypedProperties = { properties: Properties } | { fault: string }

/**
 * Reads properties as JSON. A number that would not be sent as it was typed is refused, because a parser of JSON keeps
 * numbers as floats.
 */
export function parseProperties(text: string): TypedProperties {
  const properties = parseObject(text)
  if (properties === undefined) return { fault: 'write it as JSON: {"name": "value"}' }
  const [changed] = [...text.replaceAll(STRINGS, '""').matchAll(NUMBERS)]
    .map(([written]) => ({ written, sent: JSON.stringify(JSON.parse(written)) }))
    .filter(({ written, sent }) => written !== sent)
  if (changed === undefined) return { properties }
  const { written, sent } = changed
  return { fault: `${written} would be sent as ${sent}: write that, or "${written}" as text` }
}

function parseObject(text: string): Properties | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
      ? (parsed as Properties)
      : undefined
  } catch {
    return undefined
  }
}
