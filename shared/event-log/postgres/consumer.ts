import { randomUUID } from 'node:crypto'
import type { Logger } from '../../logging/logger.ts'
import type { Pool } from '../../postgres/pool.ts'
import { withTransaction } from '../../postgres/transaction.ts'
import type { LogConsumer, LogRecord, PollLimits, Position } from '../event-log.ts'
import type { SegmentReader } from './segment-reader.ts'

export interface ConsumerOptions {
  pool: Pool
  topic: string
  group: string
  reader: SegmentReader
  log: Logger
  /** How long a member that has gone silent keeps its partitions. */
  leaseMs: number
  /** Resolves when something was appended by this process, or after the given time. */
  waitForAppend: (waitMs: number) => Promise<void>
}

/** Where this member stands in a partition it holds. */
interface Held {
  /** The next offset to read. */
  next: number
  /** The next offset the group would read if we were gone. */
  committed: number
  /** Not ours by the shares any more: given back as soon as what we read of it is committed. */
  leaving: boolean
}

const RENEWALS_PER_LEASE = 5
/** How often records of other processes are looked for. */
const POLL_MS = 50

const JOIN = `
  INSERT INTO event_log_members (consumer_group, topic, member_id, leased_until)
  VALUES ($1, $2, $3, clock_timestamp() + $4 * interval '1 millisecond')
  ON CONFLICT (consumer_group, topic, member_id) DO UPDATE SET leased_until = EXCLUDED.leased_until`
// A new group starts at the oldest record that is still kept.
const ENSURE_OFFSETS = `
  INSERT INTO event_log_offsets (consumer_group, topic, partition, next_offset)
  SELECT $1, topic, partition, min(first_offset) FROM event_log_bounds WHERE topic = $2 GROUP BY topic, partition
  ON CONFLICT (consumer_group, topic, partition) DO NOTHING`
const FORGET_SILENT = `
  DELETE FROM event_log_members WHERE consumer_group = $1 AND topic = $2 AND leased_until < clock_timestamp()`
const LIST_MEMBERS = `
  SELECT member_id FROM event_log_members WHERE consumer_group = $1 AND topic = $2 ORDER BY member_id`
const TAKE = `
  UPDATE event_log_offsets SET owner = $3, leased_until = clock_timestamp() + $4 * interval '1 millisecond'
  WHERE consumer_group = $1 AND topic = $2 AND partition = ANY ($5)
    AND (owner IS NULL OR owner = $3 OR leased_until < clock_timestamp())
  RETURNING partition, next_offset`
const GIVE_BACK = `
  UPDATE event_log_offsets SET owner = NULL
  WHERE consumer_group = $1 AND topic = $2 AND owner = $3 AND partition = ANY ($4)`
const LEAVE = 'DELETE FROM event_log_members WHERE consumer_group = $1 AND topic = $2 AND member_id = $3'
// greatest(): a member that was taken for dead and wakes up must not move the group back.
const COMMIT = `
  UPDATE event_log_offsets o SET next_offset = greatest(o.next_offset, c.next_offset)
  FROM unnest($3::integer[], $4::bigint[]) AS c (partition, next_offset)
  WHERE o.consumer_group = $1 AND o.topic = $2 AND o.partition = c.partition`

/**
 * A member of a consumer group on PostgreSQL. Partitions are shared out by the members' order and held by leases on the
 * database's clock. A lease is an optimisation: two members that both read a partition for a while cost duplicates,
 * which the identity of usage events absorbs, and never a loss.
 */
export class PostgresConsumer implements LogConsumer {
  readonly name = 'event log consumer'
  private readonly options: ConsumerOptions
  private readonly memberId = randomUUID()
  /** In the order in which they are read. */
  private readonly held = new Map<number, Held>()
  private renewal: NodeJS.Timeout | undefined
  private renewing: Promise<void> = Promise.resolve()
  private closed = false

  constructor(options: ConsumerOptions) {
    this.options = options
  }

  async start(): Promise<void> {
    await this.renew()
    this.scheduleRenewal()
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
    for (const { partition, offset } of positions) {
      const held = this.held.get(partition)
      if (held !== undefined) held.committed = Math.max(held.committed, offset)
    }
  }

  async close(): Promise<void> {
    this.closed = true
    clearTimeout(this.renewal)
    await this.renewing
    const { pool, group, topic } = this.options
    await pool.query(GIVE_BACK, [group, topic, this.memberId, [...this.held.keys()]])
    await pool.query(LEAVE, [group, topic, this.memberId])
    this.held.clear()
  }

  private async fetch(bytesMax: number): Promise<LogRecord[]> {
    const wanted = [...this.held]
      .filter(([, { leaving }]) => !leaving)
      .map(([partition, { next }]) => ({ partition, offset: next }))
    const records = await this.options.reader.readNew(wanted, bytesMax)
    const kept: LogRecord[] = []
    const served = new Map<number, Held>()
    for (const record of records) {
      const held = this.held.get(record.partition)
      if (held?.next !== record.offset) continue // lost, or taken anew, while we read
      held.next = record.offset + 1
      served.set(record.partition, held)
      kept.push(record)
    }
    // To the end of the line: those that got nothing, for others took all the bytes, come first the next time.
    for (const [partition, held] of served) if (this.held.delete(partition)) this.held.set(partition, held)
    return kept
  }

  private scheduleRenewal(): void {
    const { leaseMs, log } = this.options
    this.renewal = setTimeout(() => {
      this.renewing = this.renew()
        .catch((err: unknown) => {
          log.warn({ err }, 'could not renew the leases on the event log')
        })
        .finally(() => {
          if (!this.closed) this.scheduleRenewal()
        })
    }, leaseMs / RENEWALS_PER_LEASE)
  }

  private async renew(): Promise<void> {
    const { pool, group, topic, leaseMs } = this.options
    const givenBack = [...this.held].filter(([, held]) => held.leaving && held.committed >= held.next)
    await withTransaction(pool, async (db) => {
      await db.query(JOIN, [group, topic, this.memberId, leaseMs])
      await db.query(ENSURE_OFFSETS, [group, topic])
      await db.query(GIVE_BACK, [group, topic, this.memberId, givenBack.map(([partition]) => partition)])
      await db.query(FORGET_SILENT, [group, topic])
    })
    for (const [partition] of givenBack) this.held.delete(partition)
    const share = await this.findShare()
    const wanted = [...new Set([...share, ...this.held.keys()])]
    const { rows } = await pool.query<{ partition: number; next_offset: string }>(TAKE, [
      group,
      topic,
      this.memberId,
      leaseMs,
      wanted,
    ])
    const taken = new Map(rows.map((row) => [row.partition, Number(row.next_offset)]))
    for (const partition of this.held.keys()) if (!taken.has(partition)) this.held.delete(partition) // lost it
    for (const [partition, offset] of taken) {
      const held = this.held.get(partition) ?? { next: offset, committed: offset, leaving: false }
      held.leaving = !share.has(partition)
      this.held.set(partition, held)
    }
  }

  /** The partitions that are this member's when they are dealt out to all living members in turn. */
  private async findShare(): Promise<Set<number>> {
    const { pool, group, topic, reader } = this.options
    const { rows } = await pool.query<{ member_id: string }>(LIST_MEMBERS, [group, topic])
    const place = rows.findIndex(({ member_id }) => member_id === this.memberId)
    const partitions = await reader.listPartitions()
    return new Set(partitions.filter((partition) => place >= 0 && partition % rows.length === place))
  }
}
