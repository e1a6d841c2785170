import { setTimeout as sleep } from 'node:timers/promises'
import type { Closeable } from '../../lifecycle/close-all.ts'
import { repeat } from '../../lifecycle/repeat.ts'
import type { Logger } from '../../logging/logger.ts'
import type { Pool } from '../../postgres/core/pool.ts'
import type { LogConsumer, LogRecord, PollLimits, Position } from '../event-log.ts'
import { type AssignedPartition, GroupMembership } from '../group-membership.ts'
import { isBrokerError } from './broker-error.ts'
import type { GroupOffsets } from './group-offsets.ts'
import { type KafkaConnection, NO_LEADER } from './kafka-connection.ts'
import type { Fetched, PartitionReader } from './partition-reader.ts'

export interface KafkaConsumerOptions {
  /** Used only by this consumer, because a broker answers the fetches of a connection one after the other. */
  connection: KafkaConnection
  reader: PartitionReader
  offsets: GroupOffsets
  pool: Pool
  topic: string
  /** The topic's name in PostgreSQL: see EventLog.id. */
  logId: string
  group: string
  log: Logger
  leaseMs: number
}

/** How long a broker waits with its answer when there are no new records. */
const FETCH_WAIT_MS = 250
/** The wait when no partition can be read. */
const NOTHING_HELD_MS = 50
const REASSERT_MS = 5_000

const ENSURE_OFFSETS = `
  INSERT INTO event_log_offsets (consumer_group, topic, partition)
  SELECT $1, $2, p FROM unnest($3::integer[]) AS p
  ON CONFLICT (consumer_group, topic, partition) DO NOTHING`

/**
 * A member of a consumer group on Kafka. Leases in PostgreSQL decide which partitions it reads, and Kafka stores the
 * group's offsets. At most one fetch per broker is under way at a time.
 */
export class KafkaConsumer implements LogConsumer {
  readonly name = 'event log consumer'
  private readonly options: KafkaConsumerOptions
  private readonly membership: GroupMembership
  /**
   * Records of assigned partitions that were fetched and not yet returned. Each buffer begins at the partition's next
   * offset.
   */
  private readonly buffers = new Map<number, LogRecord[]>()
  /** Fetches under way, by broker. */
  private readonly fetching = new Map<number, Promise<void>>()
  private committing: Promise<void> = Promise.resolve()
  private readonly reasserting: Closeable
  private closed = false

  constructor(options: KafkaConsumerOptions) {
    const { group, reader, logId } = options
    this.options = options
    this.membership = new GroupMembership({
      ...options,
      topic: logId,
      listPartitions: () => reader.listPartitions(),
      ensureOffsets: async (db) => {
        await db.query(ENSURE_OFFSETS, [group, logId, await reader.listPartitions()])
      },
      findStarts: (taken) => this.findStarts(taken),
    })
    // Offsets are committed again at intervals, for two reasons. Kafka deletes offsets that are not committed for days,
    // and a member that lost its lease may have set an offset back.
    this.reasserting = repeat(
      'group offsets',
      REASSERT_MS,
      () =>
        this.commitInOrder(
          [...this.membership.assigned].map(([partition, assigned]) => ({
            partition,
            offset: assigned.committed,
          })),
        ),
      (err) => {
        options.log.debug({ err }, 'the repeated commit of the offsets failed')
      },
    )
  }

  start(): Promise<void> {
    return this.membership.start()
  }

  async poll({ bytesMax, waitMs }: PollLimits): Promise<LogRecord[]> {
    const deadline = performance.now() + waitMs
    for (;;) {
      const records = this.takeBuffered(bytesMax)
      if (records.length > 0 || this.closed) return records
      await this.startFetches()
      const left = deadline - performance.now()
      if (left <= 0) return []
      const waiting = this.fetching.size === 0 ? Math.min(left, NOTHING_HELD_MS) : left
      const timer = new AbortController()
      await Promise.race([
        ...this.fetching.values(),
        sleep(waiting, undefined, { signal: timer.signal }).catch(() => undefined),
      ]).finally(() => {
        timer.abort()
      })
    }
  }

  async commit(positions: readonly Position[]): Promise<void> {
    const { assigned } = this.membership
    const forward = positions.filter(({ partition, offset }) => {
      const own = assigned.get(partition)
      // If another member owns the partition now, that member reads these records again and commits them. A position
      // after `own.next` is not committed either. Since those records were returned, either the log was replaced by
      // another one, or this member lost the partition and got it again.
      return own !== undefined && offset > own.committed && offset <= own.next
    })
    await this.commitInOrder(forward)
    this.membership.noteCommitted(forward)
  }

  async close(): Promise<void> {
    this.closed = true
    await this.reasserting.close()
    await this.membership.close()
    await this.options.connection.close()
    await Promise.allSettled(this.fetching.values())
  }

