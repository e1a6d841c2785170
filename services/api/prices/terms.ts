import { canonicalAmount } from '../../../shared/amount/amount.ts'
import type { PriceTerms, Tier } from '../../../shared/domain/billing/price.ts'
import type { RequestOf } from '../../../shared/http/operation.ts'
import { present } from '../core/body-fields.ts'

/** The fields of one price model in the body of a request. */
type TermsBody = RequestOf<'createPrice'>['body']
type TierBody = Extract<TermsBody, { tiers: unknown }>['tiers'][number]

/** The terms of a request. Numbers get the form in which they are stored and shown. */
export function termsFromBody(body: TermsBody): PriceTerms {
  if (body.model === 'flat')
    return { model: 'flat', amount: canonicalAmount(body.amount), recurring: body.recurring }
  const bounds = {
    includedQuantity: canonicalAmount(body.included_quantity),
    minimumAmount: canonicalOrNull(body.minimum_amount),
    maximumAmount: canonicalOrNull(body.maximum_amount),
  }
  switch (body.model) {
    case 'per_unit':
      return { ...bounds, model: 'per_unit', unitAmount: canonicalAmount(body.unit_amount), per: body.per }
    case 'graduated':
    case 'volume':
      return { ...bounds, model: body.model, tiers: body.tiers.map(tierFromBody), per: body.per }
    case 'package':
      return {
        ...bounds,
        model: 'package',
        packageSize: canonicalAmount(body.package_size),
        packageAmount: canonicalAmount(body.package_amount),
      }
    case 'percentage':
      return { ...bounds, model: 'percentage', percent: canonicalAmount(body.percent) }
  }
}

const tierFromBody = (tier: TierBody): Tier => ({
  upTo: canonicalOrNull(tier.up_to),
  unitAmount: canonicalAmount(tier.unit_amount),
  flatAmount: canonicalAmount(tier.flat_amount),
})

const canonicalOrNull = (text: string | null = null): string | null =>
  text === null ? null : canonicalAmount(text)

/** The terms in an answer; an absent bound is left out. */
export function termsToBody(terms: PriceTerms) {
  if (terms.model === 'flat') return { model: terms.model, amount: terms.amount, recurring: terms.recurring }
  const bounds = {
    included_quantity: terms.includedQuantity,
    ...present({ minimum_amount: terms.minimumAmount, maximum_amount: terms.maximumAmount }),
  }
  switch (terms.model) {
    case 'per_unit':
      return { model: terms.model, unit_amount: terms.unitAmount, per: terms.per, ...bounds }
    case 'graduated':
    case 'volume':
      return { model: terms.model, tiers: terms.tiers.map(tierToBody), per: terms.per, ...bounds }
    case 'package':
      return {
        model: terms.model,
        package_size: terms.packageSize,
        package_amount: terms.packageAmount,
        ...bounds,
      }
    case 'percentage':
      return { model: terms.model, percent: terms.percent, ...bounds }
  }
}

const tierToBody = (tier: Tier) => ({
  up_to: tier.upTo,
  unit_amount: tier.unitAmount,
  flat_amount: tier.flatAmount,
})
