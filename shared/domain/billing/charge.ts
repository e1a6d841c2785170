import {
  compareRatios,
  HUNDRED,
  isZeroRatio,
  maxRatio,
  multiplyRatios,
  percentOf,
  type Ratio,
  RATIO_ZERO,
  roundHalfUp,
  subtractRatios,
} from '../../amount/ratio.ts'
import { costOf, type TierCost } from './cost.ts'
import { type Share, shareRatio } from './pieces.ts'
import type { PriceTerms } from './price.ts'

/** The quantity that a price is applied to, and the conditions of the line. */
export interface ChargeRequest {
  /** In the unit of the metric or currency that is measured; negative usage is billed as 0. */
  quantity: Ratio
  /** True for counted usage, which is never prorated; false for an agreed quantity, which is prorated by time. */
  isMeasured: boolean
  /** The piece's share of the period. */
  share: Share
  /** 0 to 100. */
  discountPercent: Ratio
  /** Whether the line begins with this piece. Only then is a one-time charge due. */
  startsHere: boolean
  /** Minor units of the price's currency. */
  minorUnits: number
}

export interface Charge {
  /** The part of the quantity that is priced: the part above the included quantity; never negative. */
  billableQuantity: Ratio
  /** The cost in each tier, before discount, share and bounds. Only for graduated and volume prices. */
  tiers?: TierCost[]
  /** The bound of the price that changed the amount, if there is one. */
  bound?: 'minimum' | 'maximum'
  exactAmount: Ratio
  /** Rounded to the minor unit, ties up. */
  amount: Ratio
}

/** Computes the charge of one price for a piece. Only this function rounds the amount of a line. */
export function chargeOf(terms: PriceTerms<Ratio>, request: ChargeRequest): Charge {
  const { quantity, isMeasured, discountPercent, startsHere, minorUnits } = request
  const included = terms.model === 'flat' ? RATIO_ZERO : terms.includedQuantity
  const billableQuantity = maxRatio(RATIO_ZERO, subtractRatios(quantity, included))

  const cost = costOf(terms, billableQuantity)
  let x = lessDiscount(cost.exactAmount, discountPercent)
  if (isDueOnce(terms)) x = startsHere ? x : RATIO_ZERO
  else if (!isMeasured) x = multiplyRatios(x, shareRatio(request.share))

  const { exactAmount, bound } = withinBounds(terms, x, request.share)
  // Why no spread syntax: it took a large part of the time that rating takes.
  const charge: Charge = { billableQuantity, exactAmount, amount: roundHalfUp(exactAmount, minorUnits) }
  if (cost.tiers !== undefined) charge.tiers = cost.tiers
  if (bound !== undefined) charge.bound = bound
  return charge
}

/** Whether a price is due once, in full, with the piece in which its line starts. */
export const isDueOnce = (terms: PriceTerms<unknown>): boolean => terms.model === 'flat' && !terms.recurring

const lessDiscount = (x: Ratio, percent: Ratio): Ratio =>
  isZeroRatio(percent) ? x : percentOf(x, subtractRatios(HUNDRED, percent))

/** The minimum is compared with the amount after the discount, so that a discount never lowers a minimum. */
function withinBounds(
  terms: PriceTerms<Ratio>,
  x: Ratio,
  share: Share,
): Pick<Charge, 'bound' | 'exactAmount'> {
  if (terms.model === 'flat') return { exactAmount: x }
  const maximum = terms.maximumAmount && multiplyRatios(terms.maximumAmount, shareRatio(share))
  if (maximum && compareRatios(x, maximum) > 0) return { bound: 'maximum', exactAmount: maximum }
  const minimum = terms.minimumAmount && multiplyRatios(terms.minimumAmount, shareRatio(share))
  if (minimum && compareRatios(x, minimum) < 0) return { bound: 'minimum', exactAmount: minimum }
  return { exactAmount: x }
}
