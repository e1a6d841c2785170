const SCALE = 18

/** A decimal text as a whole number of its 18th place: arithmetic without any decimal library, to compare ours with. */
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

/** Divides whole numbers; a tie goes to the even neighbour. */
export function divideHalfEven(dividend: bigint, divisor: bigint): bigint {
  const negative = dividend < 0n
  const magnitude = negative ? -dividend : dividend
  const floor = magnitude / divisor
  const twice = (magnitude % divisor) * 2n
  const rounded = twice > divisor || (twice === divisor && floor % 2n === 1n) ? floor + 1n : floor
  return negative ? -rounded : rounded
}
