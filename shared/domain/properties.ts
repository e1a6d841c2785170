import { canonicalJson } from './canonical-json.ts'
import { characterCount } from './character-count.ts'

/** Limits of the free-form properties of a usage event. */
const PROPERTIES_BYTES_MAX = 16 * 1024
const PROPERTIES_DEPTH_MAX = 8

/**
 * Which properties can be asked for by name and value: PropertyName of openapi.yaml. A dot is a part of the name of a
 * top-level property, and no path.
 */
const PROPERTY_NAME = /^[A-Za-z0-9_.-]{1,100}$/
const PROPERTY_VALUE_CHARACTERS_MAX = 500

export type Properties = Record<string, unknown>

export type PropertiesCheck = { json: string; hasNumber: boolean } | { fault: string }

/**
 * Checks free-form properties and brings them into the JSON text that is stored: their one form (canonical-json.ts), so
 * the same properties are the same text, in whatever order their fields were sent.
 *
 * @param properties a parsed JSON object
 * @returns the text, and whether a number is in it (the caller then checks that no digit was lost in parsing); or what
 *   is wrong, as the end of a sentence that starts with "properties"
 */
export function checkProperties(properties: Properties): PropertiesCheck {
  const seen = { hasNumber: false, isOrdered: true }
  const isShallow = isWithinDepth(properties, 1, seen)
  const json = !isShallow ? '' : seen.isOrdered ? JSON.stringify(properties) : canonicalJson(properties)
  // JSON has no other way to write what findFault looks for, so most properties need not be looked at by character.
  if (!isShallow || json.includes('\\u')) {
    const fault = findFault(properties, 1)
    if (fault !== undefined) return { fault }
  }
  if (json.length * UTF8_BYTES_MAX > PROPERTIES_BYTES_MAX) {
    const bytes = Buffer.byteLength(json)
    if (bytes > PROPERTIES_BYTES_MAX)
      return { fault: `take ${bytes} bytes as JSON, at most ${PROPERTIES_BYTES_MAX} are kept` }
  }
  return { json, hasNumber: seen.hasNumber }
}

/** Of one UTF-16 code unit. */
const UTF8_BYTES_MAX = 3

/** What is noticed on the way. */
interface Seen {
  hasNumber: boolean
  /** False when fields may have to be put in order. */
  isOrdered: boolean
}

function isWithinDepth(value: object, depth: number, seen: Seen): boolean {
  if (depth > PROPERTIES_DEPTH_MAX) return false
  let before = ''
  // Why not Object.entries: this runs for every event, and what JSON.parse makes has no enumerable names but its own.
  for (const name in value) {
    // The places of a list are names here, too, and always in order.
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
 * The pairs a usage event is found by: `name=value` for each top-level string, number and boolean that can be asked
 * for. A name holds no `=`, so the first one ends it. Numbers and booleans stand as their JSON text.
 */
export function propertyPairs(properties: Properties): string[] {
  const pairs: string[] = []
  for (const name in properties) {
    const text = propertyText(properties[name])
    if (text !== undefined && PROPERTY_NAME.test(name)) pairs.push(`${name}=${text}`)
  }
  return pairs
}

/** What the value of a property is asked for by, or undefined when it cannot be: null, nested, empty or too long. */
export function propertyText(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return JSON.stringify(value)
  if (typeof value !== 'string' || value === '') return undefined
  // Why not always counting characters: most values are short, and a string never has more of them than code units.
  if (value.length <= PROPERTY_VALUE_CHARACTERS_MAX) return value
  return characterCount(value) <= PROPERTY_VALUE_CHARACTERS_MAX ? value : undefined
}
