import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parseAmount } from '../../shared/amount/amount.ts'
import { PROJECT_ROOT } from '../../shared/config/project-root.ts'
import { type MeasuredUsage, mergeUsage, usageOfEvent } from '../../shared/domain/billing/aggregate.ts'
import type { Contract, ContractLine, ContractTimes } from '../../shared/domain/billing/contract.ts'
import { valueOf } from '../../shared/domain/billing/matches.ts'
import type { Cadence } from '../../shared/domain/billing/periods.ts'
import type { InvoicePlan } from '../../shared/domain/billing/plan.ts'
import type { Price, PriceTerms } from '../../shared/domain/billing/price.ts'
import type { Rate } from '../../shared/domain/billing/rate.ts'
import type { UsageRow } from '../../shared/domain/billing/rate-usage.ts'
import type { Properties } from '../../shared/domain/properties.ts'
import type { Aggregation } from '../../shared/domain/usage-aggregate.ts'

/** The content of test/shared/domain/billing/billing-vectors.json. */
export interface BillingVectors {
  minor_units: Record<string, number>
  prices: PriceCase[]
  periods: { id: string; anchor_at: number; cadence: Cadence; first_k: number; boundaries: number[] }[]
  pieces: PieceCase[]
  overlaps: { id: string; a: RateJson; b: RateJson; expect: boolean }[]
  matches: {
    id: string
    rate: RateJson
    properties: Properties
    expect: { matches: boolean; value?: string | null }
  }[]
  aggregations: { id: string; events: EventJson[]; aggregation: Aggregation; expect: string }[]
  credits: CreditCase[]
  statuses: StatusCase[]
  contract_credits: ContractCreditCase[]
  invoices: InvoiceCase[]
  simulations: SimulationCase[]
}

interface PriceCase {
  id: string
  price: PriceJson
  quantity: string
  measured: boolean
  share: [number, number]
  discount_percent: string
  line_starts_here?: boolean
  expect: ChargeJson
}

export interface ChargeJson {
  billable_quantity: string
  tiers?: { up_to: string | null; quantity: string; exact_amount: string }[]
  bound?: string
  exact_amount: string
  amount: string
}

export interface PriceJson {
  product_id?: string
  currency: string
  model: PriceTerms['model']
  amount?: string
  recurring?: boolean
  unit_amount?: string
  per?: string
  tiers?: { up_to: string | null; unit_amount?: string; flat_amount?: string }[]
  package_size?: string
  package_amount?: string
  percent?: string
  included_quantity?: string
  minimum_amount?: string
  maximum_amount?: string
}

export interface TimesJson {
  starts_at: number
  anchor_at: number
  cadence: Cadence
  ends_at?: number
  cancel_at?: number
}

interface PieceCase {
  id: string
  contract: TimesJson
  line: { starts_at: number; ends_at?: number }
  second: number
  expect: { period: [number, number]; piece: [number, number] | null; share: [number, number] | null }
}

export interface RateJson {
  id: string
  source?: string
  aggregation?: Aggregation
  starts_at: number
  ends_at?: number
  filters?: { property: string; values: string[] }[]
  group_by?: string
  prices?: { value: string; price_id: string }[]
  price_id?: string
}

export interface EventJson {
  id: string
  source: string
  quantity: string
  occurred_at: number
  accepted_at: number
  properties?: Properties
  corrections?: { corrected_at: number; quantity?: string; voided?: boolean }[]
}

export interface GrantJson {
  id: string
  amount: string
  effective_at: number
  expires_at?: number
  voided_at?: number
}

export interface CreditJson {
  available: string
  /** A null grant_id means credit that is due by a line of the contract and not yet written. */
  credits_applied: { grant_id: string | null; amount: string }[]
  credit_total: string
  amount_due: string
}

interface CreditCase {
  id: string
  currency: string
  at: number
  grants: GrantJson[]
  usage: string
  total: string
  expect: CreditJson
}

interface StatusCase {
  id: string
  contract: TimesJson
  now: number
  mode?: 'immediate' | 'period_end'
  expect: { status?: string; cancel_at?: number }
}

interface OverrideJson {
  product_id: string
  value?: string | null
  price_id: string
}

