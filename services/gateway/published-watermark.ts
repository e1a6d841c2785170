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
  /** The acceptance's clock. */
  steadyMs: () => number
  log: Logger
}

export interface PublishedWatermarkOptions {
  /** How long reports are taken after the last renewal that succeeded. */
  unrenewedMaxMs: number
  /** How long an append may take to arrive after it was begun. */
  settleMs: number
  /** How often the row is renewed while there are reports. Default: RENEW_BUSY_MS */
  renewBusyMs?: number
}

export const RENEW_BUSY_MS = 250
/** How often the row is renewed while there are no reports. */
export const RENEW_IDLE_MS = 1_000
/** How many renewals may fail in a row before reports are refused. */
const RENEWALS_MISSED_MAX = 4

const CLOCK_OFF = "no usage is taken while this machine's clock and the database's differ: try again later"
const CLOCK_BEHIND =
  'no usage is taken for some minutes, as the clock of this Tally lies behind the usage it has taken: try again later'

/**
 * Publishes the time before which this gateway appends nothing any more. The gateway takes reports only while other
 * processes can rely on that time, and while its own clock can be relied on. The row counts until no append that was
 * begun before its expiry can still arrive.
 *
 * @see docs/decisions/0007-gateways-publish-their-lowest-acceptance.md
 * @internal
 */
export class PublishedWatermark {
  private readonly deps: PublishedWatermarkDeps
  private readonly unrenewedMaxMs: number
  private readonly countsForMs: number
  private row: { id: string; since: Micros; takesUntil: number } | undefined
  /** The database's clock at the last answer. */
  private seen = -Infinity

  constructor(deps: PublishedWatermarkDeps, { unrenewedMaxMs, settleMs }: PublishedWatermarkOptions) {
    this.deps = deps
    this.unrenewedMaxMs = unrenewedMaxMs
    this.countsForMs = unrenewedMaxMs + settleMs
    deps.acceptance.shut(UNTOLD)
  }

  /** Enters or renews the row. If this throws, reports are taken until unrenewedMaxMs after the last renewal. */
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
    // After so slow an answer the row may already have expired.
    if (answer === undefined || steadyMs() >= row.takesUntil) {
      await this.register()
      return
    }
    row.takesUntil = startedAt + this.unrenewedMaxMs
    const { now, reached } = answer
    // The clocks lie behind what was accepted. Without this the list waits for the gateway with the earliest times.
    if (reached - now > TAIL_MICROS) acceptance.goOnFrom(reached)
    await this.noteClock(now)
    this.letThrough(row, asked, now)
  }

  /** Removes the row when nothing is on its way any more. Otherwise the row counts until it expires. */
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
    // If something is on its way, the old row must count for it until the row expires.
    if (this.row !== undefined && acceptance.isIdle) await this.remove(this.row.id)
    this.row = undefined
    // The clocks are compared before the row is entered: if they differ, neither may be used for new times.
    const asked = watch.asks()
    const now = await table.readNow()
    await this.noteClock(now)
    if (watch.look(asked, now) === 'off') {
      acceptance.shut(CLOCK_OFF)
      return
    }
    const id = randomUUID() // never the old id: readers may be past the time in its row
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
   * After the database's clock was set back, rows of other gateways would count until the old time comes again. So the
   * times in these rows are set back, too.
   */
  private async noteClock(now: Micros): Promise<void> {
    if (now < this.seen - CLOCK_STEP_MICROS) await this.deps.table.bringBack()
    this.seen = now // set last: if bringBack failed, the next renewal repeats it
  }

  /**
   * @param asked taken before the database was asked
   * @param now the database's time in its answer
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
        acceptance.shut(CLOCK_BEHIND) // the row stays, so the list of events goes on
        break
      case 'right':
        acceptance.open(row.since, row.takesUntil)
    }
  }
}

/**
 * Publishes the watermark until it is closed. Close it after the event log, so that all appends have settled.
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
