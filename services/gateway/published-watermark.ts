import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import {
  CLOCK_STEP_MICROS,
  type ExpiredGateway,
  type gatewayRepository,
  TAIL_MICROS,
} from '../../shared/postgres/gateways.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'
import { type Acceptance, UNTOLD } from './acceptance.ts'
import type { Asked, ClockWatch } from './clock-watch.ts'

export interface PublishedWatermarkDeps {
  table: Pick<
    ReturnType<typeof gatewayRepository>,
    'readNow' | 'register' | 'renew' | 'remove' | 'bringBack' | 'findExpired' | 'forgetCrashed'
  >
  acceptance: Acceptance
  watch: Pick<ClockWatch, 'asks' | 'look'>
  /** The acceptance's clock. */
  steadyMs: () => number
  /** A clock that is never too fast. It may stop while the machine is suspended. */
  monotonicMs?: () => number
  log: Logger
}

export interface PublishedWatermarkOptions {
  /** How long the gateway takes reports after the last successful renewal. */
  unrenewedMaxMs: number
  /** The longest time between the beginning of an append and its arrival in the log. */
  settleMs: number
  /** The time between two renewals of the row while there are reports. Default: RENEW_BUSY_MS */
  renewBusyMs?: number
}

export const RENEW_BUSY_MS = 250
/** The time between two renewals of the row while there are no reports. */
export const RENEW_IDLE_MS = 1_000
/** How many renewals may fail in a row before reports are refused. */
const RENEWALS_MISSED_MAX = 4

const CLOCK_OFF = "no usage is taken while this machine's clock and the database's differ: try again later"
const CLOCK_BEHIND =
  'no usage is taken for some minutes, as the clock of this Tally lies behind the usage it has taken: try again later'

/**
 * Publishes a watermark: from now on, this gateway appends only events that were accepted at this time or later. The
 * gateway takes reports only while other processes can rely on the watermark, and while its own clock is right. A row
 * counts until all appends that were begun before its expiry have arrived or failed.
 *
 * @see docs/decisions/0007-gateways-publish-their-lowest-acceptance.md
 * @internal
 */
export class PublishedWatermark {
  private readonly deps: PublishedWatermarkDeps
  private readonly unrenewedMaxMs: number
  private readonly countsForMs: number
  private row: { id: string; since: Micros; takesUntil: number } | undefined
  /** The time of PostgreSQL's clock in its last answer. */
  private seen = -Infinity
  private expired: ExpiredGateway[] = []
  /** The time, by the monotonic clock, at which `expired` was read. */
  private expiredReadMs = -Infinity

  constructor(deps: PublishedWatermarkDeps, { unrenewedMaxMs, settleMs }: PublishedWatermarkOptions) {
    this.deps = deps
    this.unrenewedMaxMs = unrenewedMaxMs
    this.countsForMs = unrenewedMaxMs + settleMs
    deps.acceptance.shut(UNTOLD)
  }

  /** Enters or renews the row. If it throws, the gateway takes reports until unrenewedMaxMs after the last renewal. */
  async renew(): Promise<void> {
    const { table, acceptance, watch, steadyMs } = this.deps
    const { row } = this
    const startedAt = steadyMs()
    if (row === undefined || startedAt >= row.takesUntil) {
      await this.register()
      return
    }
    const asked = watch.asks()
    const answer = await table.renew(row.id, acceptance.publish(), this.countsForMs)
    // When the answer was this slow, the row may already have expired.
    if (answer === undefined || steadyMs() >= row.takesUntil) {
      await this.register()
      return
    }
    row.takesUntil = startedAt + this.unrenewedMaxMs
    const { now, reached } = answer
    // The clocks are behind the latest acceptance of all gateways. Without this line, the list would wait for the
    // gateway with the earliest times.
    if (reached - now > TAIL_MICROS) acceptance.goOnFrom(reached)
    await this.noteClock(now)
    this.letThrough(row, asked, now)
    await this.forgetCrashed()
  }

  /** Removes the row when no events are under way. Otherwise the row counts until it expires. */
  async end(): Promise<void> {
    const { acceptance, log } = this.deps
    acceptance.shut(UNTOLD)
    if (this.row === undefined) return
    if (acceptance.isIdle) await this.remove(this.row.id)
    else log.warn('the list of events waits for reports that the event log did not confirm')
  }

