import type { PriceTerms } from '../../../../shared/domain/billing/price.ts'
import type { Schema } from '../../api/contract.ts'

/** The terms of a price, or of one that is being typed, with the values that Tally would take for what is left out. */
export function termsOf(price: Schema<'Price'> | Schema<'NewPrice'>): PriceTerms {
  if (price.model === 'flat')
    return { model: 'flat', amount: price.amount, recurring: price.recurring ?? true }
  const bounds = {
    includedQuantity: price.included_quantity ?? '0',
    minimumAmount: price.minimum_amount ?? null,
    maximumAmount: price.maximum_amount ?? null,
  }
  switch (price.model) {
    case 'per_unit':
      return { ...bounds, model: 'per_unit', unitAmount: price.unit_amount, per: price.per ?? '1' }
    case 'graduated':
    case 'volume':
      return {
        ...bounds,
        model: price.model,
        per: price.per ?? '1',
        tiers: price.tiers.map(({ up_to: upTo, unit_amount: unitAmount, flat_amount: flatAmount }) => ({
          upTo,
          unitAmount: unitAmount ?? '0',
          flatAmount: flatAmount ?? '0',
        })),
      }
    case 'package':
      return {
        ...bounds,
        model: 'package',
        packageSize: price.package_size,
        packageAmount: price.package_amount,
      }
    case 'percentage':
      return { ...bounds, model: 'percentage', percent: price.percent }
  }
}
