import { createHash } from 'node:crypto'
import type { CheckedEvent } from './reported-event.ts'

/**
 * A SHA-256 of the content of a report request. It covers the events in their order, each with account, source,
 * quantity, time (or none), key and properties. The order of fields, the spelling of numbers and the case of currencies
 * do not change it.
 */
export function digestOfReports(events: readonly CheckedEvent[]): Buffer {
  const digest = createHash('sha256')
  for (const { accountId, source, quantity, occurredAt = null, key = null, properties } of events) {
    // Each event is one line of JSON, so two different lists never give the same bytes.
    digest.update(`${JSON.stringify([accountId, source, quantity, occurredAt, key])}${properties}\n`)
  }
  return digest.digest()
}
