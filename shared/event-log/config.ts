import type { EnvReader } from '../config/env-reader.ts'
import { CONNECT_MS } from '../postgres/pool.ts'
import { readKafkaConfig } from './kafka/config.ts'
import { groupLimitMs } from './kafka/group-limit.ts'

/** Settings of the event log. */
export function readEventLogConfig(read: EnvReader) {
  const hours = read.integer('EVENT_LOG_RETENTION_HOURS', {
    about: 'hours the event log is kept after it was loaded, for the audit',
    default: 24,
    min: 1,
    max: 8_760,
  })
  const segmentAgeS = read.integer('EVENT_LOG_SEGMENT_AGE_MAX_S', {
    about: 'seconds after which a new segment of the event log is opened',
    default: 3_600,
    min: 10,
    max: 86_400,
  })
  return {
    partitions: read.integer('EVENT_LOG_PARTITIONS', {
      about: 'partitions of the event log; it only ever grows',
      default: 4,
      min: 1,
      max: 256,
    }),
    appendDeadlineMs: read.integer('EVENT_LOG_APPEND_TIMEOUT_MS', {
      about: 'milliseconds after which a report that is not durable is answered with 503',
      default: 10_000,
      min: 100,
      max: 60_000,
    }),
    appendsWaitingMax: read.integer('EVENT_LOG_APPENDS_WAITING_MAX', {
      about: 'reports that may wait for the event log; more are answered with 503',
      default: 5_000,
      min: 1,
      max: 1_000_000,
    }),
    appendsWaitingBytesMax: read.integer('EVENT_LOG_WAITING_BYTES_MAX', {
      about: 'bytes of reports that may wait for the event log; more are answered with 503',
      default: 128_000_000,
      min: 1_000_000,
      max: 10_000_000_000,
    }),
    leaseMs: read.integer('EVENT_LOG_LEASE_MS', {
      about: 'milliseconds a loader that went silent keeps its partitions',
      default: 5_000,
      min: 500,
      max: 60_000,
    }),
    segmentBytesMax: read.integer('EVENT_LOG_SEGMENT_BYTES_MAX', {
      about: 'bytes after which a new segment of the event log is opened',
      default: 1_000_000_000,
      min: 1_000_000,
      max: 100_000_000_000,
    }),
    segmentAgeMaxMs: segmentAgeS * 1_000,
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
 * After this long an append that was not confirmed is in the log, or never will be: its caller waited for its deadline, and
 * what was sent for a connection and for the time limit of a statement, or of a group of records on Kafka.
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
