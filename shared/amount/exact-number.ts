import { Decimal } from 'decimal.js'

// Strings first, so that digits and brackets inside them are never taken for anything else.
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[[\]{},]/g

/** Up to 15 significant digits and no exponent: a double always gives them back. */
const SURELY_HELD = /^-?[\d.]{1,15}$/

const Wide = Decimal.clone({ precision: 1_000, toExpNeg: -9e15, toExpPos: 9e15, minE: -9e15, maxE: 9e15 })

/** A number that a double alters. */
export interface InexactNumber {
  /** As it stands in the text. */
  text: string
  /** Which element it is in of an array that stands directly in the document's object; 0 outside of one. */
  element: number
}

/** How deep an array lies that stands directly in the document's object. */
const ELEMENT_DEPTH = 2

/**
 * Finds the numbers in a JSON text that a double would alter: those that, read and written again, are other numbers
 * (`9007199254740993`, `0.30000000000000001`, `1e400`).
 *
 * @param json text that JSON.parse accepts
 */
export function* findInexactNumbers(json: string): Generator<InexactNumber> {
  let depth = 0
  let element = 0
  for (const [token] of json.matchAll(TOKENS)) {
    if (token === '{' || token === '[') {
      depth++
      if (depth === ELEMENT_DEPTH) element = 0
    } else if (token === '}' || token === ']') depth--
    else if (token === ',') {
      if (depth === ELEMENT_DEPTH) element++
    } else if (!token.startsWith('"') && !SURELY_HELD.test(token) && !isHeldByDouble(token))
      yield { text: token, element }
  }
}

/** The first of them, as it stands in the text, or undefined when every number survives. */
export function findInexactNumber(json: string): string | undefined {
  const [first] = findInexactNumbers(json)
  return first?.text
}

function isHeldByDouble(token: string): boolean {
  const value = Number(token)
  // Why a limit on the length: a 4 MiB number would keep the decimal library busy for minutes.
  if (!Number.isFinite(value) || token.length > 800) return false
  return new Wide(token).equals(new Wide(value))
}
