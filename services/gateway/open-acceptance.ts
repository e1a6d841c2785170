import { appendSettlesMs, type EventLogConfig } from '../../shared/event-log/config.ts'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'
import type { Pool } from '../../shared/postgres/core/pool.ts'
import { gatewayRepository } from '../../shared/postgres/gateways.ts'
import { lowestUnderWayIn } from '../../shared/postgres/lowest-under-way.ts'
import { type Clock, type Micros, microsecondClock } from '../../shared/time/microsecond-clock.ts'
import { risingClock } from '../../shared/time/rising-clock.ts'
import { steadyClock } from '../../shared/time/steady-clock.ts'
import { Acceptance } from './acceptance.ts'
import { ClockWatch } from './clock-watch.ts'
import { publishWatermark, RENEW_BUSY_MS, RENEW_IDLE_MS } from './published-watermark.ts'

export interface AcceptanceParts {
  /** The gateway's connections to PostgreSQL, where the watermark is published. */
  pool: Pool
  /** Whether no other process takes reports. Then nobody reads the published watermark until the next start. */
  alone: boolean
  metrics: Metrics
  log: Logger
}

export interface AcceptanceOptions {
  eventLog: EventLogConfig
  statementTimeoutMs: number
  unrenewedMaxMs: number
  clockSettlesMs: number
}

export interface OpenedAcceptance {
  acceptance: Acceptance
  /** The clock of this machine. */
  clock: Clock
  /** Judges whether `clock` can be relied on. */
  watch: ClockWatch
  /** Events that are under way in any gateway, or accepted from now on, have this time of acceptance or a later one. */
  lowestUnderWay: () => Micros | Promise<Micros>
}

/**
 * Makes the acceptance of a gateway, in a process of its own or a shared one. The gateway publishes its watermark and
 * watches its clock until the process closes.
 *
 * @param opened a list that is closed from its end. The event log is added after the watermark, so it settles first
 * @throws when PostgreSQL does not answer
 */
export async function openAcceptance(
  { pool, alone, metrics, log: parent }: AcceptanceParts,
  { eventLog, statementTimeoutMs, unrenewedMaxMs, clockSettlesMs }: AcceptanceOptions,
  opened: Closeable[],
): Promise<OpenedAcceptance> {
  const log = parent.child({ part: 'gateway' })
  const clock = microsecondClock()
  const time = risingClock(clock)
  const steadyMs = steadyClock()
  const settleMs = appendSettlesMs(eventLog, statementTimeoutMs)
  const watch = new ClockWatch({ wall: clock, time, settlesMs: clockSettlesMs, log })
  const acceptance = new Acceptance(time, settleMs, steadyMs, () => watch.agrees)
  watch.showIn(metrics)
  const table = gatewayRepository(pool)
  if (alone) await table.forgetAll() // rows that earlier processes left when they crashed
  const deps = { table, acceptance, watch, steadyMs, log }
  // When the gateway is alone, nobody reads the row until the next start.
  const renewBusyMs = alone ? RENEW_IDLE_MS : RENEW_BUSY_MS
  opened.push(await publishWatermark(deps, { settleMs, unrenewedMaxMs, renewBusyMs }))
  const lowestUnderWay = alone ? () => acceptance.lowest() : lowestUnderWayIn(pool)
  return { acceptance, clock, watch, lowestUnderWay }
}
