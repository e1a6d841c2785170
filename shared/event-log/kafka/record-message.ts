import type { FetchedMessage, ProducedMessage } from 'kafkajs/src/cluster/index.js'
import type { LogRecord, NewRecord } from '../event-log.ts'

/** The header with the events' time of acceptance: microseconds since 1970, as decimal text. */
const ACCEPTED_AT = 'accepted-at'

/** The maximum number of bytes that a record takes in addition to its value. */
export const MESSAGE_OVERHEAD_BYTES = 100

/** A record with the time at which Kafka received it, in milliseconds since 1970. */
export interface AppendedRecord extends LogRecord {
  appendedAtMs: number
}

/** The message has no key, because a record contains events of several accounts, and Tally chooses its partition. */
export const messageFromRecord = ({ acceptedAt, value }: NewRecord): ProducedMessage => ({
  key: null,
  value,
  headers: { [ACCEPTED_AT]: String(acceptedAt) },
})

/**
 * Reads any record of the topic. If a record does not come from the gateway, its time of acceptance is the time at
 * which it was appended.
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
