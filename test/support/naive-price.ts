import type { PriceTerms, Tier } from '../../shared/domain/billing/price.ts'
import type { ChargeJson } from './billing-vectors.ts'
import {
  type Fraction,
  fractionOf,
  greater,
  halfUp,
  isLess,
  minus,
  NOTHING,
  over,
  plus,
  readFraction,
  times,
  writeFraction,
} from './naive-fraction.ts'

/** A charge: quantities and amounts as decimal text. */
export interface NaiveRequest<Quantity = string> {
  quantity: Quantity
  isMeasured: boolean
  share: { seconds: number; of: number }
  discountPercent: string
  startsHere: boolean
  minorUnits: number
}

/**
 * Computes the amount of a price by a second implementation with another method. It shares no arithmetic with the
 * functions under test, goes through tiers from the top, counts packages by subtraction, and rounds by the remainder.
 */
export function naiveCharge(terms: PriceTerms, request: NaiveRequest<string | Fraction>): ChargeJson {
  const share = fractionOf(request.share.seconds, request.share.of)
  const included = terms.model === 'flat' ? NOTHING : readFraction(terms.includedQuantity)
  const billable = greater(
    NOTHING,
    minus(typeof request.quantity === 'string' ? readFraction(request.quantity) : request.quantity, included),
  )
  const cost = naiveCost(terms, billable)
  let x = cost.amount
  x = minus(x, over(times(x, readFraction(request.discountPercent)), fractionOf(100)))
  if (terms.model === 'flat' && !terms.recurring) {
    if (!request.startsHere) x = NOTHING
  } else if (!request.isMeasured) x = times(x, share)
  let bound: string | undefined
  if (terms.model !== 'flat') {
    const most = terms.maximumAmount === null ? null : times(readFraction(terms.maximumAmount), share)
    if (most !== null && isLess(most, x)) [x, bound] = [most, 'maximum']
    const least = terms.minimumAmount === null ? null : times(readFraction(terms.minimumAmount), share)
    if (least !== null && isLess(x, least)) [x, bound] = [least, 'minimum']
  }
  return {
    billable_quantity: writeFraction(billable),
    ...(cost.tiers && { tiers: cost.tiers }),
    ...(bound !== undefined && { bound }),
    exact_amount: writeFraction(x),
    amount: writeFraction(halfUp(x, request.minorUnits)),
  }
}

interface NaiveCost {
  amount: Fraction
  tiers?: NonNullable<ChargeJson['tiers']>
}

function naiveCost(terms: PriceTerms, q: Fraction): NaiveCost {
  switch (terms.model) {
    case 'flat':
      return { amount: readFraction(terms.amount) }
    case 'per_unit':
      return { amount: times(q, over(readFraction(terms.unitAmount), readFraction(terms.per))) }
    case 'percentage':
      return { amount: times(q, over(readFraction(terms.percent), fractionOf(100))) }
    case 'package': {
      const size = readFraction(terms.packageSize)
      let packages = 0n
      // The steps double and then halve, because there may be many packages.
      let left = q
      let step = 1n
      while (!isLess(left, times(fractionOf(step), size))) step *= 2n
      for (; step > 0n; step /= 2n) {
        const some = times(fractionOf(step), size)
        if (isLess(left, some)) continue
        left = minus(left, some)
        packages += step
      }
      if (left[0] > 0n) packages++
      return { amount: times(fractionOf(packages), readFraction(terms.packageAmount)) }
    }
    case 'volume': {
      if (q[0] === 0n) return { amount: NOTHING, tiers: [] }
      let chosen = terms.tiers.at(-1)
      for (const tier of terms.tiers.toReversed())
        if (tier.upTo === null || !isLess(readFraction(tier.upTo), q)) chosen = tier
      if (chosen === undefined) throw new Error('no tiers')
      const amount = naiveTier(chosen, terms.per, q)
      return { amount, tiers: [tierToJson(chosen, q, amount)] }
    }
    case 'graduated': {
      let amount = NOTHING
      const tiers: NonNullable<ChargeJson['tiers']> = []
      let left = q
      for (let i = terms.tiers.length - 1; i >= 0; i--) {
        const start = readFraction(terms.tiers[i - 1]?.upTo ?? '0')
        const tier = terms.tiers[i]
        if (tier === undefined || !isLess(start, left)) continue
        const within = minus(left, start)
        const ofTier = naiveTier(tier, terms.per, within)
        tiers.unshift(tierToJson(tier, within, ofTier))
        amount = plus(amount, ofTier)
        left = start
      }
      return { amount, tiers }
    }
  }
}

const naiveTier = (tier: Tier, per: string, q: Fraction): Fraction =>
  plus(times(q, over(readFraction(tier.unitAmount), readFraction(per))), readFraction(tier.flatAmount))

const tierToJson = ({ upTo }: Tier, q: Fraction, amount: Fraction) => ({
  up_to: upTo === null ? null : writeFraction(readFraction(upTo)),
  quantity: writeFraction(q),
  exact_amount: writeFraction(amount),
})
