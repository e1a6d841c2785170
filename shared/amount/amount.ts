import { Decimal } from 'decimal.js'
import { DomainError } from '../errors/domain-error.ts'

/** An exact decimal. Code outside this folder uses only functions of this folder to read, write and compute amounts. */
export type Amount = Decimal

/** The digits that an amount may have before and after the decimal point: the range of Decimal(38, 18). */
const INTEGER_DIGITS_MAX = 20
const FRACTION_DIGITS_MAX = 18

// Why a clone: decimal.js rounds every result to 20 significant digits by default. A sum of 2^64 amounts has at most 40
// + 18 digits, so with a precision of 80 no sum is rounded. Only averageAmount divides. It rounds to 18 decimal places
// itself.
const Exact = Decimal.clone({ precision: 80, rounding: Decimal.ROUND_HALF_EVEN, toExpNeg: -80, toExpPos: 80 })

const ACCEPTED = new RegExp(`^-?\\d{1,${INTEGER_DIGITS_MAX}}(\\.\\d{1,${FRACTION_DIGITS_MAX}})?$`)
const PLAIN = /^-?\d+(\.\d+)?$/

export const ZERO: Amount = new Exact(0)

/**
 * Reads an amount or a quantity that a caller sent.
 *
 * @param text decimal text: an optional minus sign, 1 to 20 digits, and optionally a point and 1 to 18 digits
 * @throws DomainError malformed, with the fault of the text
 */
export function parseAmount(text: string): Amount {
  if (ACCEPTED.test(text)) return new Exact(text)
  throw new DomainError('malformed', explainAmount(text))
}

/** The reason, as one clause, why a text is not an amount; undefined if it is an amount. */
export function findAmountFault(text: string): string | undefined {
  return ACCEPTED.test(text) ? undefined : explainAmount(text)
}

function explainAmount(text: string): string {
  const shown = JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
  if (!PLAIN.test(text)) return `${shown} is not a plain decimal number such as "12.5"`
  const [integer = '', fraction = ''] = text.replace('-', '').split('.')
  if (integer.length > INTEGER_DIGITS_MAX)
    return `${shown} has ${integer.length} digits before the decimal point, at most ${INTEGER_DIGITS_MAX} are allowed`
  return `${shown} has ${fraction.length} decimal places, at most ${FRACTION_DIGITS_MAX} are allowed`
}

/**
 * Reads a total that one of Tally's own databases computed. A total may be larger than any single amount.
 *
 * @param text plain decimal text, as PostgreSQL writes a numeric and as ClickHouse's toString writes a decimal
 * @throws RangeError for any other text, which is a bug in a query, not a fault of a request
 */
export function amountFromDatabase(text: string): Amount {
  if (!PLAIN.test(text)) throw new RangeError(`not a decimal from a database: ${JSON.stringify(text)}`)
  return new Exact(text)
}

/** Writes plain digits: no exponent, no trailing zeros, no minus zero. */
export function formatAmount(amount: Amount): string {
  return amount.isZero() ? '0' : amount.toFixed()
}

/**
 * Writes accepted decimal text in the form in which Tally stores and returns it: "007.50" becomes "7.5", "-0.0" becomes
 * "0". The result equals formatAmount(parseAmount(text)). Text that already has this form is returned as it is, without
 * making objects, because this function runs once for every reported event.
 *
 * @param text text that parseAmount accepts
 */
export function canonicalAmount(text: string): string {
  if (/^-?(0|[1-9]\d*)(\.\d*[1-9])?$/.test(text)) return text === '-0' ? '0' : text
  return formatAmount(parseAmount(text))
}

/**
 * Writes a number of a JSON text as decimal text, with the same value and without an exponent. For a number that is not
 * an amount, the result is not the text of an amount either.
 *
 * @param number a number that lost no digits when it was parsed; see findInexactNumbers
 */
export function amountTextOf(number: number): string {
  const text = String(number)
  return text.includes('e') ? new Exact(text).toFixed() : text
}

export const addAmounts = (a: Amount, b: Amount): Amount => Exact.add(a, b)
export const subtractAmounts = (a: Amount, b: Amount): Amount => Exact.sub(a, b)
export const compareAmounts = (a: Amount, b: Amount): number => a.comparedTo(b)

/**
 * The mean of `count` amounts, rounded to 18 decimal places, half to even.
 *
 * @param sum their exact sum
 * @param count the number of amounts, at least 1
 */
export function averageAmount(sum: Amount, count: bigint): Amount {
  if (count < 1n) throw new RangeError(`an average needs at least one amount, got ${count.toString()}`)
  // Why rounding first to 80 digits and then to 18 places gives the right result: a mean has at most 20 digits before
  // the point. If a mean is no tie at the 18th place, it differs from a tie by at least 1/(2 * count) of a unit of that
  // place. This difference is visible in the first 40 places.
  return Exact.div(sum, count.toString()).toDecimalPlaces(FRACTION_DIGITS_MAX, Decimal.ROUND_HALF_EVEN)
}
