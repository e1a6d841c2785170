import type { Pool } from '../../postgres/core/pool.ts'
import { withTransaction } from '../../postgres/core/transaction.ts'
import { checkpointRepository, CHECKPOINTS_PER_RETENTION } from '../checkpoints.ts'
import type { Position } from '../event-log.ts'

export interface TidyTopicOptions {
  pool: Pool
  /** The topic's name in PostgreSQL: see EventLog.id. */
  logId: string
  /** How long records are kept after they were loaded. */
  retentionMs: number
  /** The position up to which all groups have read each partition. */
  loaded: () => Promise<Position[]>
  /** Deletes the records before these positions. */
  deleteBefore: (positions: readonly Position[]) => Promise<void>
}

const LIST_EXPIRED = `
  SELECT DISTINCT ON (partition) partition, log_offset, made_at FROM event_log_checkpoints
  WHERE topic = $1 AND made_at <= clock_timestamp() - $2 * interval '1 millisecond'
  ORDER BY partition, made_at DESC`
/**
 * Deletes the records of a topic that were loaded longer ago than retentionMs. Several processes may call it at once.
 *
 * Why not Kafka's own retention: it counts from a record's arrival. If the loader did not run for that time, Kafka
 * would delete records that were never loaded.
 */
export async function tidyTopic({
  pool,
  logId,
  retentionMs,
  loaded,
  deleteBefore,
}: TidyTopicOptions): Promise<void> {
  const positions = await loaded()
  const loadedTo = new Map(positions.map(({ partition, offset }) => [partition, offset]))
  await withTransaction(pool, async (db) => {
    const { rows: locks } = await db.query<{ mine: boolean }>(
      "SELECT pg_try_advisory_xact_lock(hashtext('tally.event_log.housekeeping'), hashtext($1)) AS mine",
      [logId],
    )
    if (locks[0]?.mine !== true) return // another process does this now
    const { rows } = await db.query<{ partition: number; log_offset: string }>(LIST_EXPIRED, [
      logId,
      retentionMs,
    ])
    const checkpoints = checkpointRepository(db, logId)
    await checkpoints.note(positions, retentionMs / CHECKPOINTS_PER_RETENTION)
    // Nothing is deleted after the current position of the groups, because somebody may have set that position back to
    // load records again.
    const expired = rows
      .map((row) => ({
        partition: row.partition,
        offset: Math.min(Number(row.log_offset), loadedTo.get(row.partition) ?? 0),
      }))
      .filter(({ offset }) => offset > 0)
    if (expired.length > 0) await deleteBefore(expired)
    await checkpoints.forget(retentionMs)
  })
}
