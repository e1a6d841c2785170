import type { ClickHouseSettings } from '@clickhouse/client'
import { type ClickHouse, queryRows } from '../clickhouse.ts'

// The value of a partition begins with its epoch: (1,202611).
const PARTITIONS_OF = `
  SELECT table, partition_id AS id, toUInt32(count()) AS parts FROM system.parts
  WHERE database = currentDatabase() AND active
    AND table IN ('usage_by_slot', 'usage_by_slot_by_time', 'usage_by_slot_total', 'usage_by_day', 'usage_by_month', 'usage_by_day_total')
    AND toUInt32OrZero(extract(partition, '^\\((\\d+),')) IN {epochs:Array(UInt32)}
  GROUP BY table, id ORDER BY table, id`

interface PartitionRow {
  table: string
  id: string
  parts: number
}

/**
 * Merges or removes the partitions that contain the rollups of an epoch.
 *
 * @param settings for statements that may take long
 */
export const rollupPartitions = (client: ClickHouse, settings: ClickHouseSettings) => ({
  /**
   * Merges each partition of days and of months into one data part, because a read of an account's usage reads from
   * every data part.
   */
  async mergeDataParts({ epoch }: { epoch: number }, signal?: AbortSignal): Promise<void> {
    const rows = await queryRows<PartitionRow>(client, PARTITIONS_OF, { epochs: [epoch] })
    for (const { table, id, parts } of rows) {
      signal?.throwIfAborted()
      if ((table === 'usage_by_day' || table === 'usage_by_month') && parts > 1)
        await client.command({
          query: `OPTIMIZE TABLE ${table} PARTITION ID '${id}' FINAL`,
          clickhouse_settings: settings,
        })
    }
  },

  /** Removes all rollups of these epochs. */
  async drop(epochs: readonly number[]): Promise<void> {
    const rows = await queryRows<PartitionRow>(client, PARTITIONS_OF, { epochs })
    for (const { table, id } of rows)
      await client.command({ query: `ALTER TABLE ${table} DROP PARTITION ID '${id}'` })
  },
})
