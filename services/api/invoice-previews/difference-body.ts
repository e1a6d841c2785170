import { canonicalAmount } from '../../../shared/amount/amount.ts'
import { formatRatio } from '../../../shared/amount/ratio.ts'
import type { EventDifference, EventState } from '../../../shared/clickhouse/usage/known-usage.ts'
import {
  type LineDifference,
  type LineKey,
  linesReachedBy,
  type NumberDifference,
} from '../../../shared/domain/billing/difference.ts'
import type { InvoicePlan } from '../../../shared/domain/billing/plan.ts'
import type { Properties } from '../../../shared/domain/properties.ts'
import { sourceToBody } from '../../../shared/http/event-body.ts'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import type { PreviewDifference } from '../../../shared/previews/preview-invoice.ts'
import { unixSeconds } from '../../../shared/time/microsecond-clock.ts'

/** The body of the difference from an earlier answer. Amounts are decimal text, times are Unix seconds. */
export const differenceToBody = (
  difference: PreviewDifference,
  plan: InvoicePlan,
): SchemaOf<'InvoiceDifference'> => ({
  since: difference.since,
  lines: difference.lines.map(lineToBody),
  subtotal: numberDifferenceToBody(difference.subtotal),
  minimum_adjustment: numberDifferenceToBody(difference.minimumAdjustment),
  total: numberDifferenceToBody(difference.total),
  credit_total: numberDifferenceToBody(difference.creditTotal),
  amount_due: numberDifferenceToBody(difference.amountDue),
  events: difference.events.map((event) => eventToBody(event, plan)),
  has_more: difference.hasMore,
})

const lineToBody = ({ quantity, amount, ...key }: LineDifference) => ({
  ...keyToBody(key),
  quantity: numberDifferenceToBody(quantity),
  amount: numberDifferenceToBody(amount),
})

const keyToBody = <Key extends LineKey>({ lineId, rateId, value, startAt }: Key) => ({
  contract_line_id: lineId,
  rate_id: rateId as Key['rateId'],
  value,
  start_at: startAt,
})

const numberDifferenceToBody = ({ then, now, difference }: NumberDifference): SchemaOf<'NumberChange'> => ({
  then: then && formatRatio(then),
  now: now && formatRatio(now),
  difference: formatRatio(difference),
})

const eventToBody = ({ id, then, now }: EventDifference, plan: InvoicePlan): SchemaOf<'ChangedEvent'> => ({
  event_id: id,
  ...sourceToBody(now.source),
  occurred_at: now.occurredAt,
  accepted_at: unixSeconds(now.acceptedAt),
  corrected_at: now.correctedAt && unixSeconds(now.correctedAt),
  then: then === undefined ? null : stateToBody(then, plan),
  now: stateToBody(now, plan),
})

const stateToBody = (
  { voided, quantity, ...event }: EventState,
  plan: InvoicePlan,
): SchemaOf<'EventState'> => ({
  quantity: canonicalAmount(quantity),
  voided,
  lines: voided
    ? []
    : linesReachedBy(plan, { ...event, properties: JSON.parse(event.properties) as Properties }).map(
        keyToBody,
      ),
})
