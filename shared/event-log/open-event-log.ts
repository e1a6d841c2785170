import { reach } from '../errors/reach.ts'
import type { Logger } from '../logging/logger.ts'
import type { Pool } from '../postgres/pool.ts'
import type { EventLogConfig } from './config.ts'
import { USAGE_TOPIC, type EventLog } from './event-log.ts'
import { openPostgresEventLog } from './postgres/postgres-event-log.ts'

export interface OpenEventLogOptions {
  /** Connections for the log on PostgreSQL, which the caller closes after it. */
  pool: Pool
  /** No other process uses the log: what a crashed one left behind in it is ended. */
  alone: boolean
  log: Logger
}

/**
 * Opens the log of usage events that the settings name; this is the one place that knows which driver that is.
 *
 * @throws StartupError in one line when it is out of reach
 */
export function openEventLog(
  config: EventLogConfig,
  { pool, alone, log }: OpenEventLogOptions,
): Promise<EventLog> {
  return reach('the event log (DATABASE_URL)', () =>
    openPostgresEventLog({
      ...config,
      pool,
      topic: USAGE_TOPIC,
      alone,
      log: log.child({ part: 'event log' }),
    }),
  )
}
