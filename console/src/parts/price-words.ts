import type { Schema } from '../api/contract.ts'

/**
 * A price in words, without its product: `3 usd per 1000000, 100 included, at least 20 usd`.
 *
 * @param unit what is counted, if that is known, such as `tokens`
 */
export function priceWords(price: Schema<'Price'>, unit = ''): string {
  const { currency } = price
  if (price.model === 'flat') return `${price.amount} ${currency} ${price.recurring ? 'a period' : 'once'}`
  const { included_quantity: included, minimum_amount: minimum, maximum_amount: maximum } = price
  return [
    rule(price, unit),
    ...(included === '0' ? [] : [`${counted(included, unit)} included`]),
    ...(minimum === undefined ? [] : [`at least ${minimum} ${currency}`]),
    ...(maximum === undefined ? [] : [`at most ${maximum} ${currency}`]),
  ].join(', ')
}

function rule(price: Exclude<Schema<'Price'>, { model: 'flat' }>, unit: string): string {
  const { currency } = price
  switch (price.model) {
    case 'per_unit':
      return price.per === '1'
        ? `${price.unit_amount} ${currency} each`
        : `${price.unit_amount} ${currency} per ${counted(price.per, unit)}`
    case 'graduated':
    case 'volume':
      return `${price.model}, ${price.tiers.length} ${price.tiers.length === 1 ? 'tier' : 'tiers'}`
    case 'package':
      return `${price.package_amount} ${currency} per package of ${counted(price.package_size, unit)}`
    case 'percentage':
      return `${price.percent} %`
  }
}

const counted = (quantity: string, unit: string): string => (unit === '' ? quantity : `${quantity} ${unit}`)
