import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { CLOCK_STEP_MICROS, type gatewayRepository, TAIL_MICROS } from '../../shared/postgres/gateways.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'
import { type Acceptance, UNTOLD } from './acceptance.ts'
import type { Asked, ClockWatch } from './clock-watch.ts'

export interface PublishedWatermarkDeps {
  table: Pick<ReturnType<typeof gatewayRepository>, 'readNow' | 'register' | 'renew' | 'remove' | 'bringBack'>
  acceptance: Acceptance
  watch: Pick<ClockWatch, 'asks' | 'look'>
  /** The clock that the acceptance was given. */
  steadyMs: () => number
  log: Logger
}

export interface PublishedWatermarkOptions {
  /** How long reports are taken after the last renewal that succeeded. */
  unrenewedMaxMs: number
  /** How long an append may be on its way after it was begun. */
  settleMs: number
  /** How often the row is renewed while there are reports. Default: RENEW_BUSY_MS */
  renewBusyMs?: number
}

export const RENEW_BUSY_MS = 250
/** … and while there are none. */
export const RENEW_IDLE_MS = 1_000
/** How many renewals may fail in a row before reports are refused. */
const RENEWALS_MISSED_MAX = 4

const CLOCK_OFF = "no usage is taken while this machine's clock and the database's differ: try again later"
const CLOCK_BEHIND =
  'no usage is taken for some minutes, as the clock of this Tally lies behind the usage it has taken: try again later'

/**
 * Tells other processes before which time this gateway appends nothing any more, and lets it take reports only while
 * they can rely on it, and while its clock can be relied on. The row counts until no append that was begun under it can
 * still arrive.
 *
 * @see docs/decisions/0007-gateways-publish-their-lowest-acceptance.md
 * @internal
 */
export class PublishedWatermark {
  private readonly deps: PublishedWatermarkDeps
  private readonly unrenewedMaxMs: number
  private readonly countsForMs: number
  private row: { id: string; since: Micros; takesUntil: number } | undefined
  /** The database's clock, as it was seen last. */
  private seen = -Infinity

  constructor(deps: PublishedWatermarkDeps, { unrenewedMaxMs, settleMs }: PublishedWatermarkOptions) {
    this.deps = deps
    this.unrenewedMaxMs = unrenewedMaxMs
    this.countsForMs = unrenewedMaxMs + settleMs
    deps.acceptance.shut(UNTOLD)
  }

  /** Enters a row, or renews it; when that throws, what was allowed before stays allowed until its time is up. */
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
    // An answer that took so long says nothing of now: the row may count no longer.
    if (answer === undefined || steadyMs() >= row.takesUntil) {
      await this.register()
      return
    }
    row.takesUntil = startedAt + this.unrenewedMaxMs
    const { now, reached } = answer
    // Where clocks lie behind what was accepted: the list would wait for the gateway that is least ahead of them.
    if (reached - now > TAIL_MICROS) acceptance.goOnFrom(reached)
    await this.noteClock(now)
    this.letThrough(row, asked, now)
  }

  /** Takes the row away: nothing of this gateway is on its way any more. Otherwise it counts until its time is up. */
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
    if (this.row !== undefined && acceptance.isIdle) await this.remove(this.row.id) // else it counts for what is on its way
    this.row = undefined
    // Before anything is entered: of two clocks that differ neither may be what times go on from.
    const asked = watch.asks()
    const now = await table.readNow()
    await this.noteClock(now)
    if (watch.look(asked, now) === 'off') {
      acceptance.shut(CLOCK_OFF)
      return
    }
    const id = randomUUID() // never the old one: what readers passed stays passed
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

  /** Rows of others that were renewed before the database's clock was set back would count until that time comes. */
  private async noteClock(now: Micros): Promise<void> {
    if (now < this.seen - CLOCK_STEP_MICROS) await this.deps.table.bringBack()
    this.seen = now // not before: what failed is done at the next renewal
  }

  /**
   * @param asked before the database was
   * @param now the database's time in its answer
   */
  private letThrough(row: NonNullable<PublishedWatermark['row']>, asked: Asked, now: Micros) {
    const { acceptance, watch } = this.deps
    acceptance.goOnFrom(row.since)
    switch (watch.look(asked, now)) {
      case 'off':
        acceptance.shut(CLOCK_OFF)
        row.takesUntil = -Infinity // a new one, once the clock is right
        break
      case 'behind':
        acceptance.shut(CLOCK_BEHIND) // its row stays: the list of events goes on
        break
      case 'right':
        acceptance.open(row.since, row.takesUntil)
    }
  }
}

/**
 * Publishes the watermark for as long as it is not closed; that must be after the event log has settled.
 *
 * @throws when PostgreSQL does not answer the first time
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
