import { Decimal } from 'decimal.js'
import { DomainError } from '../errors/domain-error.ts'

/** An exact decimal. Opaque outside this folder: parseAmount reads it from text, and formatAmount writes it as text. */
export type Amount = Decimal

/** The digits that an amount may have before and after the decimal point: the range of Decimal(38, 18). */
const INTEGER_DIGITS_MAX = 20
const FRACTION_DIGITS_MAX = 18

// Why a clone: decimal.js rounds every result to 20 significant digits by default. A sum of 2^64 amounts has at most 40
// + 18 digits, so with a precision of 80 no sum is rounded. Only averageAmount divides, and it rounds to 18 places
// itself.
const Exact = Decimal.clone({ precision: 80, rounding: Decimal.ROUND_HALF_EVEN, toExpNeg: -80, toExpPos: 80 })

const ACCEPTED = new RegExp(`^-?\\d{1,${INTEGER_DIGITS_MAX}}(\\.\\d{1,${FRACTION_DIGITS_MAX}})?$`)
const PLAIN = /^-?\d+(\.\d+)?$/

export const ZERO: Amount = new Exact(0)

/**
 * Reads an amount or a quantity that a caller sent.
 *
 * @param text decimal text: an optional minus sign, 1 to 20 digits, and optionally a point and 1 to 18 digits
 * @throws DomainError malformed, which says what is wrong with the text
 */
export function parseAmount(text: string): Amount {
  if (ACCEPTED.test(text)) return new Exact(text)
  throw new DomainError('malformed', explainAmount(text))
}

/** Says in one clause why a text is not an amount, or undefined when it is one. */
export function findAmountFault(text: string): string | undefined {
  return ACCEPTED.test(text) ? undefined : explainAmount(text)
}

function explainAmount(text: string): string {
  const shown = JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
  if (!PLAIN.test(text)) return `${shown} is not a plain decimal number such as "12.5"`
  const [integer = '', fraction = ''] = text.replace('-', '').split('.')
  if (integer.length > INTEGER_DIGITS_MAX)
    return `${shown} has ${integer.length} digits before the decimal point, at most ${INTEGER_DIGITS_MAX} are kept`
  return `${shown} has ${fraction.length} decimal places, at most ${FRACTION_DIGITS_MAX} are kept`
}

/**
 * Reads a total that one of Tally's own databases computed. A total may be larger than any single amount.
 *
 * @param text plain decimal text as PostgreSQL's numeric and ClickHouse's toString write it
 * @throws RangeError on anything else: a bug in a query, not a request error
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
 * Writes accepted decimal text in the one form in which it is stored and answered: "007.50" becomes "7.5", "-0.0"
 * becomes "0". The result equals formatAmount(parseAmount(text)), but no objects are made, because this runs once for
 * every reported event.
 *
 * @param text text that parseAmount accepts
 */
export function canonicalAmount(text: string): string {
  if (/^-?(0|[1-9]\d*)(\.\d*[1-9])?$/.test(text)) return text === '-0' ? '0' : text
  return formatAmount(parseAmount(text))
}

export const addAmounts = (a: Amount, b: Amount): Amount => Exact.add(a, b)
export const subtractAmounts = (a: Amount, b: Amount): Amount => Exact.sub(a, b)
export const compareAmounts = (a: Amount, b: Amount): number => a.comparedTo(b)

/**
 * The mean of `count` amounts, to 18 places, half even.
 *
 * @param sum their exact sum
 * @param count the number of amounts, at least 1
 */
export function averageAmount(sum: Amount, count: bigint): Amount {
  if (count < 1n) throw new RangeError(`an average needs at least one amount, got ${count.toString()}`)
  // Why dividing to 80 digits first does not round twice: a mean has at most 20 digits before the point. A mean that is
  // no tie at the 18th place differs from a tie by at least 1/(2 * count) of a unit of that place, which shows by the
  // 40th place.
  return Exact.div(sum, count.toString()).toDecimalPlaces(FRACTION_DIGITS_MAX, Decimal.ROUND_HALF_EVEN)
}
