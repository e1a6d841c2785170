import type { Closeable } from '../../lifecycle/close-all.ts'
import type { Logger } from '../../logging/logger.ts'
import { openPool, type Pool, type PoolOptions } from './pool.ts'
import { takeTurns } from './pool-turns.ts'

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
  options: Pick<PoolOptions, 'lockTimeoutMs'> = {},
): Pool {
  const pool = openPool({ url, name: `tally ${name}`, connectionsMax, statementTimeoutMs, log, ...options })
  opened.push({ name: `PostgreSQL pool of the ${name}`, close: () => pool.end() })
  return pool
}

/**
 * The part of a statement's time that it may wait for a lock: requests of one process wait for each other before they
 * take a connection, so with one in hand they wait for those of other processes, and for work in the background, which
 * hold locks for a moment.
 */
const LOCK_SHARE = 0.2

/** Opens a pool for requests: companies have their turn, and no lock is waited for for long. */
export function openRequestPool(
  ...[name, connectionsMax, server, opened, log]: Parameters<typeof openServicePool>
): Pool {
  const lockTimeoutMs = Math.ceil(server.statementTimeoutMs * LOCK_SHARE)
  const pool = openServicePool(name, connectionsMax, server, opened, log, { lockTimeoutMs })
  takeTurns(pool, connectionsMax)
  return pool
}
