import type { EnvReader } from '../config/env-reader.ts'
import { CONNECT_MS } from '../postgres/core/pool.ts'
import { readKafkaConfig } from './kafka/config.ts'
import { groupLimitMs } from './kafka/group-limit.ts'

/**
 * The maximum number of reports that may wait, and of their bytes. Further reports are answered with 503. Waiting
 * reports are in memory while the log does not answer.
 */
const APPENDS_WAITING_MAX = 5_000
const APPENDS_WAITING_BYTES_MAX = 128_000_000

/** A new segment begins at one of these limits. Only whole segments are dropped, so some records are kept longer. */
const SEGMENT_BYTES_MAX = 1_000_000_000
const SEGMENT_AGE_MAX_MS = 3_600_000

/** Reads the settings of the event log. */
export function readEventLogConfig(read: EnvReader) {
  const hours = read.integer('EVENT_LOG_RETENTION_HOURS', {
    about: 'how many hours records of the event log are kept after they were loaded, for the audit',
    default: 24,
    min: 1,
    max: 8_760,
  })
  return {
    partitions: read.integer('EVENT_LOG_PARTITIONS', {
      about: 'the number of partitions of the event log; it can only be increased',
      default: 4,
      min: 1,
      max: 256,
    }),
    /** A report that is not durable after this time is answered with 503, and its client sends it again. */
    appendDeadlineMs: read.tuning('EVENT_LOG_APPEND_TIMEOUT_MS', {
      default: 10_000,
      min: 100,
      max: 60_000,
    }),
    appendsWaitingMax: APPENDS_WAITING_MAX,
    appendsWaitingBytesMax: APPENDS_WAITING_BYTES_MAX,
    /**
     * How long a loader keeps its partitions without a renewal. The time covers several renewals, so that no loader
     * loses its partitions during a pause for garbage collection.
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
    /** The settings of Kafka; undefined when the log is a table in PostgreSQL. */
    kafka: readKafkaConfig(read),
    changeFrom: read.optional('EVENT_LOG_CHANGE_FROM', {
      about:
        'the id of the previous event log: with it, npm run migrate switches to another log even if it cannot check that all usage is loaded',
    }),
  }
}

export type EventLogConfig = ReturnType<typeof readEventLogConfig>

/** How long the answer may take after a statement has ended in time. */
const ANSWER_MS = 5_000

/**
 * After this time, an unconfirmed append is in the log or never will be. The time is the sum of four times: the
 * caller's deadline, the wait for a connection, the time limit of a statement (or of a group of records on Kafka), and
 * the wait for the answer.
 *
 * @param statementTimeoutMs the time limit of a statement in PostgreSQL
 */
export const appendSettlesMs = (
  { appendDeadlineMs, kafka }: Pick<EventLogConfig, 'appendDeadlineMs' | 'kafka'>,
  statementTimeoutMs: number,
): number =>
  appendDeadlineMs +
  CONNECT_MS +
  (kafka === undefined ? statementTimeoutMs : groupLimitMs(kafka.requestTimeoutMs)) +
  ANSWER_MS