export interface LineJson {
  id: string
  starts_at: number
  ends_at?: number
  rate_card_id?: string
  price_overrides?: OverrideJson[]
  discount_percent?: string
  price_id?: string
  quantity?: string
  minimum_amount?: string
  credit?: { amount: string; currency?: string; metric_id?: string; expires?: 'never' | 'period_end' }
}

interface ContractCreditCase {
  id: string
  contract: TimesJson
  line: LineJson
  now: number
  expect: { period_start_at: number; amount: string; effective_at: number; expires_at?: number }[]
}

export interface ContractJson extends TimesJson {
  id: string
  account_id: string
  currency: string
  lines: LineJson[]
}

interface InvoiceLineJson extends ChargeJson {
  line_id: string
  rate_id?: string
  value?: string | null
  price_id: string
  start_at: number
  end_at: number
  quantity: string
}

/** The data by which a period is rated. */
export interface WorldJson {
  contract: ContractJson
  prices: Record<string, PriceJson>
  rate_cards: Record<string, RateJson[]>
  events: EventJson[]
  /** Grants in the contract's currency. */
  grants?: GrantJson[]
}

export interface InvoiceRequestJson {
  second: number
  as_of?: number
  known_at?: number
}

export interface InvoiceCase {
  id: string
  world: WorldJson
  request: InvoiceRequestJson
  expect: InvoiceJson<InvoiceLineJson>
}

interface InvoiceJson<L> extends CreditJson {
  period: { start_at: number; end_at: number }
  lines: L[]
  subtotal: string
  minimum_adjustment: string
  total: string
  unrated: { source: string; event_count: number; quantity: string }[]
}

/** A line with the fields that the vectors omit. */
export interface PreviewLineJson extends InvoiceLineJson {
  value: string | null
  /** Null if no usage is measured. */
  event_count: number | null
  discount_percent: string
  share: { seconds: number; of: number }
}

/** An answer with the fields that the vectors omit. */
export interface PreviewJson extends InvoiceJson<PreviewLineJson> {
  warnings: (
    | { code: 'negative_quantity'; line_id: string; rate_id: string; value: string | null }
    | { code: 'override_unused'; line_id: string; override: OverrideJson }
  )[]
}

interface SimulationCase {
  id: string
  start_at: number
  end_at: number
  prices: { old: PriceJson; new: PriceJson }
  usage: Record<string, string>
  expect: {
    data: { account_id: string; baseline: string; candidate: string; difference: string }[]
    totals: Record<string, string | number>
  }
}

/** Reads synchronously, because mocha needs the cases when it defines the tests. */
export const readBillingVectors = (): BillingVectors =>
  JSON.parse(
    readFileSync(path.join(PROJECT_ROOT, 'test/shared/domain/billing/billing-vectors.json'), 'utf8'),
  ) as BillingVectors

export function termsFromJson(json: PriceJson): PriceTerms {
  const bounds = {
    includedQuantity: json.included_quantity ?? '0',
    minimumAmount: json.minimum_amount ?? null,
    maximumAmount: json.maximum_amount ?? null,
  }
  const per = json.per ?? '1'
  switch (json.model) {
    case 'flat':
      return { model: 'flat', amount: given(json.amount), recurring: json.recurring ?? true }
    case 'per_unit':
      return { ...bounds, model: 'per_unit', unitAmount: given(json.unit_amount), per }
    case 'graduated':
    case 'volume':
      return {
        ...bounds,
        model: json.model,
        per,
        tiers: given(json.tiers).map((tier) => ({
          upTo: tier.up_to,
          unitAmount: tier.unit_amount ?? '0',
          flatAmount: tier.flat_amount ?? '0',
        })),
      }
    case 'package':
      return {
        ...bounds,
        model: 'package',
        packageSize: given(json.package_size),
        packageAmount: given(json.package_amount),
      }
    case 'percentage':
      return { ...bounds, model: 'percentage', percent: given(json.percent) }
  }
}

export const priceFromJson = (id: string, json: PriceJson): Price => ({
  id,
  productId: json.product_id ?? `product_of_${id}`,
  currency: json.currency,
  terms: termsFromJson(json),
})

