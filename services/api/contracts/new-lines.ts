import { canonicalAmount, compareAmounts, parseAmount } from '../../../shared/amount/amount.ts'
import { parseBillingCurrency } from '../../../shared/domain/billing/billing-currency.ts'
import type { PriceOverride } from '../../../shared/domain/billing/contract.ts'
import type { NewLine } from '../../../shared/domain/billing/stored-contract.ts'
import { newId } from '../../../shared/domain/ids.ts'
import { isMetric, type UsageSource } from '../../../shared/domain/usage-source.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { RequestOf } from '../../../shared/http/operation.ts'
import { requiredSource } from '../core/named-source.ts'

/** A line in the body of a request. */
export type NewLineBody = RequestOf<'createContract'>['body']['lines'][number]
type OverrideBody = NonNullable<NewLineBody['price_overrides']>[number]
type CreditBody = NonNullable<NewLineBody['credit']>

/** A requested line, and its name in error messages. */
export interface AskedLine {
  line: NewLine
  /** For example `lines[0]`. */
  label: string
  /** Whether the request gives the quantity. Otherwise the quantity is 1. */
  saysQuantity: boolean
}

/** The fields that decide the kind of a line, each with the other fields that a line of this kind may have. */
const KINDS = {
  rate_card_id: ['price_overrides', 'discount_percent'],
  price_id: ['quantity', 'discount_percent'],
  minimum_amount: [],
  credit: [],
} as const satisfies Partial<Record<keyof NewLineBody, readonly (keyof NewLineBody)[]>>

const KIND_NAMES = Object.keys(KINDS) as (keyof typeof KINDS)[]
const COMPANIONS = new Set(Object.values(KINDS).flat())

/**
 * Reads lines and checks each by itself. requireUsable checks the resources that they refer to.
 *
 * @param field the field of the body that contains the lines
 * @param startsAt the start of a line without starts_at, in Unix seconds
 * @throws DomainError malformed for a field of another kind of line; unprocessable for an impossible value
 */
export const readLines = (
  bodies: readonly NewLineBody[],
  field: 'lines' | 'add',
  startsAt: number,
): AskedLine[] => bodies.map((body, index) => readLine(body, `${field}[${index}]`, startsAt))

function readLine(body: NewLineBody, label: string, defaultStart: number): AskedLine {
  const startsAt = body.starts_at ?? defaultStart
  if (body.ends_at !== undefined && body.ends_at <= startsAt)
    throw impossible(`${label}.ends_at`, 'must be after starts_at')
  const entry = {
    id: newId('contract_line'),
    startsAt,
    endsAt: body.ends_at ?? null,
    description: body.description ?? null,
  }
  return { line: { ...entry, ...termsOf(body, label) }, label, saysQuantity: body.quantity !== undefined }
}

type Terms<L = NewLine> = L extends NewLine ? Omit<L, 'id' | 'startsAt' | 'endsAt' | 'description'> : never

function termsOf(body: NewLineBody, label: string): Terms {
  requireOneKind(body, label)
  if (body.rate_card_id !== undefined)
    return {
      kind: 'card',
      rateCardId: body.rate_card_id,
      priceOverrides: overridesOf(body.price_overrides ?? [], `${label}.price_overrides`),
      discountPercent: discountOf(body, label),
    }
  if (body.price_id !== undefined)
    return {
      kind: 'price',
      priceId: body.price_id,
      quantity: canonicalAmount(body.quantity ?? '1'),
      discountPercent: discountOf(body, label),
    }
  if (body.minimum_amount !== undefined)
    return { kind: 'minimum', minimumAmount: canonicalAmount(body.minimum_amount) }
  return { kind: 'credit', ...creditOf(body.credit as CreditBody, `${label}.credit`) }
}

function requireOneKind(body: NewLineBody, label: string): void {
  const [kind, ...others] = KIND_NAMES.filter((name) => body[name] !== undefined)
  if (kind === undefined || others.length > 0)
    throw impossible(label, `exactly one of ${KIND_NAMES.join(', ')} is required`)
  const ofKind: readonly string[] = KINDS[kind]
  for (const name of COMPANIONS)
    if (body[name] !== undefined && !ofKind.includes(name))
      throw new DomainError('malformed', `${label}.${name}: is not a field of a line with ${kind}`)
}

function discountOf({ discount_percent: text = '0' }: NewLineBody, label: string): string {
  if (compareAmounts(parseAmount(text), parseAmount('100')) > 0)
    throw impossible(`${label}.discount_percent`, 'must be at most 100')
  return canonicalAmount(text)
}

function overridesOf(bodies: readonly OverrideBody[], label: string): PriceOverride[] {
  const seen = new Set<string>()
  return bodies.map(({ product_id: productId, value, price_id: priceId }, index) => {
    const meant = JSON.stringify({ productId, value }) // value null: all other values; no value: all values
    if (seen.has(meant))
      throw impossible(`${label}[${index}]`, 'another override has the same product and value')
    seen.add(meant)
    return { productId, ...(value !== undefined && { value }), priceId }
  })
}

function creditOf(body: CreditBody, label: string) {
  const source = sourceOf(body, label)
  if (compareAmounts(parseAmount(body.amount), parseAmount('0')) === 0)
    throw impossible(`${label}.amount`, 'must be greater than 0')
  // A balance subtracts all usage ever. If a grant expired, the balance would lose even the part that was used before.
  if (body.expires === 'period_end' && body.metric_id !== undefined)
    throw impossible(`${label}.expires`, 'period_end is only for credit in a currency')
  return { amount: canonicalAmount(body.amount), source, expires: body.expires }
}

function sourceOf(body: CreditBody, label: string): UsageSource {
  const source = requiredSource(body, 'unprocessable', `${label}.`)
  return isMetric(source) ? source : parseBillingCurrency(source, `${label}.currency`)
}

const impossible = (label: string, text: string): DomainError =>
  new DomainError('unprocessable', `${label}: ${text}`)
