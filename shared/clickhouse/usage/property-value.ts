import { type Properties, PROPERTY_VALUE_CHARACTERS_MAX, propertyText } from '../../domain/properties.ts'

/** How an event belongs to the values of a property. */
export const VALUE_KIND = {
  /** It has a value, and ClickHouse can read it. */
  value: 0,
  /** ClickHouse cannot read its properties; valueInText reads them. */
  text: 1,
  /** It has no value. */
  without: 2,
} as const

/** A text of JSON begins with its type. */
const OF_RAW = `multiIf(
  startsWith(raw, '"'), if(position(raw, '\\\\') = 0, substring(raw, 2, length(raw) - 2), JSONExtractString(raw)),
  raw IN ('true', 'false'), raw,
  match(raw, '^[-0-9]'), replaceRegexpOne(raw, 'e([0-9])', 'e+\\\\1'),
  '')`

/**
 * SQL columns that read the property of the parameter `property` from an event: `kind`, a VALUE_KIND, and `grp`, which is
 * the value (see propertyText), all properties of the event, or nothing.
 *
 * ClickHouse's JSON functions differ from JavaScript in two ways. They write 1e+21 as 1e21, which is put right here. And
 * they read nothing of a document that has a whole number of more than 64 bits anywhere. The properties of such an event
 * are returned as they are.
 */
export const VALUE_COLUMNS = `
  JSONExtractRaw(properties, {property:String}) AS raw,
  ${OF_RAW} AS read_text,
  multiIf(
    raw = '', if(isValidJSON(properties), ${VALUE_KIND.without}, ${VALUE_KIND.text}),
    read_text = '' OR lengthUTF8(read_text) > ${PROPERTY_VALUE_CHARACTERS_MAX}, ${VALUE_KIND.without},
    ${VALUE_KIND.value}) AS kind,
  multiIf(kind = ${VALUE_KIND.value}, read_text, kind = ${VALUE_KIND.text}, properties, '') AS grp`

/** The value of a property in the text of an event's properties; undefined if the event has no such value. */
export function valueInText(properties: string, property: string): string | undefined {
  const parsed = JSON.parse(properties) as Properties
  return Object.hasOwn(parsed, property) ? propertyText(parsed[property]) : undefined
}
