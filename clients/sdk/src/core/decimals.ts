import { amountText } from './amounts.ts'
import type { AmountInput } from './contract-types.ts'

/** Exact arithmetic on amounts. They are text, because a float would lose digits. */
export const decimals = {
  /** Returns -1, 0 or 1, for sorting. */
  compare: (a: AmountInput, b: AmountInput): -1 | 0 | 1 => {
    const [x, y] = aligned(a, b)
    return x < y ? -1 : x > y ? 1 : 0
  },
  /** Whether an amount is below zero. */
  isNegative: (amount: AmountInput): boolean => parse(amount).units < 0n,
  add: (a: AmountInput, b: AmountInput): string => {
    const [x, y, places] = aligned(a, b)
    return format(x + y, places)
  },
  subtract: (a: AmountInput, b: AmountInput): string => {
    const [x, y, places] = aligned(a, b)
    return format(x - y, places)
  },
}

/** The amount is units / 10 ** places. */
interface Decimal {
  units: bigint
  places: number
}

/** @throws TypeError when it is not decimal text */
function parse(amount: AmountInput): Decimal {
  const text = amountText(amount, 'amount')
  const match = /^(-?\d+)(?:\.(\d+))?$/.exec(text)
  if (match === null) throw new TypeError(`${JSON.stringify(text)} is not an amount, such as '12.5'`)
  const [, whole = '', fraction = ''] = match
  return { units: BigInt(whole + fraction), places: fraction.length }
}

function aligned(a: AmountInput, b: AmountInput): [bigint, bigint, places: number] {
  const [x, y] = [parse(a), parse(b)]
  const places = Math.max(x.places, y.places)
  const scaled = ({ units, places: own }: Decimal) => units * 10n ** BigInt(places - own)
  return [scaled(x), scaled(y), places]
}

/** Formats without zeros at the end of the fraction, as Tally does. */
function format(units: bigint, places: number): string {
  const digits = (units < 0n ? -units : units).toString().padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places)
  const fraction = digits.slice(digits.length - places).replace(/0+$/, '')
  return `${units < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}
