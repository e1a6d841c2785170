import { StartupError } from '../../../shared/errors/startup-error.ts'
import type { Ask } from '../../core/ask.ts'
import { reportBatch } from '../report-batch.ts'
import { type MadeUpEvent, madeUpUsage } from './made-up-usage.ts'
import { sendOnSchedule } from './send-on-schedule.ts'
import type { SimulateOptions } from './simulate-options.ts'
import type { SimulatedResources } from './simulated-resources.ts'
import type { SimulationStats } from './simulation-stats.ts'
import type { UsageTotals } from './usage-totals.ts'

export interface SendMadeUpUsage {
  options: SimulateOptions
  simulated: SimulatedResources
  /** When the first event happens, in Unix seconds. */
  startAt: number
  ask: Ask
  stats: SimulationStats
  /** Adds up all events, each counted once. */
  totals: UsageTotals
  signal: AbortSignal
}

/** With fixed times and no rate, this many events share a second. */
const EVENTS_A_SECOND = 1_000

/**
 * Sends made-up usage on schedule, until the time or the number of events is reached.
 *
 * @throws StartupError when Tally refuses an event, because the event or Tally's clock is wrong
 */
export function sendMadeUpUsage(simulation: SendMadeUpUsage): Promise<void> {
  const { options, startAt, ask, stats, totals, simulated, signal } = simulation
  let made = 0
  const nowAt =
    options.rate === undefined && options.startAt === undefined
      ? () => Math.floor(Date.now() / 1_000)
      : () => startAt + Math.floor(made / (options.rate ?? EVENTS_A_SECOND))
  const usage = madeUpUsage(options, nowAt)
  const makeBatch = (events: number) =>
    Array.from({ length: events }, () => {
      const event = usage.next().value
      made++
      count(event, simulated, stats, totals)
      return { json: eventJson(event, simulated) }
    })
  const send = async (events: number, dueAt: number) => {
    const { accepted, refused } = await reportBatch(ask, makeBatch(events))
    stats.addLatency(performance.now() - dueAt)
    stats.acknowledged += accepted
    if (refused[0] !== undefined)
      throw new StartupError(`Tally refuses ${refused.length} made-up events: ${refused[0].reason}`)
  }
  return sendOnSchedule(
    options,
    send,
    (ms) => {
      stats.addBehind(ms)
    },
    signal,
  )
}

function count(
  event: MadeUpEvent,
  simulated: SimulatedResources,
  stats: SimulationStats,
  totals: UsageTotals,
): void {
  stats.sent++
  if (event.isDuplicate) stats.duplicates++
  else {
    if (event.isLate) stats.late++
    totals.add(accountOf(event, simulated), simulated.sources[event.source], event.quantity)
  }
}

const accountOf = ({ account }: MadeUpEvent, { accountIds }: SimulatedResources): string =>
  accountIds[account] ?? ''

function eventJson(event: MadeUpEvent, simulated: SimulatedResources): string {
  const source = simulated.sources[event.source]
  return JSON.stringify({
    account_id: accountOf(event, simulated),
    ...(event.source === 'usd' ? { currency: source } : { metric_id: source }),
    quantity: event.quantity,
    occurred_at: event.occurredAt,
    idempotency_key: event.key,
    properties: event.properties,
  })
}
