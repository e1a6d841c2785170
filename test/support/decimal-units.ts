const SCALE = 18

/**
 * Converts decimal text to a whole number of units of the 18th place. Tests compare Tally's arithmetic with this one,
 * which uses no decimal library.
 */
export function unitsOf(text: string): bigint {
  const [, sign = '', integer = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  const units = BigInt(integer + fraction.padEnd(SCALE, '0'))
  return sign === '-' ? -units : units
}

export function textOf(units: bigint): string {
  const digits = (units < 0n ? -units : units).toString().padStart(SCALE + 1, '0')
  const fraction = digits.slice(-SCALE).replace(/0+$/, '')
  return `${units < 0n ? '-' : ''}${digits.slice(0, -SCALE)}${fraction === '' ? '' : `.${fraction}`}`
}

/** Divides whole numbers, and rounds half to even. */
export function divideHalfEven(dividend: bigint, divisor: bigint): bigint {
  const negative = dividend < 0n
  const magnitude = negative ? -dividend : dividend
  const floor = magnitude / divisor
  const twice = (magnitude % divisor) * 2n
  const rounded = twice > divisor || (twice === divisor && floor % 2n === 1n) ? floor + 1n : floor
  return negative ? -rounded : rounded
}