export const rateFromJson = (json: RateJson): Rate => ({
  id: json.id,
  startsAt: json.starts_at,
  endsAt: json.ends_at ?? null,
  source: json.source ?? null,
  aggregation: json.aggregation ?? 'sum',
  filters: json.filters ?? [],
  groupBy: json.group_by ?? null,
  prices: (json.prices ?? []).map(({ value, price_id }) => ({ value, priceId: price_id })),
  priceId: json.price_id ?? null,
})

export const timesFromJson = (json: TimesJson): ContractTimes => ({
  startsAt: json.starts_at,
  anchorAt: json.anchor_at,
  cadence: json.cadence,
  endsAt: json.ends_at ?? null,
  cancelAt: json.cancel_at ?? null,
})

export function lineFromJson(json: LineJson): ContractLine {
  const entry = { id: json.id, startsAt: json.starts_at, endsAt: json.ends_at ?? null }
  const discountPercent = json.discount_percent ?? '0'
  if (json.rate_card_id !== undefined)
    return {
      ...entry,
      kind: 'card',
      rateCardId: json.rate_card_id,
      discountPercent,
      priceOverrides: (json.price_overrides ?? []).map(({ product_id, price_id, value }) => ({
        productId: product_id,
        priceId: price_id,
        ...(value !== undefined && { value }),
      })),
    }
  if (json.price_id !== undefined)
    return {
      ...entry,
      kind: 'price',
      priceId: json.price_id,
      quantity: json.quantity ?? '1',
      discountPercent,
    }
  if (json.minimum_amount !== undefined)
    return { ...entry, kind: 'minimum', minimumAmount: json.minimum_amount }
  const { amount, currency, metric_id, expires } = given(json.credit)
  return {
    ...entry,
    kind: 'credit',
    amount,
    source: given(currency ?? metric_id),
    expires: expires ?? 'never',
  }
}

export const contractFromJson = (json: ContractJson): Contract => ({
  ...timesFromJson(json),
  id: json.id,
  accountId: json.account_id,
  currency: json.currency,
  lines: json.lines.map(lineFromJson),
})

/** Measures usage; undefined without events. */
export const measure = (events: readonly EventJson[]): MeasuredUsage | undefined =>
  events
    .map(({ id, quantity, occurred_at, accepted_at }) =>
      usageOfEvent({
        id,
        quantity: parseAmount(quantity),
        occurredAt: occurred_at,
        acceptedAt: accepted_at * 1_000_000,
      }),
    )
    .reduce<MeasuredUsage | undefined>((all, one) => (all ? mergeUsage(all, one) : one), undefined)

/** Reads usage for a plan, like the service: the events of each range, grouped only by the named values. */
export function readUsage(
  { usage }: Pick<InvoicePlan, 'usage'>,
  events: readonly EventJson[],
): Map<number, UsageRow[]> {
  const answer = new Map<number, UsageRow[]>()
  for (const { piece, startAt, endAt } of usage.ranges) {
    const sets = new Map<
      string,
      { source: string; properties: Record<string, string>; events: EventJson[] }
    >()
    for (const event of events) {
      if (event.occurred_at < startAt || event.occurred_at >= endAt) continue
      const properties: Record<string, string> = {}
      for (const [name, values] of usage.named.get(event.source) ?? []) {
        const value = valueOf(event.properties ?? {}, name)
        if (value !== undefined && values.has(value)) properties[name] = value
      }
      const key = JSON.stringify([event.source, Object.entries(properties).sort()])
      const set = sets.get(key) ?? { source: event.source, properties, events: [] }
      set.events.push(event)
      sets.set(key, set)
    }
    answer.set(
      piece,
      [...sets.values()].map((set) => ({ ...set, usage: given(measure(set.events)) })),
    )
  }
  return answer
}

/** The events as of an instant: without those accepted later, and with the corrections made before. */
export const eventsKnownAt = (events: readonly EventJson[], knownAt = Infinity): EventJson[] =>
  events.flatMap((event) => {
    if (event.accepted_at >= knownAt) return []
    const last = (event.corrections ?? []).filter(({ corrected_at }) => corrected_at < knownAt).at(-1)
    return last?.voided === true ? [] : [{ ...event, quantity: last?.quantity ?? event.quantity }]
  })

function given<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the case lacks something')
  return value
}
