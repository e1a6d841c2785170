import {
  contentOf,
  correctionVersion,
  reportVersion,
  type UsageEvent,
  usageEventId,
} from '../../shared/domain/usage-event.ts'

/** The default namespace of made-up events. */
export const NAMESPACE = '018cc251-f400-7000-8000-000000000001'
export const ACCOUNT = `account_${'a'.repeat(32)}`

let made = 0

/** Makes a report like the gateway; a test gives only the fields that matter. */
export function makeReport(fields: Partial<UsageEvent> & { key?: string } = {}): UsageEvent {
  const { key = `key ${made++}`, ...given } = fields
  const event = {
    namespaceId: NAMESPACE,
    accountId: ACCOUNT,
    source: 'usd',
    quantity: '1',
    occurredAt: 1_767_225_600, // 2026-01-01 00:00:00
    acceptedAt: 1_767_225_600_000_000 + made,
    properties: '{}',
    propertyPairs: [],
    correctedAt: null,
    voided: false,
    ...given,
  }
  const { namespaceId, accountId, source, occurredAt } = event
  return {
    id: usageEventId(namespaceId, accountId, source, occurredAt, { kind: 'event', key }),
    version: reportVersion(event.acceptedAt, contentOf(event)),
    ...event,
  }
}

/**
 * Makes a correction of an event: the whole event with the changed fields. By default it is a millisecond later than
 * the event's last version.
 */
export function makeCorrection(event: UsageEvent, change: Partial<UsageEvent>): UsageEvent {
  const correctedAt = change.correctedAt ?? (event.correctedAt ?? event.acceptedAt) + 1_000
  const corrected = { ...event, ...change, correctedAt }
  return { ...corrected, version: correctionVersion(correctedAt, contentOf(corrected)) }
}
