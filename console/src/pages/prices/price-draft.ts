import type { Schema } from '../../api/contract.ts'
import { compareDecimals, isDecimal, isNegative, isZero } from '../../format/decimal.ts'

type NewPrice = Schema<'NewPrice'>
export type Model = NewPrice['model']

export interface TierDraft {
  upTo: string
  unitAmount: string
  flatAmount: string
}

/** A price as it is typed. */
export interface PriceDraft {
  model: Model
  currency: string
  /** The amount of a flat price, of units, of a package; or the percentage. */
  amount: string
  isRecurring: boolean
  per: string
  packageSize: string
  /** All but the last one have an end. */
  tiers: readonly TierDraft[]
  included: string
  minimum: string
  maximum: string
  description: string
}

const NO_TIER: TierDraft = { upTo: '', unitAmount: '', flatAmount: '' }

export const NO_PRICE: PriceDraft = {
  model: 'per_unit',
  currency: '',
  amount: '',
  isRecurring: true,
  per: '',
  packageSize: '',
  tiers: [NO_TIER, NO_TIER],
  included: '',
  minimum: '',
  maximum: '',
  description: '',
}

/** Adds a tier before the last one, which has no end. */
export const withTier = (tiers: readonly TierDraft[]): TierDraft[] => [
  ...tiers.slice(0, -1),
  NO_TIER,
  ...tiers.slice(-1),
]

export type Faults = Partial<
  Record<'amount' | 'per' | 'packageSize' | 'tiers' | 'included' | 'minimum' | 'maximum', string>
>

const HOW = 'write it with digits and a point, as 12.5'
const WHOLE = /^0*[1-9]\d{0,18}$/

const amountFault = (text: string): string | undefined => {
  const trimmed = text.trim()
  return trimmed === '' || (isDecimal(trimmed) && !isNegative(trimmed)) ? undefined : HOW
}

/** What is wrong with what is typed. Tally checks the rest. */
export function faultsOf(draft: PriceDraft): Faults {
  const { amount, per, packageSize, included, minimum, maximum } = draft
  const found: Record<keyof Faults, string | undefined> = {
    amount: amountFault(amount),
    per: per.trim() === '' || WHOLE.test(per.trim()) ? undefined : 'write a whole number, as 1000',
    packageSize:
      amountFault(packageSize) ??
      (packageSize.trim() !== '' && isZero(packageSize.trim()) ? 'greater than 0' : undefined),
    tiers: isTiered(draft) ? tiersFault(draft.tiers) : undefined,
    included: amountFault(included),
    minimum: amountFault(minimum),
    maximum: amountFault(maximum) ?? orderFault(minimum, maximum),
  }
  return Object.fromEntries(Object.entries(found).filter(([, fault]) => fault !== undefined))
}

export const isTiered = ({ model }: PriceDraft): boolean => model === 'graduated' || model === 'volume'

const orderFault = (minimum: string, maximum: string): string | undefined =>
  isDecimal(minimum.trim()) &&
  isDecimal(maximum.trim()) &&
  compareDecimals(maximum.trim(), minimum.trim()) < 0
    ? 'the most is not below the least'
    : undefined

function tiersFault(tiers: readonly TierDraft[]): string | undefined {
  let below = '0'
  for (const [index, { upTo, unitAmount, flatAmount }] of tiers.entries()) {
    const place = `tier ${index + 1}`
    for (const text of [unitAmount, flatAmount, index === tiers.length - 1 ? '' : upTo]) {
      const fault = amountFault(text)
      if (fault !== undefined) return `${place}: ${fault}`
    }
    if (index === tiers.length - 1 || upTo.trim() === '') continue
    if (compareDecimals(upTo.trim(), below) <= 0) return `${place}: its end is above ${below}`
    below = upTo.trim()
  }
  return undefined
}

/** The price in the form of the API. @returns undefined while something is missing or wrong */
export function newPriceOf(draft: PriceDraft, productId: string): NewPrice | undefined {
  const { model, currency, description } = draft
  if (currency.trim() === '' || Object.keys(faultsOf(draft)).length > 0) return undefined
  const common = {
    product_id: productId,
    currency: currency.trim(),
    ...(description === '' ? {} : { description }),
  }
  const amount = draft.amount.trim()
  if (model === 'graduated' || model === 'volume') return tiered(draft, { ...common, model })
  if (amount === '') return undefined
  switch (model) {
    case 'flat':
      return { ...common, model, amount, recurring: draft.isRecurring }
    case 'per_unit':
      return { ...common, model, unit_amount: amount, ...perOf(draft), ...boundsOf(draft) }
    case 'percentage':
      return { ...common, model, percent: amount, ...boundsOf(draft) }
    case 'package': {
      const size = draft.packageSize.trim()
      if (size === '') return undefined
      return { ...common, model, package_size: size, package_amount: amount, ...boundsOf(draft) }
    }
  }
}

type TieredStart = Pick<Schema<'NewTieredPrice'>, 'product_id' | 'currency' | 'model' | 'description'>

function tiered(draft: PriceDraft, start: TieredStart): NewPrice | undefined {
  const { tiers } = draft
  if (tiers.slice(0, -1).some(({ upTo }) => upTo.trim() === '')) return undefined
  if (tiers.some(({ unitAmount, flatAmount }) => unitAmount.trim() === '' && flatAmount.trim() === ''))
    return undefined
  return {
    ...start,
    tiers: tiers.map(({ upTo, unitAmount, flatAmount }, index) => ({
      up_to: index === tiers.length - 1 ? null : upTo.trim(),
      ...optional('unit_amount', unitAmount),
      ...optional('flat_amount', flatAmount),
    })),
    ...perOf(draft),
    ...boundsOf(draft),
  }
}

const optional = <Name extends string>(name: Name, text: string): Partial<Record<Name, string>> =>
  text.trim() === '' ? {} : ({ [name]: text.trim() } as Record<Name, string>)

const perOf = ({ per }: PriceDraft) => optional('per', per)
const boundsOf = ({ included, minimum, maximum }: PriceDraft) => ({
  ...optional('included_quantity', included),
  ...optional('minimum_amount', minimum),
  ...optional('maximum_amount', maximum),
})
