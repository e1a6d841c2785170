import { createHash } from 'node:crypto'
import type { CheckedEvent } from './reported-event.ts'

/**
 * A SHA-256 of what a request reports: its events in their order, each by account, source, quantity, time or its
 * absence, key of its own and properties. It is the same however the request is written: order of fields, digits of
 * quantities, case of currencies.
 */
export function digestOfReports(events: readonly CheckedEvent[]): Buffer {
  const digest = createHash('sha256')
  for (const { accountId, source, quantity, occurredAt = null, key = null, properties } of events) {
    // Each is JSON on a line of its own, which no other event can read like.
    digest.update(`${JSON.stringify([accountId, source, quantity, occurredAt, key])}${properties}\n`)
  }
  return digest.digest()
}
