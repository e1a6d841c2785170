import { appendSettlesMs, type EventLogConfig } from '../../shared/event-log/config.ts'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { gatewayRepository } from '../../shared/postgres/gateways.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { microsecondClock, type Clock, type Micros } from '../../shared/time/microsecond-clock.ts'
import { steadyClock } from '../../shared/time/steady-clock.ts'
import { Acceptance } from './acceptance.ts'
import { publishWatermark } from './published-watermark.ts'

export interface AcceptanceParts {
  /** Of the gateway: where the watermark is published. */
  pool: Pool
  /** Whether no other process takes reports: then nobody has to be told. */
  alone: boolean
  log: Logger
}

export interface AcceptanceOptions {
  eventLog: EventLogConfig
  statementTimeoutMs: number
  unrenewedMaxMs: number
}

export interface OpenedAcceptance {
  acceptance: Acceptance
  /** The clock it accepts by. */
  clock: Clock
  /** No event that is on its way into the log, or will be, was or will be accepted before this; by any gateway. */
  lowestUnderWay: () => Micros | Promise<Micros>
}

/**
 * What accepts events, for a process of its own or one with others; its watermark is published until the process
 * closes.
 *
 * @param opened before the event log is, which must settle first
 * @throws when PostgreSQL does not answer
 */
export async function openAcceptance(
  { pool, alone, log }: AcceptanceParts,
  { eventLog, statementTimeoutMs, unrenewedMaxMs }: AcceptanceOptions,
  opened: Closeable[],
): Promise<OpenedAcceptance> {
  const clock = microsecondClock()
  const steadyMs = steadyClock()
  const settleMs = appendSettlesMs(eventLog, statementTimeoutMs)
  const acceptance = new Acceptance(clock, settleMs, steadyMs)
  if (alone) return { acceptance, clock, lowestUnderWay: () => acceptance.lowest() }
  const table = gatewayRepository(pool)
  const deps = { table, acceptance, clock, steadyMs, log: log.child({ part: 'gateway' }) }
  opened.push(await publishWatermark(deps, { settleMs, unrenewedMaxMs }))
  return { acceptance, clock, lowestUnderWay: () => table.lowestUnderWay() }
}
