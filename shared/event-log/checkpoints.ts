import type { Queryable } from '../postgres/core/pool.ts'
import { type Micros, MICROS_PER_SECOND } from '../time/microsecond-clock.ts'
import type { Position } from './event-log.ts'

/** How many checkpoints are made in the time for which the log is kept. */
export const CHECKPOINTS_PER_RETENTION = 24

const NOTE = `
  INSERT INTO event_log_checkpoints (topic, partition, log_offset)
  SELECT $1, p.partition, p.log_offset FROM unnest($2::integer[], $3::bigint[]) AS p (partition, log_offset)
  WHERE NOT EXISTS (SELECT 1 FROM event_log_checkpoints c WHERE c.topic = $1 AND c.partition = p.partition
                      AND c.made_at > clock_timestamp() - $4 * interval '1 millisecond')`
const FIND_BEFORE = `
  SELECT DISTINCT ON (partition) partition, log_offset FROM event_log_checkpoints
  WHERE topic = $1 AND made_at < to_timestamp($2) ORDER BY partition, made_at DESC`
// Why the newest expired one stays: the log is kept from there on, and it says what was loaded by then.
const FORGET = `
  DELETE FROM event_log_checkpoints c
  WHERE topic = $1 AND EXISTS (
    SELECT 1 FROM event_log_checkpoints n WHERE n.topic = c.topic AND n.partition = c.partition
      AND n.made_at > c.made_at AND n.made_at <= clock_timestamp() - $2 * interval '1 millisecond')`

/**
 * Checkpoints of a log say how far it had been loaded at a time. Rows before a checkpoint were stored in ClickHouse
 * when it was made, so a backup of ClickHouse that began later has them.
 *
 * @param logId the log's name in PostgreSQL: see EventLog.id
 */
export const checkpointRepository = (db: Queryable, logId: string) => ({
  /**
   * Makes a checkpoint of each partition that has none from the last `everyMs`.
   *
   * @param committed read before this call, so that nothing after them counts as loaded
   */
  async note(committed: readonly Position[], everyMs: number): Promise<void> {
    const partitions = committed.map(({ partition }) => partition)
    await db.query(NOTE, [logId, partitions, committed.map(({ offset }) => offset), everyMs])
  },

  /** The last checkpoint of each partition that was made before a time by PostgreSQL's clock. */
  async findBefore(at: Micros): Promise<Position[]> {
    const { rows } = await db.query<{ partition: number; log_offset: string }>(FIND_BEFORE, [
      logId,
      at / MICROS_PER_SECOND,
    ])
    return rows.map((row) => ({ partition: row.partition, offset: Number(row.log_offset) }))
  },

  /** Deletes the checkpoints that are older than retentionMs, except the newest of them. */
  async forget(retentionMs: number): Promise<void> {
    await db.query(FORGET, [logId, retentionMs])
  },
})
