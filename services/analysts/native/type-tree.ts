/** A parsed data type: `Map(String, Array(UInt8))` has the arguments `String` and `Array(UInt8)`. */
export interface TypeTree {
  name: string
  /** The text of each argument; an element of a tuple is without its name. */
  args: string[]
}

/** Parses the text of a type, as the engine writes it. */
export function parseType(text: string): TypeTree {
  const open = text.indexOf('(')
  if (open < 0) return { name: text.trim(), args: [] }
  const name = text.slice(0, open).trim()
  const args = splitArguments(text.slice(open + 1, text.lastIndexOf(')')))
  return { name, args: name === 'Tuple' ? args.map(withoutElementName) : args }
}

function splitArguments(text: string): string[] {
  const args: string[] = []
  let depth = 0
  let start = 0
  // Quoted text first: brackets and commas in it mean nothing.
  for (const { 0: part, index } of text.matchAll(/'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|[(),]/g)) {
    if (part === '(') depth++
    else if (part === ')') depth--
    else if (part === ',' && depth === 0) {
      args.push(text.slice(start, index).trim())
      start = index + 1
    }
  }
  const last = text.slice(start).trim()
  return last === '' ? args : [...args, last]
}

const withoutElementName = (element: string): string =>
  element.replace(/^(?:`(?:[^`\\]|\\.)*`|\w+)\s+(?=\S)/, '')