  private async register(): Promise<void> {
    const { table, acceptance, watch, steadyMs } = this.deps
    acceptance.shut(UNTOLD)
    // If events are under way, the old row must count for them until it expires.
    if (this.row !== undefined && acceptance.isIdle) await this.remove(this.row.id)
    this.row = undefined
    // The clocks are compared before the row is entered, because neither may give new times if they differ.
    const asked = watch.asks()
    const now = await table.readNow()
    await this.noteClock(now)
    if (watch.look(asked, now) === 'off') {
      acceptance.shut(CLOCK_OFF)
      return
    }
    const id = randomUUID() // never the old id: readers may have read past the old watermark
    const startedAt = steadyMs()
    const askedAgain = watch.asks()
    const entered = await table.register(id, this.countsForMs, this.unrenewedMaxMs)
    this.row = { id, since: entered.since, takesUntil: startedAt + this.unrenewedMaxMs }
    this.letThrough(this.row, askedAgain, entered.now)
  }

  private remove(id: string): Promise<void> {
    const { table, acceptance } = this.deps
    return table.remove(id, acceptance.reached)
  }

  /**
   * Removes the rows of crashed gateways. PostgreSQL's clock alone cannot tell which these are: while it is ahead, the
   * rows of all gateways seem expired. So a row must have stayed the same for as long as it counts, by a clock that
   * nobody sets.
   */
  private async forgetCrashed(): Promise<void> {
    const { table, monotonicMs = () => performance.now() } = this.deps
    const longestMs = Math.max(this.countsForMs, ...this.expired.map(({ countsForMs }) => countsForMs))
    if (monotonicMs() - this.expiredReadMs <= longestMs) return
    for (const row of this.expired) await table.forgetCrashed(row)
    this.expired = await table.findExpired()
    this.expiredReadMs = monotonicMs()
  }

  /**
   * Gets each time of PostgreSQL's clock. If that clock was set back, rows of other gateways would count until it shows
   * the old time again. So this function sets the times in these rows back, too.
   */
  private async noteClock(now: Micros): Promise<void> {
    if (now < this.seen - CLOCK_STEP_MICROS) await this.deps.table.bringBack()
    this.seen = now // set last: if bringBack failed, the next renewal repeats it
  }

  /**
   * Opens or shuts the acceptance, by a comparison of the clocks.
   *
   * @param asked taken before PostgreSQL was asked
   * @param now PostgreSQL's time in its answer
   */
  private letThrough(row: NonNullable<PublishedWatermark['row']>, asked: Asked, now: Micros) {
    const { acceptance, watch } = this.deps
    acceptance.goOnFrom(row.since)
    switch (watch.look(asked, now)) {
      case 'off':
        acceptance.shut(CLOCK_OFF)
        row.takesUntil = -Infinity // enter a new row once the clock is right
        break
      case 'behind':
        acceptance.shut(CLOCK_BEHIND) // the row stays, so the list of events does not wait
        break
      case 'right':
        acceptance.open(row.since, row.takesUntil)
    }
  }
}

/**
 * Publishes the watermark until it is closed. Close it after the event log, because then all appends have settled.
 *
 * @throws when PostgreSQL does not answer the first request
 */
export async function publishWatermark(
  deps: PublishedWatermarkDeps,
  options: PublishedWatermarkOptions,
): Promise<Closeable> {
  const { unrenewedMaxMs, renewBusyMs = RENEW_BUSY_MS } = options
  const watermark = new PublishedWatermark(deps, options)
  await watermark.renew()
  const stopping = new AbortController()
  const { signal } = stopping
  const run = async () => {
    let failing = false
    for (;;) {
      const wanted = deps.acceptance.wasBusy() ? renewBusyMs : RENEW_IDLE_MS
      const waitMs = Math.min(wanted, unrenewedMaxMs / RENEWALS_MISSED_MAX)
      await sleep(waitMs, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      try {
        await watermark.renew()
        failing = false
      } catch (err) {
        if (!failing) deps.log.warn({ err }, 'could not publish the watermark of this gateway, trying again')
        failing = true
      }
    }
  }
  const running = run()
  return {
    name: 'watermark of the gateway',
    async close() {
      stopping.abort()
      await running
      await watermark.end().catch((err: unknown) => {
        deps.log.warn(
          { err },
          'could not withdraw the watermark of this gateway: the list of events waits until it expires',
        )
      })
    },
  }
}
