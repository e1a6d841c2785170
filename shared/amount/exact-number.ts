import { Decimal } from 'decimal.js'

// Strings first, so that digits inside them are never taken for numbers.
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g

/** Up to 15 significant digits and no exponent: a double always gives them back. */
const SURELY_HELD = /^-?[\d.]{1,15}$/

const Wide = Decimal.clone({ precision: 1_000, toExpNeg: -9e15, toExpPos: 9e15, minE: -9e15, maxE: 9e15 })

/**
 * Finds the first number in a JSON text that a double would alter: one that, read and written again, is another number
 * (`9007199254740993`, `0.30000000000000001`, `1e400`).
 *
 * @param json text that JSON.parse accepts
 * @returns the number as it stands in the text, or undefined when all survive
 */
export function findInexactNumber(json: string): string | undefined {
  for (const [token] of json.matchAll(STRING_OR_NUMBER)) {
    if (token.startsWith('"') || SURELY_HELD.test(token)) continue
    if (!isHeldByDouble(token)) return token
  }
  return undefined
}

function isHeldByDouble(token: string): boolean {
  const value = Number(token)
  // Why a limit on the length: a 4 MiB number would keep the decimal library busy for minutes.
  if (!Number.isFinite(value) || token.length > 800) return false
  return new Wide(token).equals(new Wide(value))
}
