import type { Closeable } from '../lifecycle/close-all.ts'
import type { Micros } from '../time/microsecond-clock.ts'

/** The topic of reported and corrected usage. */
export const USAGE_TOPIC = 'usage-events'

/** The topic on Kafka with notices of dead letters. */
export const DEAD_LETTERS_TOPIC = 'usage-events-dead-letters'

/** The consumer group of all loaders. */
export const LOADER_GROUP = 'loader'

/** The maximum size of a record's value. Kafka's default limit for a message is 1 MB. */
export const RECORD_BYTES_MAX = 500_000

/** A record to append: events of one request and one partition, one line of JSON each. */
export interface NewRecord {
  partition: number
  acceptedAt: Micros
  value: Buffer
}

/** A record in the log. */
export interface LogRecord extends NewRecord {
  /** The record's position in the partition: 0, 1, 2 … without gaps on PostgreSQL, increasing on Kafka. */
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

  /** The log's name in leases and dead letters. No two logs have the same id. */
  readonly id: string

  /**
   * Appends records. When the promise resolves, all of them are durable. Records of one call and one partition keep
   * their order.
   *
   * @throws DomainError overloaded when nothing was sent; unavailable when the log did not confirm in time. In the
   *   second case it is unknown whether the log has the records, so the caller's client sends the same request again.
   */
  append(records: readonly NewRecord[]): Promise<void>

  /** Joins a consumer group. The members of a group divide the partitions among them. */
  join(group: string): Promise<LogConsumer>

  lag(group: string): Promise<PartitionLag[]>

  /** Sets a group's offsets, also backwards. The caller holds the leases of all partitions: see withoutMembers. */
  moveTo(group: string, positions: readonly Position[]): Promise<void>

  /** The lowest acceptedAt of the records that a group has not yet committed; undefined when there are none. */
  lowestUnread(group: string): Promise<Micros | undefined>

  /**
   * For each partition, the offset of the first record that is still kept and was appended or accepted at or after an
   * instant. If a clock was ahead, a record's time of acceptance may be later than its time of appending. Only the log
   * on PostgreSQL considers this.
   */
  positionsAt(at: Micros): Promise<Position[]>

  /**
   * The time since which the log is complete: every record that was appended at this time or later is still kept.
   *
   * @returns 0 when nothing was ever dropped
   */
  keptSince(): Promise<Micros>

  /**
   * Reads records from an offset on, without a group. The result is empty at the end of the partition.
   *
   * @param bytesMax as in PollLimits
   */
  read(from: Position, bytesMax: number): Promise<LogRecord[]>
}

export interface PollLimits {
  /**
   * The log stops taking records once the taken records of all partitions have this many bytes. Sizes are those of the
   * appended records, even if the log stores them compressed. So at least one record is always taken, and at most one
   * record exceeds the limit.
   */
  bytesMax: number
  /** The longest wait for the first record. */
  waitMs: number
}

/**
 * A member of a consumer group. Delivery is at least once: records that were not committed are delivered again, to this
 * member or another. But as long as a partition is assigned to a member, that member gets each record only once. So it
 * must keep the records until they are committed.
 */
export interface LogConsumer extends Closeable {
  /**
   * The next records of the partitions that are assigned to this member; empty when none arrived within waitMs. A poll
   * that throws skips nothing: the next poll continues after the last record that was returned.
   */
  poll(limits: PollLimits): Promise<LogRecord[]>

  /**
   * Commits all records before these positions. That includes records of earlier polls, so the caller must have stored
   * all of them. A position before an earlier commit changes nothing.
   */
  commit(positions: readonly Position[]): Promise<void>
}
