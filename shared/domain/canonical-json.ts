/**
 * The one form of what JSON can say, as text: at every level, fields whose names are whole numbers come first, by size,
 * then all others by the UTF-16 code units of their names. Clients make JSON anew for each attempt, from maps that have
 * no order: what says the same must be the same text wherever texts are compared or digested.
 *
 * Why whole numbers first: JavaScript puts them there whatever the text says, so text in this form stays as it is when
 * it is read and written again.
 *
 * @param value what JSON.parse has made
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  let text = ''
  for (const { name, before } of orderOf(value).fields)
    text += before + canonicalJson((value as Record<string, unknown>)[name])
  return text === '' ? '{}' : `${text}}`
}

/** Whether two texts of JSON say the same, in whatever order their fields stand. */
export const isSameJson = (a: string, b: string): boolean =>
  a === b || canonicalJson(JSON.parse(a)) === canonicalJson(JSON.parse(b))

/** In which order the fields of an object are written whose names come in some other order. */
interface FieldOrder {
  given: readonly string[]
  /** Each with the text that stands before its value: `{"a":`, `,"b":`. */
  fields: readonly { name: string; before: string }[]
}

/**
 * Why the last ones are kept: this runs for every event, most events of a reporter have their fields in one order, and
 * to find it again takes a tenth of what sorting and quoting their names does.
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
  // Why not Object.keys: what JSON.parse makes has no enumerable names but its own.
  for (const name in value) if (given[at++] !== name) return false
  return at === given.length
}

const PLACES_END = 2 ** 32 - 1

/** Whether JavaScript takes a name for a place in a list; those come first in any object, in order. */
const isPlace = (name: string): boolean => {
  const number = Number(name) >>> 0
  return String(number) === name && number < PLACES_END
}
