import type { PriceTerms } from '../../shared/domain/billing/price.ts'

/** A fraction in lowest terms, as numerator and denominator. */
type Fraction = readonly [bigint, bigint]

/** What is charged: quantities and amounts as decimal text. */
export interface NaiveRequest {
  quantity: string
  isMeasured: boolean
  share: { seconds: number; of: number }
  discountPercent: string
  startsHere: boolean
  minorUnits: number
}

/**
 * What a price comes to, written a second time and in another way, to compare with: it shares no arithmetic with what it
 * checks, walks tiers from the top, counts packages by taking them off, and rounds by looking at what is left over.
 *
 * @returns the exact amount as a fraction in lowest terms (`5/1`), and how many minor units it is rounded
 */
export function naiveCharge(terms: PriceTerms, request: NaiveRequest): { exact: string; minor: bigint } {
  const share = lowest(BigInt(request.share.seconds), BigInt(request.share.of))
  let billable = minus(
    read(request.quantity),
    terms.model === 'flat' ? read('0') : read(terms.includedQuantity),
  )
  if (isLess(billable, read('0'))) billable = read('0')
  let x = naiveCost(terms, billable)
  x = minus(x, over(times(x, read(request.discountPercent)), read('100')))
  if (terms.model === 'flat' && !terms.recurring) {
    if (!request.startsHere) x = read('0')
  } else if (!request.isMeasured) x = times(x, share)
  if (terms.model !== 'flat') {
    const most = terms.maximumAmount === null ? null : times(read(terms.maximumAmount), share)
    if (most !== null && isLess(most, x)) x = most
    const least = terms.minimumAmount === null ? null : times(read(terms.minimumAmount), share)
    if (least !== null && isLess(x, least)) x = least
  }
  return { exact: x.join('/'), minor: halfUp(times(x, read(`1${'0'.repeat(request.minorUnits)}`))) }
}

function naiveCost(terms: PriceTerms, q: Fraction): Fraction {
  if (terms.model === 'flat') return read(terms.amount)
  if (q[0] === 0n) return read('0')
  switch (terms.model) {
    case 'per_unit':
      return times(q, over(read(terms.unitAmount), read(terms.per)))
    case 'percentage':
      return times(q, over(read(terms.percent), read('100')))
    case 'package': {
      let amount = read('0')
      // In steps of halving size, as there may be many.
      let left = q
      let step = 1n << 80n
      for (; step > 0n; step /= 2n) {
        const size = times([step, 1n], read(terms.packageSize))
        if (isLess(left, size)) continue
        left = minus(left, size)
        amount = plus(amount, times([step, 1n], read(terms.packageAmount)))
      }
      return left[0] === 0n ? amount : plus(amount, read(terms.packageAmount))
    }
    case 'volume': {
      let chosen = terms.tiers.at(-1)
      for (const tier of terms.tiers.toReversed())
        if (tier.upTo === null || !isLess(read(tier.upTo), q)) chosen = tier
      if (chosen === undefined) throw new Error('no tiers')
      return plus(times(q, over(read(chosen.unitAmount), read(terms.per))), read(chosen.flatAmount))
    }
    case 'graduated': {
      let amount = read('0')
      let left = q
      for (let i = terms.tiers.length - 1; i >= 0; i--) {
        const start = read(terms.tiers[i - 1]?.upTo ?? '0')
        const tier = terms.tiers[i]
        if (tier === undefined || !isLess(start, left)) continue
        amount = plus(amount, times(minus(left, start), over(read(tier.unitAmount), read(terms.per))))
        amount = plus(amount, read(tier.flatAmount))
        left = start
      }
      return amount
    }
  }
}

function read(text: string): Fraction {
  const [integer = '', fraction = ''] = text.replace('-', '').split('.')
  const [n, d] = lowest(BigInt(integer + fraction), BigInt(`1${'0'.repeat(fraction.length)}`))
  return [text.startsWith('-') ? -n : n, d]
}

function lowest(n: bigint, d: bigint): Fraction {
  const divisor = common(n < 0n ? -n : n, d)
  return [n / divisor, d / divisor]
}

const common = (a: bigint, b: bigint): bigint => (b === 0n ? a : common(b, a % b))
const plus = ([a, b]: Fraction, [c, d]: Fraction): Fraction => lowest(a * d + c * b, b * d)
const minus = (a: Fraction, [c, d]: Fraction): Fraction => plus(a, [-c, d])
const times = ([a, b]: Fraction, [c, d]: Fraction): Fraction => lowest(a * c, b * d)
const over = (a: Fraction, [c, d]: Fraction): Fraction => times(a, [d, c])
const isLess = (a: Fraction, b: Fraction): boolean => minus(a, b)[0] < 0n

/** Never of less than nothing. */
function halfUp([n, d]: Fraction): bigint {
  const left = n % d
  return (n - left) / d + (left + left >= d ? 1n : 0n)
}
