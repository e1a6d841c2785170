import type { Closeable } from '../lifecycle/close-all.ts'
import type { Micros } from '../time/microsecond-clock.ts'

/** The topic of reported and corrected usage. */
export const USAGE_TOPIC = 'usage-events'

/** The topic, on Kafka, with notices of dead letters. */
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

/** A record in the log. */
export interface LogRecord extends NewRecord {
  /** Its position in the partition: 0, 1, 2 … without gaps on PostgreSQL, increasing on Kafka. */
  offset: number
}

/** A position in the log: the offset of the next record to read. */
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

  /** The log's name in leases and dead letters: no two logs have the same id. */
  readonly id: string

  /**
   * Appends records; when it resolves, all of them are durable. Records of one call and one partition keep their order.
   *
   * @throws DomainError overloaded when nothing was sent; unavailable when the log did not confirm in time. In the
   *   second case it is not known whether the log has the records, so the caller's client sends the same request again.
   */
  append(records: readonly NewRecord[]): Promise<void>

  /** Joins a consumer group: its members divide the partitions among them. */
  join(group: string): Promise<LogConsumer>

  lag(group: string): Promise<PartitionLag[]>

  /** The lowest acceptedAt of the records that a group has not yet committed; undefined when there are none. */
  lowestUnread(group: string): Promise<Micros | undefined>

  /**
   * For each partition, the offset of the first record that is still kept and was appended or accepted at or after an
   * instant. If a clock was ahead, a record's time of acceptance may be later than its time of appending. The log
   * considers this as far as it can.
   */
  positionsAt(at: Micros): Promise<Position[]>

  /**
   * The time since which the log is complete: every record that was appended at or after it is still there.
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
   * Stops taking records once the taken records of all partitions have this many bytes. Sizes are counted as they were
   * appended, even if the log stores records smaller. So at least one record is always taken, and at most one record
   * goes beyond the limit.
   */
  bytesMax: number
  /** How long to wait for the first record. */
  waitMs: number
}

/**
 * A member of a consumer group. Delivery is at least once: records that were not committed are delivered again, to this
 * member or another. But as long as a member holds the partition, it does not get them again. So it must keep the
 * records that it got until they are committed.
 */
export interface LogConsumer extends Closeable {
  /**
   * The next records of the partitions this member holds; empty when none arrived within waitMs. A poll that throws has
   * taken nothing: the next poll continues after the last record that was returned.
   */
  poll(limits: PollLimits): Promise<LogRecord[]>

  /**
   * Marks everything before these positions as done. That includes records of earlier polls, so the caller must have
   * dropped none of them. A position before an earlier commit changes nothing.
   */
  commit(positions: readonly Position[]): Promise<void>
}
