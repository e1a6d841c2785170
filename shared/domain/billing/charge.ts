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

/** What is charged by a price. */
export interface ChargeRequest {
  /** In the unit of what is measured; negative usage is billed as none. */
  quantity: Ratio
  /** Whether usage was counted, which is never prorated, or a quantity was agreed, which stands for time. */
  isMeasured: boolean
  /** Of the piece. */
  share: Share
  /** 0 to 100. */
  discountPercent: Ratio
  /** Whether the line begins with this piece: what is due once is due then. */
  startsHere: boolean
  /** Of the price's currency. */
  minorUnits: number
}

export interface Charge {
  /** What of the quantity was priced: above what is included, and never negative. */
  billableQuantity: Ratio
  /** Before discount, share and bounds; for graduated and volume prices alone. */
  tiers?: TierCost[]
  /** What the amount was brought to, when it would otherwise be another. */
  bound?: 'minimum' | 'maximum'
  exactAmount: Ratio
  /** Rounded to the minor unit, a tie up. */
  amount: Ratio
}

/** What is due of a piece by one price; a line's amount is rounded here, and nowhere else. */
export function chargeOf(terms: PriceTerms<Ratio>, request: ChargeRequest): Charge {
  const { quantity, isMeasured, discountPercent, startsHere, minorUnits } = request
  const included = terms.model === 'flat' ? RATIO_ZERO : terms.includedQuantity
  const billableQuantity = maxRatio(RATIO_ZERO, subtractRatios(quantity, included))

  const cost = costOf(terms, billableQuantity)
  let x = lessDiscount(cost.exactAmount, discountPercent)
  if (isDueOnce(terms)) x = startsHere ? x : RATIO_ZERO
  else if (!isMeasured) x = multiplyRatios(x, shareRatio(request.share))

  const { exactAmount, bound } = withinBounds(terms, x, request.share)
  // Why no spread: it took half of the time that rating takes.
  const charge: Charge = { billableQuantity, exactAmount, amount: roundHalfUp(exactAmount, minorUnits) }
  if (cost.tiers !== undefined) charge.tiers = cost.tiers
  if (bound !== undefined) charge.bound = bound
  return charge
}

/** Whether it is due whole, with the piece its line starts in, and not with the others. */
export const isDueOnce = (terms: PriceTerms<unknown>): boolean => terms.model === 'flat' && !terms.recurring

const lessDiscount = (x: Ratio, percent: Ratio): Ratio =>
  isZeroRatio(percent) ? x : percentOf(x, subtractRatios(HUNDRED, percent))

/** A minimum comes last: what was committed to holds after any discount. */
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
