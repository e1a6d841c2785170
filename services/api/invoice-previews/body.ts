import { formatRatio } from '../../../shared/amount/ratio.ts'
import type { Invoice } from '../../../shared/domain/billing/invoice.ts'
import type { PriceRecord } from '../../../shared/domain/billing/price-record.ts'
import type { InvoiceLine, Unrated, Warning } from '../../../shared/domain/billing/rate-usage.ts'
import type { UsageSource } from '../../../shared/domain/usage-source.ts'
import { sourceToBody } from '../../../shared/http/event-body.ts'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import { overrideToBody, periodToBody } from '../contracts/body.ts'
import { priceToBody } from '../prices/body.ts'

/**
 * An invoice in an answer. Amounts are decimal text, or a fraction n/d where no decimal is exact.
 *
 * @param prices the prices of the invoice's lines
 * @param queryOf returns the SELECT that gives a line's quantity, or null when no SELECT gives it
 */
export const previewToBody = (
  invoice: Invoice,
  prices: ReadonlyMap<string, PriceRecord>,
  queryOf: (line: InvoiceLine) => string | null,
) => ({
  ...headToBody(invoice),
  lines: invoice.lines.map((line) => lineToBody(line, prices, queryOf(line))),
  ...restToBody(invoice),
})

/** An invoice in an answer, without its lines. */
export const summaryToBody = (invoice: Invoice): SchemaOf<'InvoiceSummary'> => ({
  ...headToBody(invoice),
  ...restToBody(invoice),
})

const headToBody = (invoice: Invoice) => ({
  contract_id: invoice.contractId,
  account_id: invoice.accountId,
  currency: invoice.currency,
  status: invoice.status,
  period: periodToBody(invoice.period, invoice.fullPeriod),
  as_of: invoice.asOf,
  usage_as_of: invoice.usageAsOf,
})

const restToBody = (invoice: Invoice) => ({
  subtotal: formatRatio(invoice.subtotal),
  minimum_adjustment: formatRatio(invoice.minimumAdjustment),
  total: formatRatio(invoice.total),
  credits_applied: invoice.creditsApplied.map(({ grantId, amount }) => ({
    grant_id: grantId,
    amount: formatRatio(amount),
  })),
  credit_total: formatRatio(invoice.creditTotal),
  amount_due: formatRatio(invoice.amountDue),
  unrated: invoice.unrated.map(unratedToBody),
  warnings: invoice.warnings.map(warningToBody),
})

/**
 * A line of an invoice in an answer.
 * @param prices must include the line's price
 */
export function lineToBody(
  line: InvoiceLine,
  prices: ReadonlyMap<string, PriceRecord>,
  query: string | null,
) {
  const { rate, price, tiers, bound } = line
  const record = prices.get(price.id)
  if (record === undefined) throw new Error(`price ${price.id} was not read`)
  return {
    contract_line_id: line.lineId,
    rate_id: rate?.id ?? null,
    product_id: price.productId,
    price: priceToBody(record),
    start_at: line.startAt,
    end_at: line.endAt,
    ...sourceOrNone(rate?.source ?? null),
    aggregation: rate === null || rate.source === null ? null : rate.aggregation,
    filters: (rate?.filters ?? []).map(({ property, values }) => ({ property, values: [...values] })),
    group_by: rate?.groupBy ?? null,
    value: line.value,
    quantity: formatRatio(line.quantity),
    event_count: line.eventCount === null ? null : Number(line.eventCount),
    billable_quantity: formatRatio(line.billableQuantity),
    ...(tiers && {
      tiers: tiers.map(({ upTo, quantity, exactAmount }) => ({
        up_to: upTo === null ? null : formatRatio(upTo),
        quantity: formatRatio(quantity),
        exact_amount: formatRatio(exactAmount),
      })),
    }),
    discount_percent: line.discountPercent,
    share: line.share,
    ...(bound && { bound }),
    exact_amount: formatRatio(line.exactAmount),
    amount: formatRatio(line.amount),
    query,
  }
}

const sourceOrNone = (source: UsageSource | null) =>
  source === null ? { metric_id: null, currency: null } : sourceToBody(source)

const unratedToBody = ({ source, eventCount, quantity }: Unrated): SchemaOf<'UnratedUsage'> => ({
  ...sourceToBody(source),
  event_count: Number(eventCount),
  quantity: formatRatio(quantity),
})

const warningToBody = (warning: Warning) =>
  warning.code === 'negative_quantity'
    ? {
        code: warning.code,
        contract_line_id: warning.lineId,
        rate_id: warning.rateId,
        value: warning.value,
      }
    : {
        code: warning.code,
        contract_line_id: warning.lineId,
        price_override: overrideToBody(warning.override),
      }
