import { type ClickHouse, queryRows } from '../clickhouse.ts'

// ClickHouse keeps the latest time of each part, as events are partitioned by it.
const LATEST = 'SELECT toUnixTimestamp(max(occurred_at)) AS at FROM usage_events'

/** When the latest event occurred that is stored, of any namespace, in Unix seconds; 0 for none. */
export async function latestUsageAt(client: ClickHouse): Promise<number> {
  const [row] = await queryRows<{ at: number }>(client, LATEST, {})
  return row?.at ?? 0
}
