import type { Logger } from '../../logging/logger.ts'
import type { Pool } from '../../postgres/core/pool.ts'
import type { LogConsumer, LogRecord, PollLimits, Position } from '../event-log.ts'
import { type AssignedPartition, GroupMembership } from '../group-membership.ts'
import type { SegmentReader } from './segment-reader.ts'

export interface ConsumerOptions {
  pool: Pool
  topic: string
  group: string
  reader: SegmentReader
  log: Logger
  /** How long a member keeps its partitions without a renewal. */
  leaseMs: number
  /** Resolves when this process has appended records, or after the given time. */
  waitForAppend: (waitMs: number) => Promise<void>
}

/** The time between two polls for records of other processes. */
const POLL_MS = 50

// A new group starts at the oldest record that is still kept.
const ENSURE_OFFSETS = `
  INSERT INTO event_log_offsets (consumer_group, topic, partition, next_offset)
  SELECT $1, topic, partition, min(first_offset) FROM event_log_bounds WHERE topic = $2 GROUP BY topic, partition
  ON CONFLICT (consumer_group, topic, partition) DO NOTHING`
// Why greatest(): a member that lost its lease and continues must not move the group back.
const COMMIT = `
  UPDATE event_log_offsets o SET next_offset = greatest(o.next_offset, c.next_offset)
  FROM unnest($3::integer[], $4::bigint[]) AS c (partition, next_offset)
  WHERE o.consumer_group = $1 AND o.topic = $2 AND o.partition = c.partition`

/** A member of a consumer group on PostgreSQL. The group's offsets are stored with its leases. */
export class PostgresConsumer implements LogConsumer {
  readonly name = 'event log consumer'
  private readonly options: ConsumerOptions
  private readonly membership: GroupMembership
  private closed = false

  constructor(options: ConsumerOptions) {
    const { group, topic, reader } = options
    this.options = options
    this.membership = new GroupMembership({
      ...options,
      listPartitions: () => reader.listPartitions(),
      ensureOffsets: async (db) => {
        await db.query(ENSURE_OFFSETS, [group, topic])
      },
      findStarts: (taken) => Promise.resolve(taken),
    })
  }

  start(): Promise<void> {
    return this.membership.start()
  }

  async poll({ bytesMax, waitMs }: PollLimits): Promise<LogRecord[]> {
    const deadline = performance.now() + waitMs
    for (;;) {
      const records = await this.fetch(bytesMax)
      const left = deadline - performance.now()
      if (records.length > 0 || left <= 0 || this.closed) return records
      await this.options.waitForAppend(Math.min(left, POLL_MS))
    }
  }

  async commit(positions: readonly Position[]): Promise<void> {
    const { pool, group, topic } = this.options
    const partitions = positions.map(({ partition }) => partition)
    const offsets = positions.map(({ offset }) => offset)
    await pool.query({ name: 'event-log-commit', text: COMMIT, values: [group, topic, partitions, offsets] })
    this.membership.noteCommitted(positions)
  }

  async close(): Promise<void> {
    this.closed = true
    await this.membership.close()
  }

  private async fetch(bytesMax: number): Promise<LogRecord[]> {
    const { assigned: all } = this.membership
    const wanted = [...all]
      .filter(([, { leaving }]) => !leaving)
      .map(([partition, { next }]) => ({ partition, offset: next }))
    const records = await this.options.reader.readNew(wanted, bytesMax)
    const kept: LogRecord[] = []
    const served = new Map<number, AssignedPartition>()
    for (const record of records) {
      const assigned = all.get(record.partition)
      if (assigned?.next !== record.offset) continue // this member lost the partition, or got it again, during the read
      assigned.next = record.offset + 1
      served.set(record.partition, assigned)
      kept.push(record)
    }
    // Round robin: partitions that were served move to the end, so that the others come first next time.
    for (const [partition, assigned] of served) if (all.delete(partition)) all.set(partition, assigned)
    return kept
  }
}
