import type { Closeable } from '../lifecycle/close-all.ts'
import type { Micros } from '../time/microsecond-clock.ts'

/** The topic that reported and corrected usage goes through. */
export const USAGE_TOPIC = 'usage-events'

/** The topic, on Kafka, that tells of dead letters. */
export const DEAD_LETTERS_TOPIC = 'usage-events-dead-letters'

/** The consumer group of all loaders. */
export const LOADER_GROUP = 'loader'

/** The most bytes one record's value may have. Kafka's default limit for a message is 1 MB. */
export const RECORD_BYTES_MAX = 500_000

/** What a producer appends: one request's events of one partition, one line of JSON each. */
export interface NewRecord {
  partition: number
  acceptedAt: Micros
  value: Buffer
}

/** A record as it lies in the log. */
export interface LogRecord extends NewRecord {
  /** Its place in the partition: 0, 1, 2 … without gaps on PostgreSQL, rising on Kafka. */
  offset: number
}

/** A place in the log: the offset is that of the next record to be read. */
export interface Position {
  partition: number
  offset: number
}

/** How far a consumer group is behind in one partition. */
export interface PartitionLag {
  partition: number
  /** The next offset the group will read. */
  committed: number
  /** The next offset that will be written. */
  end: number
}

/**
 * The durable log between gateway and loader. Every driver passes test/shared/event-log/contract.ts.
 */
export interface EventLog extends Closeable {
  readonly partitions: number

  /** What leases and dead letters call the place where its records lie: no two logs share one. */
  readonly id: string

  /**
   * Appends records; when it resolves, all of them are durable. Records of one call and one partition keep their order.
   *
   * @throws DomainError overloaded when nothing was sent; unavailable when the log did not confirm in time. Whether the
   *   records are in it is unknown then: the caller's client sends the same request again.
   */
  append(records: readonly NewRecord[]): Promise<void>

  /** Joins a consumer group: partitions are shared out among its members. */
  join(group: string): Promise<LogConsumer>

  lag(group: string): Promise<PartitionLag[]>

  /** The lowest acceptedAt among the records a group has not yet committed; undefined when there are none. */
  lowestUnread(group: string): Promise<Micros | undefined>

  /**
   * For each partition the first offset still kept that was appended at or after an instant; or accepted, as far as the
   * log can tell, as that may be later where a clock was ahead.
   */
  positionsAt(at: Micros): Promise<Position[]>

  /**
   * Since when the log is whole: every record that was appended at or after this is still there.
   *
   * @returns 0 when nothing was ever dropped
   */
  keptSince(): Promise<Micros>

  /**
   * Reads outside of any group, from an offset on; empty at the end of the partition.
   *
   * @param bytesMax as in PollLimits
   */
  read(from: Position, bytesMax: number): Promise<LogRecord[]>
}

export interface PollLimits {
  /**
   * Stop taking records once they hold this many bytes, of all partitions together and as they were appended, however
   * small they lie in the log; so one record is always taken, and no more than one beyond the limit.
   */
  bytesMax: number
  /** How long to wait for the first record. */
  waitMs: number
}

/**
 * One member of a consumer group. Delivery is at least once: what was not committed comes again, here or elsewhere, but
 * not to a member that still holds the partition: what it was handed back is its own to keep until it is committed.
 */
export interface LogConsumer extends Closeable {
  /**
   * The next records of the partitions this member holds; empty when none came within waitMs. A poll that throws has
   * taken nothing: the next one goes on after the last record that was handed back.
   */
  poll(limits: PollLimits): Promise<LogRecord[]>

  /**
   * Marks everything before these positions as done: records handed back by earlier polls too, so none of them may have
   * been dropped. A position behind an earlier commit changes nothing.
   */
  commit(positions: readonly Position[]): Promise<void>
}
