/**
 * An exact rational number. It need not be in lowest terms. Only formatRatio removes a common divisor: doing so at each
 * step would take most of the time of rating.
 */
export interface Ratio {
  readonly numerator: bigint
  /** Greater than zero. */
  readonly denominator: bigint
}

// Why not Amount: if a price is for an hour and is charged by the second, no decimal equals the quotient exactly.
// decimal.js would round the quotient when it divides, and the result would be rounded again to minor units.

const PLAIN = /^(-?)(\d+)(?:\.(\d+))?$/

export const RATIO_ZERO: Ratio = { numerator: 0n, denominator: 1n }
export const RATIO_ONE: Ratio = { numerator: 1n, denominator: 1n }

/**
 * Reads decimal text of any length.
 *
 * @param text an optional minus sign, digits, and optionally a point and digits
 * @throws RangeError for any other text. Text from requests must be checked before, see parseAmount
 */
export function parseRatio(text: string): Ratio {
  const [match, sign = '', integer = '', fraction = ''] = PLAIN.exec(text) ?? []
  if (match === undefined) throw new RangeError(`not a decimal: ${JSON.stringify(text)}`)
  const magnitude = BigInt(integer + fraction)
  return { numerator: sign === '' ? magnitude : -magnitude, denominator: powerOfTen(fraction.length) }
}

/**
 * Divides one whole number by another.
 *
 * @throws RangeError when the denominator is zero
 */
export function ratioOf(numerator: bigint, denominator = 1n): Ratio {
  if (denominator === 0n) throw new RangeError('a ratio cannot have the denominator 0')
  return denominator > 0n ? { numerator, denominator } : { numerator: -numerator, denominator: -denominator }
}

export function addRatios(a: Ratio, b: Ratio): Ratio {
  if (a.numerator === 0n) return b
  if (b.numerator === 0n) return a
  // Why the two cases: most denominators are powers of ten. Without these cases, a long sum would multiply all of them.
  if (a.denominator % b.denominator === 0n)
    return {
      numerator: a.numerator + b.numerator * (a.denominator / b.denominator),
      denominator: a.denominator,
    }
  if (b.denominator % a.denominator === 0n) return addRatios(b, a)
  return {
    numerator: a.numerator * b.denominator + b.numerator * a.denominator,
    denominator: a.denominator * b.denominator,
  }
}

/** The sum of any number of ratios; 0 for none. */
export const sumRatios = (ratios: Iterable<Ratio>): Ratio => {
  let sum = RATIO_ZERO
  for (const ratio of ratios) sum = addRatios(sum, ratio)
  return sum
}

export const subtractRatios = (a: Ratio, b: Ratio): Ratio =>
  addRatios(a, { numerator: -b.numerator, denominator: b.denominator })

export const multiplyRatios = (a: Ratio, b: Ratio): Ratio => ({
  numerator: a.numerator * b.numerator,
  denominator: a.denominator * b.denominator,
})

/** @throws RangeError when b is zero */
export const divideRatios = (a: Ratio, b: Ratio): Ratio =>
  ratioOf(a.numerator * b.denominator, a.denominator * b.numerator)

/** 100 percent, for example to subtract a percentage from. */
export const HUNDRED: Ratio = { numerator: 100n, denominator: 1n }

export const percentOf = (ratio: Ratio, percent: Ratio): Ratio =>
  divideRatios(multiplyRatios(ratio, percent), HUNDRED)

/** @returns less than 0 when a < b, 0 when they are equal, more than 0 when a > b */
export function compareRatios(a: Ratio, b: Ratio): number {
  const isAlike = a.denominator === b.denominator // true for rounded amounts of one currency
  const left = isAlike ? a.numerator : a.numerator * b.denominator
  const right = isAlike ? b.numerator : b.numerator * a.denominator
  return left < right ? -1 : left > right ? 1 : 0
}

export const minRatio = (a: Ratio, b: Ratio): Ratio => (compareRatios(b, a) < 0 ? b : a)
export const maxRatio = (a: Ratio, b: Ratio): Ratio => (compareRatios(b, a) > 0 ? b : a)

export const isZeroRatio = (ratio: Ratio): boolean => ratio.numerator === 0n

/** The greatest whole number that is not above a ratio: -1 for -0.5. */
export function floorRatio({ numerator, denominator }: Ratio): bigint {
  const quotient = numerator / denominator // BigInt truncates towards zero
  return numerator < 0n && quotient * denominator !== numerator ? quotient - 1n : quotient
}

/** The smallest whole number that is not below a ratio. */
export const ceilRatio = ({ numerator, denominator }: Ratio): bigint =>
  -floorRatio({ numerator: -numerator, denominator })

/**
 * Rounds to a currency's minor unit, ties up: ⌊x·10^m + 1/2⌋ / 10^m.
 *
 * @param minorUnits the decimal places of the currency's amounts, from ISO 4217
 */
export function roundHalfUp({ numerator, denominator }: Ratio, minorUnits: number): Ratio {
  const scale = powerOfTen(minorUnits)
  const doubled = { numerator: 2n * numerator * scale + denominator, denominator: 2n * denominator }
  return { numerator: floorRatio(doubled), denominator: scale }
}

/** Rounds to a currency's minor unit, always down. @param minorUnits see roundHalfUp */
export function roundDown({ numerator, denominator }: Ratio, minorUnits: number): Ratio {
  const scale = powerOfTen(minorUnits)
  return { numerator: floorRatio({ numerator: numerator * scale, denominator }), denominator: scale }
}

/** Writes a ratio as an exact decimal if there is one, otherwise as `n/d` in lowest terms (`100/31`, `-1/3`). */
export function formatRatio({ numerator, denominator }: Ratio): string {
  const divisor = greatestCommonDivisor(numerator, denominator)
  const [n, d] = [numerator / divisor, denominator / divisor]
  const places = placesOf(d)
  return places === undefined ? `${n}/${d}` : decimalText(n * (powerOfTen(places) / d), places)
}

/**
 * The number of decimal places of 1/d. Undefined when d has a prime factor other than 2 and 5, because then no number
 * of places is enough.
 */
function placesOf(d: bigint): number | undefined {
  let twos = 0
  let fives = 0
  for (; d % 2n === 0n; d /= 2n) twos++
  for (; d % 5n === 0n; d /= 5n) fives++
  return d === 1n ? Math.max(twos, fives) : undefined
}

/** @param units a number of units of the last decimal place, with no zero at the end */
function decimalText(units: bigint, places: number): string {
  const sign = units < 0n ? '-' : ''
  const digits = (units < 0n ? -units : units).toString().padStart(places + 1, '0')
  return places === 0 ? sign + digits : `${sign}${digits.slice(0, -places)}.${digits.slice(-places)}`
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  let [x, y] = [a < 0n ? -a : a, b]
  while (y !== 0n) [x, y] = [y, x % y]
  return x
}

const POWERS = Array.from({ length: 40 }, (_, exponent) => 10n ** BigInt(exponent))
const powerOfTen = (exponent: number): bigint => POWERS[exponent] ?? 10n ** BigInt(exponent)
