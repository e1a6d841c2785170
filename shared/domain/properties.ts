import { canonicalJson } from './canonical-json.ts'
import { characterCount } from './character-count.ts'

/** Limits of the free-form properties of a usage event: the bytes of their text, and the levels of nesting. */
const PROPERTIES_BYTES_MAX = 16 * 1024
const PROPERTIES_DEPTH_MAX = 8

/**
 * The property names that requests can search for: PropertyName of openapi.yaml. A dot is part of the name of a
 * top-level property; it does not separate the parts of a path.
 */
const PROPERTY_NAME = /^[A-Za-z0-9_.-]{1,100}$/
export const PROPERTY_VALUE_CHARACTERS_MAX = 500

export type Properties = Record<string, unknown>

export type PropertiesCheck = { json: string; hasNumber: boolean } | { fault: string }

/**
 * Checks free-form properties and writes them as canonical JSON text (canonical-json.ts), which is stored. Equal
 * properties give equal text, in whatever order their fields were sent.
 *
 * @param properties a parsed JSON object
 * @returns the text, and whether it contains a number: then the caller checks that no digit was lost in parsing. If the
 *   properties are not valid, the fault, as the end of a sentence that starts with "properties"
 */
export function checkProperties(properties: Properties): PropertiesCheck {
  const seen = { hasNumber: false, isOrdered: true }
  const isShallow = isWithinDepth(properties, 1, seen)
  const json = !isShallow ? '' : seen.isOrdered ? JSON.stringify(properties) : canonicalJson(properties)
  // JSON.stringify always writes a `\u` escape for the characters that findFault looks for. So text without such an
  // escape needs no check by character.
  if (!isShallow || json.includes('\\u')) {
    const fault = findFault(properties, 1)
    if (fault !== undefined) return { fault }
  }
  if (json.length * UTF8_BYTES_MAX > PROPERTIES_BYTES_MAX) {
    const bytes = Buffer.byteLength(json)
    if (bytes > PROPERTIES_BYTES_MAX)
      return { fault: `take ${bytes} bytes as JSON, at most ${PROPERTIES_BYTES_MAX} are allowed` }
  }
  return { json, hasNumber: seen.hasNumber }
}

/** The maximum number of bytes that one UTF-16 code unit takes in UTF-8. */
const UTF8_BYTES_MAX = 3

/** The findings of isWithinDepth so far. */
interface Seen {
  hasNumber: boolean
  /** False when fields may have to be sorted. */
  isOrdered: boolean
}

function isWithinDepth(value: object, depth: number, seen: Seen): boolean {
  if (depth > PROPERTIES_DEPTH_MAX) return false
  let before = ''
  // Why not Object.entries, which makes arrays: this runs for every event, and objects from JSON.parse inherit no
  // enumerable names.
  for (const name in value) {
    // For an array, the names are its indexes, which are always in order.
    if (name < before && !Array.isArray(value)) seen.isOrdered = false
    before = name
    const inner = (value as Properties)[name]
    if (typeof inner === 'number') seen.hasNumber = true
    else if (typeof inner === 'object' && inner !== null && !isWithinDepth(inner, depth + 1, seen))
      return false
  }
  return true
}

function findFault(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return findTextFault(value)
  if (typeof value !== 'object' || value === null) return undefined
  if (depth > PROPERTIES_DEPTH_MAX) return `are nested deeper than ${PROPERTIES_DEPTH_MAX} levels`
  for (const [name, inner] of Object.entries(value)) {
    const fault = findTextFault(name) ?? findFault(inner, depth + 1)
    if (fault !== undefined) return fault
  }
  return undefined
}

function findTextFault(text: string): string | undefined {
  if (text.includes('\0')) return 'hold a NUL character'
  if (!text.isWellFormed()) return 'hold half of a surrogate pair, which is no character'
  return undefined
}

/**
 * The pairs by which requests find a usage event: `name=value` for each top-level string, number and boolean that
 * requests can search for. A name contains no `=`, so the first `=` ends the name. Numbers and booleans are written as
 * in JSON.
 */
export function propertyPairs(properties: Properties): string[] {
  const pairs: string[] = []
  for (const name in properties) {
    const text = propertyText(properties[name])
    if (text !== undefined && PROPERTY_NAME.test(name)) pairs.push(`${name}=${text}`)
  }
  return pairs
}

/**
 * The text by which requests search for the value of a property. Undefined if requests cannot search for the value,
 * because it is null, nested, empty or too long.
 */
export function propertyText(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return JSON.stringify(value)
  if (typeof value !== 'string' || value === '') return undefined
  // Why characters are not always counted: most values are short, and a string never has more characters than code
  // units.
  if (value.length <= PROPERTY_VALUE_CHARACTERS_MAX) return value
  return characterCount(value) <= PROPERTY_VALUE_CHARACTERS_MAX ? value : undefined
}
