import {
  compareRatios,
  divideRatios,
  floorRatio,
  multiplyRatios,
  parseRatio,
  type Ratio,
  RATIO_ZERO,
  ratioOf,
} from '../../../shared/amount/ratio.ts'

/**
 * Writes a ratio with at most some decimal places. Further digits are cut off.
 *
 * @returns the text, and whether it is the whole ratio
 * @internal
 */
export function cutRatio(
  { numerator, denominator }: Ratio,
  places: number,
): { text: string; isExact: boolean } {
  const isBelow = numerator < 0n
  const scale = 10n ** BigInt(places)
  const units = ((isBelow ? -numerator : numerator) * scale) / denominator
  const digits = units.toString().padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places)
  const fraction = digits.slice(digits.length - places).replace(/0+$/, '')
  const sign = isBelow && units > 0n ? '-' : ''
  return {
    text: `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}`,
    isExact: (isBelow ? -units : units) * denominator === numerator * scale,
  }
}

/**
 * How many days a balance lasts, if each day uses as much as the mean of some days before.
 *
 * @param used the usage of those days together
 * @param days how many they are
 * @returns whole days, or one decimal place below ten; undefined when the balance is not used up
 */
export function daysLeft(balance: string, used: string, days: number): string | undefined {
  const [left, usage] = [parseRatio(balance), parseRatio(used)]
  if (compareRatios(left, RATIO_ZERO) <= 0 || compareRatios(usage, RATIO_ZERO) <= 0) return undefined
  const rest = divideRatios(multiplyRatios(left, ratioOf(BigInt(days))), usage)
  return cutRatio(rest, floorRatio(rest) < 10n ? 1 : 0).text
}
