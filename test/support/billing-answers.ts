import { formatRatio, parseRatio } from '../../shared/amount/ratio.ts'
import { quantityOf } from '../../shared/domain/billing/aggregate.ts'
import type { Charge } from '../../shared/domain/billing/charge.ts'
import type { Credit, CreditGrant } from '../../shared/domain/billing/credit.ts'
import { type Invoice, invoiceOf } from '../../shared/domain/billing/invoice.ts'
import { type InvoicePlan, planInvoice } from '../../shared/domain/billing/plan.ts'
import type { Warning } from '../../shared/domain/billing/rate-usage.ts'
import {
  type ChargeJson,
  contractFromJson,
  type CreditJson,
  eventsKnownAt,
  type GrantJson,
  type InvoiceCase,
  type InvoiceRequestJson,
  measure,
  type PreviewJson,
  priceFromJson,
  rateFromJson,
  readUsage,
  type WorldJson,
} from './billing-vectors.ts'

/** Plans, reads and rates a period of a world, with the functions of the service. */
export const previewOfWorld = (world: WorldJson, request: InvoiceRequestJson): PreviewJson =>
  invoiceToJson(invoiceOfWorld(world, request).invoice)

/** Computes the invoice, before it is formatted as a body. */
export function invoiceOfWorld(
  world: WorldJson,
  request: InvoiceRequestJson,
): { plan: InvoicePlan; invoice: Invoice } {
  const events = eventsKnownAt(world.events, request.known_at)
  const contract = contractFromJson(world.contract)
  const cards = Object.entries(world.rate_cards).map(([id, rates]) => [id, rates.map(rateFromJson)] as const)
  const asOf = request.as_of ?? Infinity
  const plan = planInvoice(contract, new Map(cards), { at: request.second, asOf })
  const ofCurrency = events.filter(
    ({ source, occurred_at }) => source === contract.currency && occurred_at < plan.creditBefore,
  )
  const prices = Object.entries(world.prices).map(([id, json]) => [id, priceFromJson(id, json)] as const)
  const invoice = invoiceOf(
    plan,
    new Map(prices),
    {
      usage: readUsage(plan, events),
      currencyUsage: quantityOf(measure(ofCurrency), 'sum'),
      grants: (world.grants ?? []).map(grantFromJson),
      creditsWritten: new Map(),
      usageAsOf: 1_800_000_000,
    },
    1_800_000_000,
  )
  return { plan, invoice }
}

/** Reduces an answer to the fields in the vectors, where only lines of a property have a `value`. */
export function asInVectors(answer: PreviewJson, wanted: InvoiceCase['expect']): object {
  const lines = answer.lines.map((line, index) => {
    const shown = wanted.lines[index]
    const hidden = ['event_count', 'discount_percent', 'share']
    return without(line, shown && 'value' in shown ? hidden : [...hidden, 'value'])
  })
  return { ...without(answer, ['warnings']), lines }
}

const without = (object: object, names: readonly string[]): object =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))

export const grantFromJson = (json: GrantJson): CreditGrant => ({
  id: json.id,
  amount: parseRatio(json.amount),
  effectiveAt: json.effective_at,
  expiresAt: json.expires_at ?? null,
  voidedAt: json.voided_at ?? null,
  archivedAt: null,
})

export const chargeToJson = ({
  billableQuantity,
  tiers,
  bound,
  exactAmount,
  amount,
}: Charge): ChargeJson => ({
  billable_quantity: formatRatio(billableQuantity),
  ...(tiers && {
    tiers: tiers.map(({ upTo, quantity, exactAmount: ofTier }) => ({
      up_to: upTo && formatRatio(upTo),
      quantity: formatRatio(quantity),
      exact_amount: formatRatio(ofTier),
    })),
  }),
  ...(bound && { bound }),
  exact_amount: formatRatio(exactAmount),
  amount: formatRatio(amount),
})

export const creditToJson = (credit: Credit): CreditJson => ({
  available: formatRatio(credit.available),
  credits_applied: credit.creditsApplied.map(({ grantId, amount }) => ({
    grant_id: grantId,
    amount: formatRatio(amount),
  })),
  credit_total: formatRatio(credit.creditTotal),
  amount_due: formatRatio(credit.amountDue),
})

const invoiceToJson = (invoice: Invoice): PreviewJson => ({
  period: { start_at: invoice.period.startAt, end_at: invoice.period.endAt },
  lines: invoice.lines.map((line) => ({
    line_id: line.lineId,
    ...(line.rate && { rate_id: line.rate.id }),
    value: line.value,
    price_id: line.price.id,
    start_at: line.startAt,
    end_at: line.endAt,
    quantity: formatRatio(line.quantity),
    event_count: line.eventCount === null ? null : Number(line.eventCount),
    discount_percent: line.discountPercent,
    share: line.share,
    ...chargeToJson(line),
  })),
  subtotal: formatRatio(invoice.subtotal),
  minimum_adjustment: formatRatio(invoice.minimumAdjustment),
  total: formatRatio(invoice.total),
  ...creditToJson(invoice),
  unrated: invoice.unrated.map(({ source, eventCount, quantity }) => ({
    source,
    event_count: Number(eventCount),
    quantity: formatRatio(quantity),
  })),
  warnings: invoice.warnings.map(warningToJson),
})

function warningToJson(warning: Warning): PreviewJson['warnings'][number] {
  const { code, lineId: line_id } = warning
  if (code === 'negative_quantity') return { code, line_id, rate_id: warning.rateId, value: warning.value }
  const { productId, priceId, value } = warning.override
  const override = { product_id: productId, price_id: priceId, ...(value !== undefined && { value }) }
  return { code, line_id, override }
}
