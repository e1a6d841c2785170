import type { EnvReader } from '../config/env-reader.ts'
import { CONNECT_MS } from '../postgres/core/pool.ts'
import { readKafkaConfig } from './kafka/config.ts'
import { groupLimitMs } from './kafka/group-limit.ts'

/** Reports that may wait, and their bytes; more are answered with 503. So much is in memory while the log is away. */
const APPENDS_WAITING_MAX = 5_000
const APPENDS_WAITING_BYTES_MAX = 128_000_000

/** A segment is dropped whole, so what is kept beyond its time is one of them at the most. */
const SEGMENT_BYTES_MAX = 1_000_000_000
const SEGMENT_AGE_MAX_MS = 3_600_000

/** Settings of the event log. */
export function readEventLogConfig(read: EnvReader) {
  const hours = read.integer('EVENT_LOG_RETENTION_HOURS', {
    about: 'hours the event log is kept after it was loaded, for the audit',
    default: 24,
    min: 1,
    max: 8_760,
  })
  return {
    partitions: read.integer('EVENT_LOG_PARTITIONS', {
      about: 'partitions of the event log; it only ever grows',
      default: 4,
      min: 1,
      max: 256,
    }),
    /** After this long a report that is not durable is answered with 503, and its client sends it again. */
    appendDeadlineMs: read.tuning('EVENT_LOG_APPEND_TIMEOUT_MS', {
      default: 10_000,
      min: 100,
      max: 60_000,
    }),
    appendsWaitingMax: APPENDS_WAITING_MAX,
    appendsWaitingBytesMax: APPENDS_WAITING_BYTES_MAX,
    /**
     * How long a loader that went silent keeps its partitions: several renewals, so that a pause for garbage costs
     * nobody its own.
     */
    leaseMs: read.tuning('EVENT_LOG_LEASE_MS', {
      default: 5_000,
      min: 500,
      max: 60_000,
    }),
    segmentBytesMax: SEGMENT_BYTES_MAX,
    segmentAgeMaxMs: SEGMENT_AGE_MAX_MS,
    retentionMs: hours * 3_600_000,
    housekeepingMs: 10_000,
    /** Where the log is on Kafka; undefined where it is a table in PostgreSQL. */
    kafka: readKafkaConfig(read),
    changeFrom: read.optional('EVENT_LOG_CHANGE_FROM', {
      about:
        'the event log so far, for npm run migrate to put another in force although it cannot see that nothing is left in it',
    }),
  }
}

export type EventLogConfig = ReturnType<typeof readEventLogConfig>

/** Of a statement that ended in time and whose answer is on its way. */
const ANSWER_MS = 5_000

/**
 * After this long an append that was not confirmed is in the log, or never will be: its caller waited for its deadline,
 * and what was sent for a connection and for the time limit of a statement, or of a group of records on Kafka.
 *
 * @param statementTimeoutMs that of PostgreSQL
 */
export const appendSettlesMs = (
  { appendDeadlineMs, kafka }: Pick<EventLogConfig, 'appendDeadlineMs' | 'kafka'>,
  statementTimeoutMs: number,
): number =>
  appendDeadlineMs +
  CONNECT_MS +
  (kafka === undefined ? statementTimeoutMs : groupLimitMs(kafka.requestTimeoutMs)) +
  ANSWER_MS
