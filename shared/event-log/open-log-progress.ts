import type { Closeable } from '../lifecycle/close-all.ts'
import type { Logger } from '../logging/logger.ts'
import { openServicePool, type PostgresServer } from '../postgres/core/open-service-pool.ts'
import type { Pool } from '../postgres/core/pool.ts'
import { lowestUnderWayIn } from '../postgres/lowest-under-way.ts'
import type { Micros } from '../time/microsecond-clock.ts'
import type { EventLogConfig } from './config.ts'
import type { EventLog } from './event-log.ts'
import { listedUpToOf } from './listed-up-to.ts'
import { openEventLog } from './open-event-log.ts'

/** The progress of the event log, for a process that neither appends to it nor loads from it. */
export interface LogProgress {
  eventLog: Pick<EventLog, 'lag'>
  /** The connections that only the log uses. */
  logPool: Pool
  /** Returns a time. Every event that was accepted before that time is stored already. */
  listedUpTo: () => Promise<Micros>
}

const CONNECTIONS = 2

/**
 * Opens the log only to read its progress. The log is closed with the process.
 *
 * @param pool for PostgreSQL, in which gateways publish their lowest acceptance that is not appended yet
 */
export async function openLogProgress(
  pool: Pool,
  postgres: PostgresServer,
  config: EventLogConfig,
  opened: Closeable[],
  log: Logger,
): Promise<LogProgress> {
  const logPool = openServicePool('event log', CONNECTIONS, postgres, opened, log)
  const eventLog = await openEventLog(config, { pool: logPool, alone: false, housekeeping: false, log })
  opened.push(eventLog)
  return {
    eventLog,
    logPool,
    listedUpTo: listedUpToOf({ lowestUnderWay: lowestUnderWayIn(pool), eventLog }),
  }
}
