import { RATIO_ZERO } from '../../shared/amount/ratio.ts'
import type { CardLine, Contract, ContractLine } from '../../shared/domain/billing/contract.ts'
import type { CreditGrant } from '../../shared/domain/billing/credit.ts'
import { type Invoice, invoiceOf, type NewestCredits } from '../../shared/domain/billing/invoice.ts'
import { planInvoice } from '../../shared/domain/billing/plan.ts'
import type { Prices } from '../../shared/domain/billing/price.ts'
import type { Rate } from '../../shared/domain/billing/rate.ts'
import { type EventJson, readUsage } from './billing-vectors.ts'

/** A line that follows the only card, from the start on. */
export const cardLineOf = (some: Partial<CardLine> = {}): CardLine => ({
  kind: 'card',
  id: 'line_card',
  startsAt: 0,
  endsAt: null,
  rateCardId: 'card',
  priceOverrides: [],
  discountPercent: '0',
  ...some,
})

/** A contract in dollars with periods of a day, from second 0 on, without an end. */
export const dailyContract = (lines: readonly ContractLine[]): Contract => ({
  id: '6f1d3f0e-0000-4000-8000-000000000001',
  accountId: 'account_a',
  currency: 'usd',
  cadence: 'day',
  anchorAt: 0,
  startsAt: 0,
  endsAt: null,
  cancelAt: null,
  lines,
})

/** The data for the rating of a contract, and the request; times in Unix seconds. */
export interface PreviewOf {
  prices: Prices
  /** The rates of the card. */
  rates: readonly Rate[]
  events: readonly EventJson[]
  grants?: readonly CreditGrant[]
  creditsWritten?: NewestCredits
  at: number
  asOf: number
  usageAsOf?: number
  now?: number
}

/** Plans an invoice, reads its usage and rates it. */
export function previewOf(contract: Contract, of: PreviewOf): Invoice {
  const {
    prices,
    rates,
    events,
    grants = [],
    creditsWritten = new Map(),
    at,
    asOf,
    usageAsOf = 0,
    now = 0,
  } = of
  const plan = planInvoice(contract, new Map([['card', rates]]), { at, asOf })
  const readings = {
    usage: readUsage(plan, events),
    currencyUsage: RATIO_ZERO,
    grants,
    creditsWritten,
    usageAsOf,
  }
  return invoiceOf(plan, prices, readings, now)
}
