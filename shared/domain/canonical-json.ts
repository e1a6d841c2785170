/**
 * The canonical text of a JSON value. At every level, fields whose names are whole numbers come first, sorted by size.
 * All other fields follow, sorted by the UTF-16 code units of their names. Clients write JSON again for each attempt,
 * from maps without an order. So equal values must become equal texts wherever texts are compared or digested.
 *
 * Why whole numbers first: in every object, JavaScript puts them first. So text in this form does not change when it is
 * parsed and written again.
 *
 * @param value a result of JSON.parse
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  let text = ''
  for (const { name, before } of orderOf(value).fields)
    text += before + canonicalJson((value as Record<string, unknown>)[name])
  return text === '' ? '{}' : `${text}}`
}

/** Whether two JSON texts have the same value, whatever the order of their fields. */
export const isSameJson = (a: string, b: string): boolean =>
  a === b || canonicalJson(JSON.parse(a)) === canonicalJson(JSON.parse(b))

/** The order in which fields are written, for objects whose names have the order `given`. */
interface FieldOrder {
  given: readonly string[]
  /** The fields in canonical order, each with the text before its value: `{"a":`, `,"b":`. */
  fields: readonly { name: string; before: string }[]
}

/**
 * Why the last orders are kept: this runs for every event, and most events of a reporter have their fields in the same
 * order. Finding an order again is much faster than sorting and quoting the names.
 */
const lastOrders: FieldOrder[] = []
const ORDERS_MAX = 16
let made = 0

function orderOf(value: object): FieldOrder {
  for (const order of lastOrders) if (isOf(order, value)) return order
  const given = Object.keys(value)
  const places = given.filter(isPlace)
  const others = given.slice(places.length).sort()
  const fields = [...places, ...others].map((name, at) => ({
    name,
    before: `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`,
  }))
  const order = { given, fields }
  lastOrders[made++ % ORDERS_MAX] = order
  return order
}

function isOf({ given }: FieldOrder, value: object): boolean {
  let at = 0
  // Why not Object.keys, which makes an array: objects from JSON.parse inherit no enumerable names.
  for (const name in value) if (given[at++] !== name) return false
  return at === given.length
}

const PLACES_END = 2 ** 32 - 1

/** Whether JavaScript treats a name as an array index; such names come first in any object, in order. */
const isPlace = (name: string): boolean => {
  const number = Number(name) >>> 0
  return String(number) === name && number < PLACES_END
}
