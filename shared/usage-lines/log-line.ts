import { findAmountFault } from '../amount/amount.ts'
import { EVENT_ID_PATTERN } from '../domain/ids.ts'
import { occurredAtOfEventId, type UsageEvent } from '../domain/usage-event.ts'
import { formatMicros, parseMicros } from '../time/micros-text.ts'
import type { Micros } from '../time/microsecond-clock.ts'

/**
 * A usage event in the form of the event log: one line of JSON with the column names of ClickHouse's table
 * `usage_events`. So ClickHouse itself and any consumer of the topic can read it. docs/event-log.md describes the form
 * for consumers.
 */
export function usageEventToLine(event: UsageEvent): string {
  const correction = event.correctedAt === null ? '' : `,"corrected_at":"${formatMicros(event.correctedAt)}"`
  // Why not JSON.stringify: this runs for every event, and all fields except the properties consist of characters that
  // JSON does not escape. The gateway checks this before, and parseLogLine afterwards.
  return (
    `{"namespace_id":"${event.namespaceId}","account_id":"${event.accountId}","source":"${event.source}"` +
    `,"occurred_at":${event.occurredAt},"event_id":"${event.id}","quantity":"${event.quantity}"` +
    `,"properties":${event.properties},"property_pairs":${JSON.stringify(event.propertyPairs)}` +
    `,"accepted_at":"${formatMicros(event.acceptedAt)}"${correction}` +
    `,"voided":${event.voided ? 1 : 0},"version":"${event.version.toString()}"}`
  )
}

/** A parsed line, or the reason why it is not a valid usage event. */
export type ParsedLogLine = { event: UsageEvent } | { fault: string }

/** The form of every namespace id. */
export const NAMESPACE = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
/** The form of every account id. */
export const ACCOUNT = /^account_[0-9a-f]{32}$/
/** The form of every source of usage. */
export const SOURCE = /^(?:metric_[0-9a-f]{32}|[a-z]{3})$/
const VERSION_MAX = (1n << 64n) - 1n

/**
 * Parses a line of the event log. The checks are strict, because ClickHouse silently clamps times, wraps integers and
 * cuts decimals. Unknown fields are ignored, so that a newer gateway may add fields.
 */
export function parseLogLine(line: string): ParsedLogLine {
  let row: unknown
  try {
    row = JSON.parse(line)
  } catch {
    return { fault: 'not JSON' }
  }
  if (!isObject(row)) return { fault: 'not a JSON object' }
  return parseRow(row)
}

function parseRow(row: Record<string, unknown>): ParsedLogLine {
  const namespaceId = row['namespace_id']
  if (typeof namespaceId !== 'string' || !NAMESPACE.test(namespaceId))
    return fault('namespace_id', 'is not a UUID')
  const accountId = row['account_id']
  if (typeof accountId !== 'string' || !ACCOUNT.test(accountId))
    return fault('account_id', 'is not an account id')
  const source = row['source']
  if (typeof source !== 'string' || !SOURCE.test(source))
    return fault('source', 'is neither a metric id nor a currency')
  const id = row['event_id']
  if (typeof id !== 'string' || !EVENT_ID_PATTERN.test(id)) return fault('event_id', 'is not an event id')
  const occurredAt = row['occurred_at']
  if (typeof occurredAt !== 'number' || occurredAt !== occurredAtOfEventId(id))
    return fault('occurred_at', 'is not the time that the event id begins with')
  const quantity = row['quantity']
  if (typeof quantity !== 'string') return fault('quantity', 'is not text')
  const quantityFault = findAmountFault(quantity)
  if (quantityFault !== undefined) return fault('quantity', quantityFault)
  const { properties, property_pairs: propertyPairs } = row
  if (!isObject(properties)) return fault('properties', 'are not a JSON object')
  if (!isTextArray(propertyPairs)) return fault('property_pairs', 'are not an array of text')
  const acceptedAt = timeOf(row['accepted_at'])
  if (acceptedAt === undefined) return fault('accepted_at', 'is not a time')
  const correctedAt = row['corrected_at'] === undefined ? null : timeOf(row['corrected_at'])
  if (correctedAt === undefined) return fault('corrected_at', 'is not a time')
  const voided = row['voided']
  if (voided !== 0 && voided !== 1) return fault('voided', 'is neither 0 nor 1')
  const version = parseVersion(row['version'])
  if (version === undefined) return fault('version', 'is not an unsigned 64-bit number as text')
  return {
    event: {
      namespaceId,
      id,
      accountId,
      source,
      quantity,
      occurredAt,
      acceptedAt,
      properties: JSON.stringify(properties),
      propertyPairs,
      correctedAt,
      voided: voided === 1,
      version,
    },
  }
}

const fault = (field: string, problem: string): ParsedLogLine => ({ fault: `${field}: ${problem}` })

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isTextArray = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

const timeOf = (value: unknown): Micros | undefined =>
  typeof value === 'string' ? parseMicros(value) : undefined

function parseVersion(value: unknown): bigint | undefined {
  if (typeof value !== 'string' || !/^\d{1,20}$/.test(value)) return undefined
  const version = BigInt(value)
  return version <= VERSION_MAX ? version : undefined
}
