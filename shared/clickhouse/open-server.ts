import { reach } from '../errors/reach.ts'
import type { Closeable } from '../lifecycle/close-all.ts'
import type { Logger } from '../logging/logger.ts'
import type { Queryable } from '../postgres/core/pool.ts'
import { requireWholeTables } from './broken-data-parts.ts'
import { type ClickHouse, openClickHouse } from './clickhouse.ts'
import { requireClickHouseSchema } from './require-schema.ts'
import { requireUsageStore } from './require-usage-store.ts'

/** The address of a ClickHouse server, and how long a query may take. */
export interface ClickHouseServer {
  url: string
  database: string
  queryTimeoutS: number
}

/**
 * Connects a service to a ClickHouse server. The connection is added to `opened`, and closed with the process.
 *
 * @param db the PostgreSQL that has registered this ClickHouse
 * @param keepsRollups the log of a process that keeps rollups: see requireWholeTables
 * @throws StartupError in one line when the server does not answer, is not migrated, has lost a data part, or is not
 *   the registered store of the usage
 */
export async function openClickHouseServer(
  server: ClickHouseServer,
  connections: number,
  db: Queryable,
  opened: Closeable[],
  keepsRollups?: Logger,
): Promise<ClickHouse> {
  const clickhouse = await openClickHouse({ ...server, connections })
  opened.push(clickhouse)
  await reach('ClickHouse (CLICKHOUSE_URL)', () => requireClickHouseSchema(clickhouse.client))
  await requireUsageStore(clickhouse.client, db, { enters: false })
  await requireWholeTables(clickhouse.client, keepsRollups)
  return clickhouse.client
}