  private commitInOrder(positions: readonly Position[]): Promise<void> {
    const commit = this.committing.then(() => this.options.offsets.commit(positions))
    this.committing = commit.catch(() => undefined)
    return commit
  }

  private async findStarts(taken: readonly Position[]): Promise<Position[]> {
    const { offsets, reader } = this.options
    const partitions = taken.map(({ partition }) => partition)
    const [committed, bounds] = [await offsets.fetch(partitions), await reader.listBounds(partitions)]
    for (const partition of partitions) this.buffers.delete(partition)
    return bounds.map(({ partition, first, end }) => {
      const offset = committed.get(partition)
      if (offset !== undefined && offset >= first && offset <= end) return { partition, offset }
      if (offset !== undefined) this.tellGap(partition, offset, first)
      return { partition, offset: first }
    })
  }

  /** Takes records in order from the buffers of the assigned partitions. No record is returned twice. */
  private takeBuffered(bytesMax: number): LogRecord[] {
    const { assigned: all } = this.membership
    for (const partition of this.buffers.keys()) if (!all.has(partition)) this.buffers.delete(partition)
    const taken: LogRecord[] = []
    let bytes = 0
    const bytesEach = Math.ceil(bytesMax / Math.max(1, this.buffers.size))
    const served = new Map<number, AssignedPartition>()
    for (const [partition, assigned] of [...all]) {
      const buffer = this.buffers.get(partition)
      if (buffer === undefined || assigned.leaving || bytes >= bytesMax) continue
      const enough = Math.min(bytesMax, bytes + bytesEach)
      let count = 0
      for (let next = buffer[0]; next !== undefined && bytes < enough; next = buffer[count]) {
        taken.push(next)
        bytes += next.value.length
        assigned.next = next.offset + 1
        count++
      }
      if (count === buffer.length) this.buffers.delete(partition)
      else buffer.splice(0, count)
      if (count > 0) served.set(partition, assigned)
    }
    // Round robin: partitions that were served move to the end, so that the others come first next time.
    for (const [partition, assigned] of served) if (all.delete(partition)) all.set(partition, assigned)
    return taken
  }

  /**
   * Starts fetches for those partitions of this member that have no buffered records. Each broker that leads such
   * partitions gets one fetch, except brokers with a fetch under way.
   */
  private async startFetches(): Promise<void> {
    const wanted = [...this.membership.assigned].filter(
      ([partition, { leaving }]) => !leaving && !this.buffers.has(partition),
    )
    if (wanted.length === 0) return
    const leaders = await this.options.reader.listLeaders(wanted.map(([partition]) => partition))
    for (const [leader, partitions] of leaders) {
      if (leader === NO_LEADER) this.options.connection.refreshSoon()
      if (leader === NO_LEADER || this.fetching.has(leader)) continue
      const positions = wanted
        .filter(([partition]) => partitions.includes(partition))
        .map(([partition, { next }]) => ({ partition, offset: next }))
      const fetch = this.fetch(leader, positions).finally(() => this.fetching.delete(leader))
      fetch.catch(() => undefined) // a poll that waits for this fetch gets the error
      this.fetching.set(leader, fetch)
    }
  }

  private async fetch(leader: number, positions: readonly Position[]): Promise<void> {
    const { reader } = this.options
    try {
      for (const fetched of await reader.fetch(leader, positions, FETCH_WAIT_MS)) this.keep(fetched)
    } catch (err) {
      if (!isBrokerError(err) || err.type !== 'OFFSET_OUT_OF_RANGE') throw err
      await this.goOnWhereTheLogBegins(positions)
    }
  }

  private keep({ from: { partition, offset }, records, next }: Fetched): void {
    const assigned = this.membership.assigned.get(partition)
    // Since the fetch began, this member lost the partition, or lost it and got it again.
    if (assigned?.next !== offset || this.buffers.has(partition)) return
    if (records.length > 0) this.buffers.set(partition, records)
    // The answer had only markers of transactions, which are not records.
    else if (next > offset) passOver(assigned, next)
  }

  /**
   * Handles a position that the log does not have, because the topic was emptied or made again. The consumer then reads
   * all records that are in the log now.
   */
  private async goOnWhereTheLogBegins(positions: readonly Position[]): Promise<void> {
    const bounds = await this.options.reader.listBounds(positions.map(({ partition }) => partition))
    for (const { partition, first, end } of bounds) {
      const assigned = this.membership.assigned.get(partition)
      if (assigned === undefined || (assigned.next >= first && assigned.next <= end)) continue
      this.tellGap(partition, assigned.next, first)
      assigned.next = first
      assigned.committed = first
    }
  }

  private tellGap(partition: number, wanted: number, first: number): void {
    const { log, topic } = this.options
    log.error(
      { topic, partition, wanted, first },
      'the event log does not have the next offset to read: usage may be lost; reading continues at its first offset',
    )
  }
}

function passOver(assigned: AssignedPartition, next: number): void {
  if (assigned.committed === assigned.next) assigned.committed = next
  assigned.next = next
}
