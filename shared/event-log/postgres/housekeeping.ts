import type { Closeable } from '../../lifecycle/close-all.ts'
import { repeat } from '../../lifecycle/repeat.ts'
import type { Logger } from '../../logging/logger.ts'
import type { Pool, PoolClient } from '../../postgres/core/pool.ts'
import { withTransaction } from '../../postgres/core/transaction.ts'
import { checkpointRepository, CHECKPOINTS_PER_RETENTION } from '../checkpoints.ts'

export interface HousekeepingOptions {
  pool: Pool
  topic: string
  log: Logger
  segmentBytesMax: number
  segmentAgeMaxMs: number
  retentionMs: number
  housekeepingMs: number
}

const CURRENT = `
  SELECT segment_id, clock_timestamp() - opened_at > $2 * interval '1 millisecond' AS is_old,
    pg_total_relation_size(format('event_log_segment_%s', segment_id)::regclass) AS bytes,
    EXISTS (SELECT 1 FROM event_log_bounds b JOIN event_log_partitions p USING (topic, partition, segment_id)
            WHERE b.segment_id = s.segment_id AND p.next_offset > b.first_offset) AS has_records
  FROM event_log_segments s WHERE topic = $1 AND closed_at IS NULL`
// A segment is consumed when, in each partition, every group has reached the first offset of the segment after it. If a
// group was set back to load usage again, a segment is no longer consumed.
const MARK_CONSUMED = `
  UPDATE event_log_segments s SET consumed_at = CASE WHEN c.is_consumed THEN clock_timestamp() END
  FROM (
    SELECT t.segment_id, EXISTS (SELECT 1 FROM event_log_offsets o WHERE o.topic = t.topic)
      AND NOT EXISTS (
        SELECT 1 FROM event_log_bounds b
        JOIN event_log_offsets o ON o.topic = b.topic AND o.partition = b.partition
        WHERE b.topic = t.topic AND b.segment_id = (
            SELECT min(n.segment_id) FROM event_log_bounds n
            WHERE n.topic = b.topic AND n.partition = b.partition AND n.segment_id > t.segment_id)
          AND o.next_offset < b.first_offset) AS is_consumed
    FROM event_log_segments t WHERE t.topic = $1 AND t.closed_at IS NOT NULL
  ) c
  WHERE s.segment_id = c.segment_id AND c.is_consumed <> (s.consumed_at IS NOT NULL)`
const LIST_COMMITTED = `
  SELECT partition, min(next_offset) AS log_offset FROM event_log_offsets WHERE topic = $1 GROUP BY partition`
const LIST_EXPIRED = `
  SELECT segment_id FROM event_log_segments
  WHERE topic = $1 AND consumed_at < clock_timestamp() - $2 * interval '1 millisecond'`

/**
 * Manages the segments of a topic. It opens a new segment when the current one is large or old, and drops segments that
 * every group has read and that were kept long enough for the audit. Several processes may do this at once.
 */
export function keepHouse(options: HousekeepingOptions): Closeable {
  return repeat(
    'event log housekeeping',
    options.housekeepingMs,
    () => tidy(options),
    (err) => {
      options.log.warn({ err }, 'housekeeping of the segments of the event log failed, trying again')
    },
  )
}

/**
 * One round of housekeeping.
 *
 * @internal
 */
export async function tidy(options: HousekeepingOptions): Promise<void> {
  await withTransaction(options.pool, async (db) => {
    const { rows } = await db.query<{ mine: boolean }>(
      "SELECT pg_try_advisory_xact_lock(hashtext('tally.event_log.housekeeping'), hashtext($1)) AS mine",
      [options.topic],
    )
    if (rows[0]?.mine !== true) return // another process does this now
    await openNextSegment(db, options)
    await db.query(MARK_CONSUMED, [options.topic])
    await noteCheckpoint(db, options)
  })
  await dropExpired(options)
}

async function noteCheckpoint(db: PoolClient, { topic, retentionMs }: HousekeepingOptions): Promise<void> {
  const { rows } = await db.query<{ partition: number; log_offset: string }>(LIST_COMMITTED, [topic])
  const committed = rows.map((row) => ({ partition: row.partition, offset: Number(row.log_offset) }))
  const checkpoints = checkpointRepository(db, topic)
  await checkpoints.note(committed, retentionMs / CHECKPOINTS_PER_RETENTION)
  await checkpoints.forget(retentionMs)
}

interface CurrentRow {
  segment_id: string
  is_old: boolean
  bytes: string
  has_records: boolean
}

async function openNextSegment(db: PoolClient, options: HousekeepingOptions): Promise<void> {
  const { topic, segmentAgeMaxMs, segmentBytesMax, log } = options
  const { rows } = await db.query<CurrentRow>(CURRENT, [topic, segmentAgeMaxMs])
  const current = rows[0]
  if (current?.has_records !== true || (!current.is_old && Number(current.bytes) < segmentBytesMax)) return
  await db.query('SELECT event_log_open_segment($1)', [topic])
  log.info(
    { topic, closed: current.segment_id, bytes: current.bytes },
    'opened a new segment of the event log',
  )
}

async function dropExpired({ pool, topic, retentionMs, log }: HousekeepingOptions): Promise<void> {
  const { rows } = await pool.query<{ segment_id: string }>(LIST_EXPIRED, [topic, retentionMs])
  for (const { segment_id: id } of rows) {
    await pool.query('SELECT event_log_drop_segment($1)', [id])
    log.info({ topic, segment: id }, 'dropped a segment of the event log that every group has read')
  }
}
