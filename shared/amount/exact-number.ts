/** A number that changes when it is parsed as a double. */
export interface InexactNumber {
  /** The number, as it is written in the text. */
  text: string
  /** The index of the array element that contains it, in an array at the given depth; otherwise 0. */
  element: number
}

/** The depth of the array whose elements are counted: a field of the document, or the document itself. */
const DEPTHS = { field: 2, document: 1 }

/**
 * Finds the numbers in a JSON text that change when they are parsed as doubles and written again, for example
 * `9007199254740993`, `0.30000000000000001` and `1e400`.
 *
 * @param json text that JSON.parse accepts
 * @param list where the array is whose elements are counted: a field of the document, or the document itself
 */
export function* findInexactNumbers(
  json: string,
  list: keyof typeof DEPTHS = 'field',
): Generator<InexactNumber> {
  const elementDepth = DEPTHS[list]
  let depth = 0
  let element = 0
  // Why no regular expression: this loop is much faster. A body of megabytes may consist of numbers, and the scan
  // blocks the event loop.
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) at = endOfString(json, at)
    else if (code === COMMA) {
      if (depth === elementDepth) element++
    } else if (code === MINUS || isDigit(code)) {
      const end = endOfNumber(json, at)
      const text = json.slice(at, end)
      if (!isHeldByDouble(text)) yield { text, element }
      at = end - 1
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      depth++
      if (depth === elementDepth) element = 0
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--
  }
}

const [QUOTE, BACKSLASH, COMMA, MINUS, ZERO, NINE] = [34, 92, 44, 45, 48, 57]
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [123, 125, 91, 93]

const isDigit = (code: number): boolean => code >= ZERO && code <= NINE

/** @returns the index of the string's closing quote */
function endOfString(json: string, start: number): number {
  let end = json.indexOf('"', start + 1)
  while (end >= 0 && isEscaped(json, end)) end = json.indexOf('"', end + 1)
  return end < 0 ? json.length : end
}

function isEscaped(json: string, quote: number): boolean {
  let first = quote
  while (json.charCodeAt(first - 1) === BACKSLASH) first--
  return (quote - first) % 2 === 1
}

/** @returns the index of the first character after the number */
function endOfNumber(json: string, start: number): number {
  let end = start + 1
  while (isDigit(json.charCodeAt(end)) || '.eE+-'.includes(json.charAt(end) || ' ')) end++
  return end
}

/**
 * The first number that changes when it is parsed as a double, as it is written in the text; undefined if none does.
 */
export function findInexactNumber(json: string): string | undefined {
  const [first] = findInexactNumbers(json)
  return first?.text
}

/**
 * Whether a double has exactly the value of a number. JavaScript writes a double as the shortest text that parses to
 * this double. The value is exact if both texts mean the same number.
 */
function isHeldByDouble(token: string): boolean {
  const value = Number(token)
  if (String(value) === token) return true
  return Number.isFinite(value) && meaningOf(String(value)) === meaningOf(token)
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/**
 * A normal form of a number: its sign, its significant digits, and the exponent of the last digit. Two texts of the
 * same number have the same normal form.
 */
function meaningOf(token: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(token) ?? []
  const all = whole + fraction
  let first = 0
  while (all.charCodeAt(first) === ZERO) first++
  if (first === all.length) return '0'
  let end = all.length
  while (all.charCodeAt(end - 1) === ZERO) end--
  const place = BigInt(exponent) - BigInt(fraction.length) + BigInt(all.length - end)
  return `${sign}${all.slice(first, end)}e${place}`
}
