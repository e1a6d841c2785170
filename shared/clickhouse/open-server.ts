import { reach } from '../errors/reach.ts'
import type { Closeable } from '../lifecycle/close-all.ts'
import type { Queryable } from '../postgres/core/pool.ts'
import { openClickHouse, type ClickHouse } from './clickhouse.ts'
import { requireClickHouseSchema } from './require-schema.ts'
import { requireUsageStore } from './require-usage-store.ts'

/** Where a ClickHouse server is, and how long a query may take. */
export interface ClickHouseServer {
  url: string
  database: string
  queryTimeoutS: number
}

/**
 * Opens a ClickHouse server for a service, closed with the process.
 *
 * @param db of the PostgreSQL that it belongs to
 * @throws StartupError in one line when it does not answer, is not migrated, or is not the one that the usage is in
 */
export async function openClickHouseServer(
  server: ClickHouseServer,
  connections: number,
  db: Queryable,
  opened: Closeable[],
): Promise<ClickHouse> {
  const clickhouse = await openClickHouse({ ...server, connections })
  opened.push(clickhouse)
  await reach('ClickHouse (CLICKHOUSE_URL)', () => requireClickHouseSchema(clickhouse.client))
  await requireUsageStore(clickhouse.client, db, { enters: false })
  return clickhouse.client
}
