import { parseAmount } from '../shared/amount/amount.ts'
import { RATIO_ZERO, ratioOf } from '../shared/amount/ratio.ts'
import { usageOfEvent } from '../shared/domain/billing/aggregate.ts'
import type { Contract } from '../shared/domain/billing/contract.ts'
import type { InvoiceReadings } from '../shared/domain/billing/invoice.ts'
import type { Price } from '../shared/domain/billing/price.ts'
import type { Rate } from '../shared/domain/billing/rate.ts'
import type { UsageRow } from '../shared/domain/billing/rate-usage.ts'

const SOURCES = 100
const AT = 1_767_312_000
const STARTS_AT = 1_767_225_600

const TIERS = [
  { upTo: '1000', unitAmount: '0.012', flatAmount: '0' },
  { upTo: '100000', unitAmount: '0.006', flatAmount: '1' },
  { upTo: null, unitAmount: '0.0015', flatAmount: '0' },
]

const BOUNDS = { includedQuantity: '100', minimumAmount: null, maximumAmount: '5000' }

/** A graduated price and a plain one. */
const PRICES: readonly Price[] = [
  {
    id: 'price_tiers',
    productId: 'product',
    currency: 'usd',
    terms: { ...BOUNDS, model: 'graduated', tiers: TIERS, per: '1' },
  },
  {
    id: 'price_unit',
    productId: 'product',
    currency: 'usd',
    terms: { ...BOUNDS, model: 'per_unit', unitAmount: '3', per: '1000000' },
  },
]

const sourceOf = (n: number): string => `metric_${n.toString(16).padStart(32, '0')}`

const RATES: readonly Rate[] = Array.from({ length: SOURCES }, (_, n) =>
  (['sum', 'count'] as const).map((aggregation) => ({
    id: `rate_${aggregation}_${n}`,
    startsAt: 0,
    endsAt: null,
    source: sourceOf(n),
    aggregation,
    filters: [],
    groupBy: null,
    prices: [],
    priceId: n % 2 === 0 ? 'price_tiers' : 'price_unit',
  })),
).flat()

const CONTRACT: Contract = {
  id: '6f1d3f0e-0000-4000-8000-000000000001',
  accountId: 'account',
  currency: 'usd',
  cadence: 'month',
  anchorAt: STARTS_AT,
  startsAt: STARTS_AT,
  endsAt: null,
  cancelAt: null,
  lines: [
    {
      kind: 'card',
      id: 'line',
      startsAt: STARTS_AT,
      endsAt: null,
      rateCardId: 'card',
      priceOverrides: [],
      discountPercent: '15',
    },
  ],
}

const ROWS: readonly UsageRow[] = Array.from({ length: SOURCES }, (_, n) => ({
  source: sourceOf(n),
  properties: {},
  usage: usageOfEvent({
    id: 'event',
    quantity: parseAmount(`${n * 12_345}.678901234567890123`),
    occurredAt: STARTS_AT,
    acceptedAt: STARTS_AT * 1_000_000,
  }),
}))

const READINGS: InvoiceReadings = {
  usage: new Map([[0, ROWS]]),
  currencyUsage: RATIO_ZERO,
  grants: [
    {
      id: 'grant',
      amount: ratioOf(100n),
      effectiveAt: STARTS_AT,
      expiresAt: null,
      voidedAt: null,
      archivedAt: null,
    },
  ],
  creditsWritten: new Map(),
  usageAsOf: AT,
}

/** An invoice of 200 lines that is rated without a database. */
export const RATING = {
  contract: CONTRACT,
  rateCards: new Map([['card', RATES]]),
  prices: new Map(PRICES.map((price) => [price.id, price])),
  readings: READINGS,
  at: AT,
}
