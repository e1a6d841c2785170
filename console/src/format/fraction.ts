import {
  compareRatios,
  divideRatios,
  floorRatio,
  formatRatio,
  HUNDRED,
  isZeroRatio,
  multiplyRatios,
  parseRatio,
  type Ratio,
  RATIO_ZERO,
  ratioOf,
  roundHalfUp,
} from '../../../shared/amount/ratio.ts'
import { fillPlaces } from './decimal.ts'

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

const FRACTION = /^(-?\d+)\/(\d+)$/

/**
 * Reads an exact number of the API: decimal text, or a fraction such as `100/31`.
 *
 * @internal
 */
export function parseExact(text: string): Ratio {
  const [, numerator, denominator] = FRACTION.exec(text) ?? []
  return numerator === undefined || denominator === undefined
    ? parseRatio(text)
    : ratioOf(BigInt(numerator), BigInt(denominator))
}

const APPROXIMATE_PLACES = 4
const PLACES_MAX = 60

/**
 * The digits of a fraction with four decimal places, or as many more as it takes not to be 0. Further digits are cut
 * off: `100/31` is `3.2258`.
 *
 * @returns undefined when the text is a decimal, which needs no approximation
 */
export function approximate(text: string): string | undefined {
  if (!FRACTION.test(text)) return undefined
  const ratio = parseExact(text)
  for (let places = APPROXIMATE_PLACES; ; places++) {
    const cut = cutRatio(ratio, places).text
    if (cut !== '0' || places === PLACES_MAX) return cut
  }
}

/** The smallest share that is shown with one decimal place. */
const SHARE_MIN = ratioOf(1n, 10n)

/**
 * The share of a part in percent, with one decimal place. Further digits are cut off.
 *
 * @returns undefined when there is no whole
 */
export function shareText(part: string, whole: string): string | undefined {
  const [numerator, denominator] = [parseRatio(part), parseRatio(whole)]
  if (isZeroRatio(denominator)) return undefined
  const percent = divideRatios(multiplyRatios(numerator, HUNDRED), denominator)
  const isTiny = compareRatios(percent, RATIO_ZERO) > 0 && compareRatios(percent, SHARE_MIN) < 0
  return isTiny ? '< 0.1 %' : `${fillPlaces(cutRatio(percent, 1).text, 1)} %`
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

/**
 * A part of a whole in percent, rounded to a tenth.
 *
 * @returns decimal text; undefined when the whole is 0
 */
export function percentText(part: string, whole: string): string | undefined {
  const of = parseRatio(whole)
  if (isZeroRatio(of)) return undefined
  return formatRatio(roundHalfUp(divideRatios(multiplyRatios(parseRatio(part), HUNDRED), of), 1))
}
