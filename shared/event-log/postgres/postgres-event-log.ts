import type { Logger } from '../../logging/logger.ts'
import type { Pool } from '../../postgres/core/pool.ts'
import { type Micros, MICROS_PER_SECOND } from '../../time/microsecond-clock.ts'
import type { EventLog, LogConsumer, LogRecord, NewRecord, PartitionLag, Position } from '../event-log.ts'
import { endMemberships } from '../group-membership.ts'
import { AppendSignal } from './append-signal.ts'
import { PostgresConsumer } from './consumer.ts'
import { GroupAppender } from './group-appender.ts'
import { keepHouse } from './housekeeping.ts'
import { SegmentReader } from './segment-reader.ts'

export interface PostgresEventLogOptions {
  pool: Pool
  topic: string
  /** The minimum number of the topic's partitions. The topic may already have more. */
  partitions: number
  log: Logger
  /** An append that is not durable after this time fails. */
  appendDeadlineMs: number
  /** The maximum number of appends that may wait for the database. */
  appendsWaitingMax: number
  /** The maximum number of bytes that the waiting appends may have. */
  appendsWaitingBytesMax: number
  /** How long a consumer keeps its partitions without a renewal. */
  leaseMs: number
  segmentBytesMax: number
  segmentAgeMaxMs: number
  /** How long a segment is kept after every group has read it. */
  retentionMs: number
  /** The time between two rounds of housekeeping; 0: another process does it. */
  housekeepingMs: number
  /** Whether no other process uses this log. Then memberships found at the start are of a crashed process, and end. */
  alone: boolean
}

const LAG = `
  SELECT p.partition, p.next_offset AS end, coalesce(o.next_offset, 0) AS committed
  FROM event_log_partitions p
  LEFT JOIN event_log_offsets o ON o.topic = p.topic AND o.partition = p.partition AND o.consumer_group = $2
  WHERE p.topic = $1 ORDER BY p.partition`
const MOVE = `
  UPDATE event_log_offsets o SET next_offset = p.next_offset
  FROM unnest($3::integer[], $4::bigint[]) AS p (partition, next_offset)
  WHERE o.consumer_group = $1 AND o.topic = $2 AND o.partition = p.partition`
const SEGMENTS_FROM = `
  SELECT b.segment_id FROM event_log_bounds b
  WHERE b.topic = $1 AND b.partition = $2
    AND b.segment_id >= (SELECT max(segment_id) FROM event_log_bounds
                         WHERE topic = $1 AND partition = $2 AND first_offset <= $3)
  ORDER BY b.segment_id`
const KEPT_SINCE = `
  SELECT CASE WHEN every(first_offset = 0) THEN 0 ELSE (extract(epoch FROM max(opened_at)) * 1000000)::bigint END AS since
  FROM (SELECT DISTINCT ON (b.partition) b.first_offset, s.opened_at
        FROM event_log_bounds b JOIN event_log_segments s USING (segment_id)
        WHERE b.topic = $1 ORDER BY b.partition, b.segment_id) AS oldest`
const SEGMENTS = `
  SELECT b.partition, b.segment_id, s.closed_at IS NULL OR s.closed_at >= $2 AS is_since FROM event_log_bounds b
  JOIN event_log_segments s USING (segment_id)
  WHERE b.topic = $1 ORDER BY b.partition, b.segment_id`

/** Opens the event log on PostgreSQL. It makes the topic if it is missing. */
export async function openPostgresEventLog(options: PostgresEventLogOptions): Promise<EventLog> {
  const { pool, topic, log } = options
  await pool.query('SELECT event_log_ensure_topic($1, $2)', [topic, options.partitions])
  if (options.alone) await endMemberships(pool, topic)
  const reader = new SegmentReader(pool, topic)
  const partitions = (await reader.listPartitions()).length
  const appended = new AppendSignal()
  const appender = new GroupAppender({
    pool,
    topic,
    log,
    deadlineMs: options.appendDeadlineMs,
    waitingMax: options.appendsWaitingMax,
    waitingBytesMax: options.appendsWaitingBytesMax,
    onAppended: () => {
      appended.fire()
    },
  })
  const housekeeping = options.housekeepingMs > 0 ? keepHouse(options) : undefined
  return {
    name: 'event log',
    partitions,
    id: topic,
    append: (records: readonly NewRecord[]) => appender.append(records),
    async join(group: string): Promise<LogConsumer> {
      const waitForAppend = (waitMs: number) => appended.wait(waitMs)
      const consumer = new PostgresConsumer({ ...options, group, reader, waitForAppend })
      await consumer.start()
      return consumer
    },
    lag: (group: string) => readLag(pool, topic, group),
    async moveTo(group: string, positions: readonly Position[]): Promise<void> {
      const partitions = positions.map(({ partition }) => partition)
      await pool.query(MOVE, [group, topic, partitions, positions.map(({ offset }) => offset)])
    },
    lowestUnread: (group: string) => readLowestUnread(pool, topic, group),
    positionsAt: (at: Micros) => findPositionsAt(pool, topic, at),
    keptSince: () => readKeptSince(pool, topic),
    read: (from: Position, bytesMax: number): Promise<LogRecord[]> => reader.read(from, bytesMax),
    async close(): Promise<void> {
      await housekeeping?.close()
      await appender.drain()
    },
  }
}

