import type { FetchedMessage, ProducedMessage } from 'kafkajs/src/cluster/index.js'
import type { LogRecord, NewRecord } from '../event-log.ts'

/** When the gateway accepted the events: microseconds since 1970, as decimal text. */
const ACCEPTED_AT = 'accepted-at'

/** The most bytes that a record takes beside its value. */
export const MESSAGE_OVERHEAD_BYTES = 100

/** A record with the time Kafka received it, in milliseconds since 1970. */
export interface AppendedRecord extends LogRecord {
  appendedAtMs: number
}

/** The message has no key: a record holds events of several accounts, and Tally chooses its partition. */
export const messageFromRecord = ({ acceptedAt, value }: NewRecord): ProducedMessage => ({
  key: null,
  value,
  headers: { [ACCEPTED_AT]: String(acceptedAt) },
})

/**
 * Reads any record of the topic. A record that does not come from the gateway counts as accepted when it was appended.
 */
export function recordFromMessage(partition: number, message: FetchedMessage): AppendedRecord {
  const appendedAtMs = Number(message.timestamp)
  const header = message.headers[ACCEPTED_AT]
  const text = Buffer.isBuffer(header) ? header.toString() : ''
  return {
    partition,
    offset: Number(message.offset),
    acceptedAt: /^\d{1,16}$/.test(text) ? Number(text) : appendedAtMs * 1_000,
    value: message.value ?? Buffer.alloc(0),
    appendedAtMs,
  }
}
