import type { Closeable } from '../../lifecycle/close-all.ts'
import type { Logger } from '../../logging/logger.ts'
import { openPool, type Pool } from './pool.ts'

/** A PostgreSQL server, for the role that services run as. */
export interface PostgresServer {
  url: string
  statementTimeoutMs: number
}

/** Connections that reporting has to itself, so that no other request keeps it waiting. */
export const REPORT_CONNECTIONS = 10
/** The same for appending to the event log and reading from it. */
export const LOG_CONNECTIONS = 10

/** Opens a pool that is closed with the process. */
export function openServicePool(
  name: string,
  connectionsMax: number,
  { url, statementTimeoutMs }: PostgresServer,
  opened: Closeable[],
  log: Logger,
): Pool {
  const pool = openPool({ url, name: `tally ${name}`, connectionsMax, statementTimeoutMs, log })
  opened.push({ name: `PostgreSQL pool of the ${name}`, close: () => pool.end() })
  return pool
}
