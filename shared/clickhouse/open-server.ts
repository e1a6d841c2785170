import { reach } from '../errors/reach.ts'
import type { Closeable } from '../lifecycle/close-all.ts'
import { openClickHouse, type ClickHouse } from './clickhouse.ts'
import { requireClickHouseSchema } from './require-schema.ts'

/** Where a ClickHouse server is, and how long a query may take. */
export interface ClickHouseServer {
  url: string
  database: string
  queryTimeoutS: number
}

/**
 * Opens a ClickHouse server for a service, closed with the process.
 *
 * @throws StartupError in one line when it does not answer or is not migrated
 */
export async function openClickHouseServer(
  server: ClickHouseServer,
  connections: number,
  opened: Closeable[],
): Promise<ClickHouse> {
  const clickhouse = await openClickHouse({ ...server, connections })
  opened.push(clickhouse)
  await reach('ClickHouse (CLICKHOUSE_URL)', () => requireClickHouseSchema(clickhouse.client))
  return clickhouse.client
}
