import {
  addRatios,
  ceilRatio,
  compareRatios,
  divideRatios,
  isZeroRatio,
  minRatio,
  multiplyRatios,
  percentOf,
  type Ratio,
  RATIO_ZERO,
  ratioOf,
  subtractRatios,
  sumRatios,
} from '../../amount/ratio.ts'
import type { PriceTerms, Tier } from './price.ts'

/** The part of a quantity that is in one tier, and its cost. */
export interface TierCost {
  upTo: Ratio | null
  quantity: Ratio
  exactAmount: Ratio
}

/** The cost of a quantity. */
export interface Cost {
  exactAmount: Ratio
  /** The tiers that the quantity reaches, for graduated and volume prices; otherwise undefined. */
  tiers?: TierCost[]
}

/**
 * The exact cost of a quantity, before discount, share and bounds.
 *
 * @param quantity in the unit of the metric or currency that is measured, without the included quantity; not negative
 */
export function costOf(terms: PriceTerms<Ratio>, quantity: Ratio): Cost {
  switch (terms.model) {
    case 'flat':
      return { exactAmount: terms.amount }
    case 'per_unit':
      return { exactAmount: divideRatios(multiplyRatios(quantity, terms.unitAmount), terms.per) }
    case 'percentage':
      return { exactAmount: percentOf(quantity, terms.percent) }
    case 'package': {
      // A quantity of 0 needs no package, so nothing is due.
      const packages = ceilRatio(divideRatios(quantity, terms.packageSize))
      return { exactAmount: multiplyRatios(ratioOf(packages), terms.packageAmount) }
    }
    case 'graduated':
      return ofTiers(graduated(terms.tiers, terms.per, quantity))
    case 'volume':
      return ofTiers(volume(terms.tiers, terms.per, quantity))
  }
}

const ofTiers = (tiers: TierCost[]): Cost => ({
  exactAmount: sumRatios(tiers.map(({ exactAmount }) => exactAmount)),
  tiers,
})

/** Prices each part of the quantity by the tier that contains the part. */
function graduated(tiers: readonly Tier<Ratio>[], per: Ratio, quantity: Ratio): TierCost[] {
  const entered: TierCost[] = []
  let below = RATIO_ZERO
  for (const tier of tiers) {
    if (compareRatios(quantity, below) <= 0) break
    const end = tier.upTo === null ? quantity : minRatio(quantity, tier.upTo)
    entered.push(tierCost(tier, per, subtractRatios(end, below)))
    below = end
  }
  return entered
}

/** Prices the whole quantity by the tier that contains its end. */
function volume(tiers: readonly Tier<Ratio>[], per: Ratio, quantity: Ratio): TierCost[] {
  if (isZeroRatio(quantity)) return []
  const tier = tiers.find(({ upTo }) => upTo === null || compareRatios(quantity, upTo) <= 0)
  if (tier === undefined) throw new RangeError('the last tier of a price must have no end')
  return [tierCost(tier, per, quantity)]
}

const tierCost = (tier: Tier<Ratio>, per: Ratio, quantity: Ratio): TierCost => ({
  upTo: tier.upTo,
  quantity,
  exactAmount: addRatios(divideRatios(multiplyRatios(quantity, tier.unitAmount), per), tier.flatAmount),
})
