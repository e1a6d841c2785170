import { canonicalAmount } from '../amount/amount.ts'
import type { Properties } from '../domain/properties.ts'
import type { UsageEvent } from '../domain/usage-event.ts'
import { isMetric, type UsageSource } from '../domain/usage-source.ts'
import { unixSeconds } from '../time/microsecond-clock.ts'
import type { SchemaOf } from './operation.ts'

/** The fields of an answer that name a usage source: a metric or a currency. The other field is null. */
export const sourceToBody = (source: UsageSource): { metric_id: string | null; currency: string | null } =>
  isMetric(source) ? { metric_id: source, currency: null } : { metric_id: null, currency: source }

/** The body of an answer for a usage event. */
export function eventToBody(
  event: Omit<UsageEvent, 'namespaceId' | 'propertyPairs'>,
): SchemaOf<'UsageEvent'> {
  return {
    id: event.id,
    ...sourceToBody(event.source),
    quantity: canonicalAmount(event.quantity),
    account_id: event.accountId,
    occurred_at: event.occurredAt,
    properties: JSON.parse(event.properties) as Properties,
    accepted_at: unixSeconds(event.acceptedAt),
    created_at: unixSeconds(event.acceptedAt),
    ...(event.correctedAt === null ? {} : { corrected_at: unixSeconds(event.correctedAt) }),
    // Voiding is always the last correction of an event, because a voided event cannot be corrected.
    ...(event.correctedAt !== null && event.voided ? { voided_at: unixSeconds(event.correctedAt) } : {}),
  }
}
