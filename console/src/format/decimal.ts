import {
  compareRatios,
  formatRatio,
  parseRatio,
  subtractRatios,
  sumRatios,
} from '../../../shared/amount/ratio.ts'

/** Decimal text of the API, cut into what is shown: a sign, groups of up to three digits, and the digits after the point. */
export interface DecimalParts {
  sign: '' | '-'
  groups: readonly string[]
  fraction: string
}

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/

/** Cuts decimal text. @returns undefined if the text is no decimal */
export function partsOf(text: string): DecimalParts | undefined {
  const [match, sign = '', whole = '', fraction = ''] = DECIMAL.exec(text) ?? []
  if (match === undefined) return undefined
  const first = whole.length % 3 === 0 ? 3 : whole.length % 3
  const groups = [whole.slice(0, first)]
  for (let at = first; at < whole.length; at += 3) groups.push(whole.slice(at, at + 3))
  return { sign: sign === '-' ? '-' : '', groups, fraction }
}

/** Writes a count for a sentence: `10,400`. */
export const countText = (count: number): string => partsOf(count.toString())?.groups.join(',') ?? ''

/** Thousand, million, and so on. */
const SHORT_UNITS = ['', ' k', ' M', ' G', ' T', ' P', ' E']
const SHORT_DIGITS = 3

/**
 * Shortens decimal text for places where its whole text stands beside: `18059974.5` becomes `18 M`, `1234.5` becomes
 * `1.23 k`. Digits are cut off, never rounded up. What is not 0 never becomes 0.
 */
export function shortDecimal(text: string): string {
  const parts = partsOf(text)
  if (parts === undefined) return text
  const { sign, groups, fraction } = parts
  const whole = groups.join('')
  if (/^0*$/.test(whole)) return sign + shortFraction(fraction)
  const step = Math.min(groups.length - 1, SHORT_UNITS.length - 1)
  const left = whole.slice(0, whole.length - 3 * step)
  const right = whole.slice(whole.length - 3 * step) + fraction
  const places = withoutZeros(right.slice(0, Math.max(0, SHORT_DIGITS - left.length)))
  return sign + left + (places === '' ? '' : `.${places}`) + (SHORT_UNITS[step] ?? '')
}

function shortFraction(fraction: string): string {
  const zeros = /^0*/.exec(fraction)?.[0].length ?? 0
  const places = withoutZeros(fraction.slice(0, zeros + SHORT_DIGITS))
  return places === '' ? '0' : `0.${places}`
}

const withoutZeros = (digits: string): string => digits.replace(/0+$/, '')

/** Fills an amount up to the decimal places of its currency: `5.7` becomes `5.70`. No digit is cut off. */
export function fillPlaces(text: string, places: number | null | undefined): string {
  const fraction = partsOf(text)?.fraction
  if (fraction === undefined || places === null || places === undefined || fraction.length >= places)
    return text
  return `${text}${fraction === '' ? '.' : ''}${'0'.repeat(places - fraction.length)}`
}

export const isNegative = (text: string): boolean => text.startsWith('-')

export const isZero = (text: string): boolean => /^-?0+(\.0+)?$/.test(text)

export const isDecimal = (text: string): boolean => DECIMAL.test(text)

/** @returns less than 0 when a < b, 0 when they are equal, more than 0 when a > b */
export const compareDecimals = (a: string, b: string): number => compareRatios(parseRatio(a), parseRatio(b))

/** Sorts decimals exactly, the lowest first. */
export const sortDecimals = (texts: readonly string[]): string[] =>
  texts
    .map((text) => ({ text, ratio: parseRatio(text) }))
    .sort((a, b) => compareRatios(a.ratio, b.ratio))
    .map(({ text }) => text)

/** What comes to `from` to make `to`, exactly. */
export const differenceOf = (from: string, to: string): string =>
  formatRatio(subtractRatios(parseRatio(to), parseRatio(from)))

/** The exact sum of decimals; 0 for none. */
export const sumDecimals = (texts: readonly string[]): string => formatRatio(sumRatios(texts.map(parseRatio)))
