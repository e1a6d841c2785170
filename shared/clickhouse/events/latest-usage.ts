import { type ClickHouse, queryRows } from '../clickhouse.ts'

// ClickHouse keeps the latest time of each part, as events are partitioned by their time of occurrence.
const LATEST = 'SELECT toUnixTimestamp(max(occurred_at)) AS at FROM usage_events'

/** The Unix second in which the latest stored event of all namespaces occurred; 0 when none is stored. */
export async function latestUsageAt(client: ClickHouse): Promise<number> {
  const [row] = await queryRows<{ at: number }>(client, LATEST, {})
  return row?.at ?? 0
}
