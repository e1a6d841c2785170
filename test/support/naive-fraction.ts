/**
 * A fraction in lowest terms, as numerator and denominator. Its arithmetic shares no code with the functions under
 * test.
 */
export type Fraction = readonly [bigint, bigint]

/** Parses decimal text. */
export function readFraction(text: string): Fraction {
  const [integer = '', fraction = ''] = text.replace('-', '').split('.')
  const [n, d] = lowest(BigInt(integer + fraction), tens(fraction.length))
  return [text.startsWith('-') ? -n : n, d]
}

/** Writes decimal digits if they are exact, otherwise `n/d`. */
export function writeFraction([n, d]: Fraction): string {
  // A denominator with k binary digits that divides any power of ten also divides 10^k.
  const places = d.toString(2).length
  if (tens(places) % d !== 0n) return `${n}/${d}`
  const digits = ((n < 0n ? -n : n) * (tens(places) / d)).toString().padStart(places + 1, '0')
  const text = `${digits.slice(0, -places)}.${digits.slice(-places)}`.replace(/\.?0+$/, '')
  return n < 0n ? `-${text}` : text
}

export const NOTHING: Fraction = [0n, 1n]

export const fractionOf = (n: number | bigint, d: number | bigint = 1): Fraction =>
  lowest(BigInt(n), BigInt(d))

export const plus = ([a, b]: Fraction, [c, d]: Fraction): Fraction => lowest(a * d + c * b, b * d)
export const minus = (a: Fraction, [c, d]: Fraction): Fraction => plus(a, [-c, d])
export const times = ([a, b]: Fraction, [c, d]: Fraction): Fraction => lowest(a * c, b * d)
export const over = (a: Fraction, [c, d]: Fraction): Fraction => times(a, [d, c])
export const isLess = (a: Fraction, b: Fraction): boolean => minus(a, b)[0] < 0n
export const lesser = (a: Fraction, b: Fraction): Fraction => (isLess(a, b) ? a : b)
export const greater = (a: Fraction, b: Fraction): Fraction => (isLess(a, b) ? b : a)

/** Rounds a non-negative fraction half up to a number of decimal places. */
export function halfUp(x: Fraction, places: number): Fraction {
  const [n, d] = times(x, fractionOf(tens(places)))
  const left = n % d
  return fractionOf((n - left) / d + (left + left >= d ? 1n : 0n), tens(places))
}

/** Rounds a non-negative fraction down. */
export function down(x: Fraction, places: number): Fraction {
  const [n, d] = times(x, fractionOf(tens(places)))
  return fractionOf((n - (n % d)) / d, tens(places))
}

function lowest(n: bigint, d: bigint): Fraction {
  const divisor = common(n < 0n ? -n : n, d)
  return [n / divisor, d / divisor]
}

const common = (a: bigint, b: bigint): bigint => (b === 0n ? a : common(b, a % b))
const tens = (zeros: number): bigint => BigInt(`1${'0'.repeat(zeros)}`)
