import pg from 'pg'
import type { Logger } from '../../logging/logger.ts'

export type { Pool, PoolClient } from 'pg'
/** Anything that runs one statement: a pool, or a client within a transaction. */
export type Queryable = Pick<pg.Pool, 'query'>

export interface PoolOptions {
  url: string
  /** Shown in pg_stat_activity. */
  name: string
  connectionsMax: number
  /** The longest one statement may run. */
  statementTimeoutMs: number
  /** The longest one may wait for a lock, with a connection in hand; undefined: as long as a statement may run. */
  lockTimeoutMs?: number
  log: Logger
}

export const SCHEMA = 'tally'

/** The longest a connection may take to be made, or to become free. */
export const CONNECT_MS = 5_000
const IDLE_MS = 30_000
const ANSWER_MS = 5_000

/** Opens a pool of connections to PostgreSQL. NUMERIC and INT8 stay text. Lost connections are logged, not thrown. */
export function openPool(options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.url,
    application_name: options.name,
    max: options.connectionsMax,
    connectionTimeoutMillis: CONNECT_MS,
    idleTimeoutMillis: IDLE_MS,
    statement_timeout: options.statementTimeoutMs,
    lock_timeout: options.lockTimeoutMs,
    // Of ours, for a connection that has gone silent: the server's limit needs its answer.
    query_timeout: options.statementTimeoutMs + ANSWER_MS,
    idle_in_transaction_session_timeout: options.statementTimeoutMs,
    keepAlive: true,
    options: `-c search_path=${SCHEMA} -c timezone=UTC`,
  })
  // Each client too: the pool listens only to those that are idle, and an error nobody listens to ends the process.
  // Whoever uses the connection learns of the loss from the next statement.
  pool.on('connect', (client) => {
    client.on('error', (err) => {
      options.log.warn({ err }, 'lost a connection to PostgreSQL')
    })
  })
  pool.on('error', () => undefined) // the same loss again, of an idle one
  return pool
}