/** How far a group is behind in a topic; empty when there is no such topic. */
export async function readLag(pool: Pool, topic: string, group: string): Promise<PartitionLag[]> {
  const { rows } = await pool.query<{ partition: number; end: string; committed: string }>({
    name: 'event-log-lag',
    text: LAG,
    values: [topic, group],
  })
  return rows.map((row) => ({
    partition: row.partition,
    end: Number(row.end),
    committed: Number(row.committed),
  }))
}

async function readLowestUnread(pool: Pool, topic: string, group: string): Promise<Micros | undefined> {
  const lags = (await readLag(pool, topic, group)).filter(({ end, committed }) => committed < end)
  const lowest = await Promise.all(lags.map((lag) => lowestFrom(pool, topic, lag)))
  return lowest.length === 0 ? undefined : Math.min(...lowest)
}

async function lowestFrom(
  pool: Pool,
  topic: string,
  { partition, committed }: PartitionLag,
): Promise<Micros> {
  const { rows } = await pool.query<{ segment_id: string }>(SEGMENTS_FROM, [topic, partition, committed])
  const found = await Promise.all(
    rows.map(async ({ segment_id: id }) => {
      const { rows: lows } = await pool.query<{ low: string | null }>(
        `SELECT min(accepted_at) AS low FROM event_log_segment_${id} WHERE partition = $1 AND log_offset >= $2`,
        [partition, committed],
      )
      return Number(lows[0]?.low ?? Infinity)
    }),
  )
  return Math.min(...found)
}

async function findPositionsAt(pool: Pool, topic: string, at: Micros): Promise<Position[]> {
  const instant = new Date(at / 1_000)
  const { rows } = await pool.query<{ partition: number; segment_id: string; is_since: boolean }>(SEGMENTS, [
    topic,
    instant,
  ])
  const found = new Map<number, number>()
  for (const { partition, segment_id: id, is_since: isSince } of rows) {
    if (found.has(partition)) continue
    if (!isSince && !(await hasAcceptedSince(pool, id, partition, at))) continue
    const { rows: firsts } = await pool.query<{ first: string | null }>(
      `SELECT min(log_offset) AS first FROM event_log_segment_${id}
       WHERE partition = $1 AND (appended_at >= to_timestamp($2) OR accepted_at >= $3)`,
      [partition, at / MICROS_PER_SECOND, at],
    )
    const first = firsts[0]?.first
    if (first !== null && first !== undefined) found.set(partition, Number(first))
  }
  const ends = await new SegmentReader(pool, topic).listEnds()
  return [...ends].map(([partition, end]) => ({ partition, offset: found.get(partition) ?? end }))
}

/**
 * Whether a segment that was closed before an instant has records that were accepted at the instant or later, because
 * clocks were ahead. Within a partition times of acceptance never decrease, so the last record decides.
 */
async function hasAcceptedSince(pool: Pool, id: string, partition: number, at: Micros): Promise<boolean> {
  const { rows } = await pool.query<{ accepted_at: string }>(
    `SELECT accepted_at FROM event_log_segment_${id} WHERE partition = $1 ORDER BY log_offset DESC LIMIT 1`,
    [partition],
  )
  return Number(rows[0]?.accepted_at ?? 0) >= at
}

async function readKeptSince(pool: Pool, topic: string): Promise<Micros> {
  const { rows } = await pool.query<{ since: string | null }>(KEPT_SINCE, [topic])
  return Number(rows[0]?.since ?? 0)
}
