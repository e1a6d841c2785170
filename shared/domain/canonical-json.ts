/**
 * The one form of what JSON can say: at every level, fields whose names are whole numbers come first, by size, then all
 * others by the UTF-16 code units of their names. Clients make JSON anew for each attempt, from maps that have no
 * order: what says the same must be the same text wherever texts are compared or digested.
 *
 * Why whole numbers first: JavaScript puts them there whatever the text says, so text in this form stays as it is when
 * it is read and written again.
 *
 * @param value what JSON.parse has made
 * @returns the same with its fields in order; what is no object or list is returned as it is
 */
export function inCanonicalOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(inCanonicalOrder)
  const ordered: Record<string, unknown> = {}
  for (const name of sorted(Object.keys(value)))
    setField(ordered, name, inCanonicalOrder((value as Record<string, unknown>)[name]))
  return ordered
}

const FEW = 20

/** Why by hand when they are few: this runs for every event, and sort() takes most of the time that ordering takes. */
function sorted(names: string[]): string[] {
  if (names.length > FEW) return names.sort()
  for (let end = 1; end < names.length; end++) {
    const name = names[end] as string
    let at = end
    for (let other = names[at - 1]; other !== undefined && other > name; other = names[at - 1])
      names[at--] = other
    names[at] = name
  }
  return names
}

/** Assigning to `__proto__` would not make a field of that name. */
function setField(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true })
  else object[name] = value
}

/** A value as JSON text in its one form. */
export const canonicalJson = (value: unknown): string => JSON.stringify(inCanonicalOrder(value))

/** Whether two texts of JSON say the same, in whatever order their fields stand. */
export const isSameJson = (a: string, b: string): boolean =>
  a === b || canonicalJson(JSON.parse(a)) === canonicalJson(JSON.parse(b))
