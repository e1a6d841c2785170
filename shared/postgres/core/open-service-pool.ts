import type { Closeable } from '../../lifecycle/close-all.ts'
import type { Logger } from '../../logging/logger.ts'
import { openPool, type Pool, type PoolOptions } from './pool.ts'
import { takeTurns } from './pool-turns.ts'

/** A PostgreSQL server, for the role of the services. */
export interface PostgresServer {
  url: string
  statementTimeoutMs: number
}

/** Connections that only reports use, so that no other request keeps them waiting. */
export const REPORT_CONNECTIONS = 10
/** Connections for appending to the event log and reading from it. */
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
 * The part of a statement's time limit that it may wait for a lock. Requests of one process wait for each other
 * before they take a connection. So a request that holds a connection waits only for other processes and for
 * background work, which hold locks for a moment.
 */
const LOCK_SHARE = 0.2

/** Opens a pool for requests: companies take turns, and waits for locks are short. */
export function openRequestPool(
  ...[name, connectionsMax, server, opened, log]: Parameters<typeof openServicePool>
): Pool {
  const lockTimeoutMs = Math.ceil(server.statementTimeoutMs * LOCK_SHARE)
  const pool = openServicePool(name, connectionsMax, server, opened, log, { lockTimeoutMs })
  takeTurns(pool, connectionsMax)
  return pool
}
