import { type ClickHouse, queryRows } from '../clickhouse.ts'

// ClickHouse reads no rows for this: it stores the latest time of each part, because occurred_at partitions the table.
const LATEST = 'SELECT toUnixTimestamp(max(occurred_at)) AS at FROM usage_events'

/** The Unix second in which the latest stored event of all namespaces occurred; 0 when none is stored. */
export async function latestUsageAt(client: ClickHouse): Promise<number> {
  const [row] = await queryRows<{ at: number }>(client, LATEST, {})
  return row?.at ?? 0
}
