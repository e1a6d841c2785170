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
  /** The longest time that one statement may run. */
  statementTimeoutMs: number
  /**
   * The longest time that a statement may wait for a lock while it holds a connection. If undefined, it may wait as
   * long as it may run.
   */
  lockTimeoutMs?: number
  log: Logger
}

export const SCHEMA = 'tally'

/** The longest time to open a connection, or to wait for a free one. */
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
    // The client has a limit of its own, because the server's limit works only while the server answers.
    query_timeout: options.statementTimeoutMs + ANSWER_MS,
    idle_in_transaction_session_timeout: options.statementTimeoutMs,
    keepAlive: true,
    options: `-c search_path=${SCHEMA} -c timezone=UTC`,
  })
  // Each client has a listener, because an error without a listener ends the process, and the pool listens only to idle
  // clients. The user of the connection gets an error from the next statement.
  pool.on('connect', (client) => {
    client.on('error', (err) => {
      options.log.warn({ err }, 'lost a connection to PostgreSQL')
    })
  })
  pool.on('error', () => undefined) // the listener of the client has logged the loss already
  return pool
}
