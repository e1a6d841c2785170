import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Closeable } from '../../shared/lifecycle/close-all.ts'
import type { Logger } from '../../shared/logging/logger.ts'
import { CLOCK_DIFFERENCE_MAX_MICROS, type gatewayRepository } from '../../shared/postgres/gateways.ts'
import type { Clock, Micros } from '../../shared/time/microsecond-clock.ts'
import type { Acceptance } from './acceptance.ts'

export interface PublishedWatermarkDeps {
  table: Pick<ReturnType<typeof gatewayRepository>, 'register' | 'renew' | 'remove'>
  acceptance: Acceptance
  clock: Clock
  /** The clock that the acceptance was given. */
  steadyMs: () => number
  log: Logger
}

export interface PublishedWatermarkOptions {
  /** How long reports are taken after the last renewal that succeeded. */
  unrenewedMaxMs: number
  /** How long an append may be on its way after it was begun. */
  settleMs: number
}

const RENEW_BUSY_MS = 250
const RENEW_IDLE_MS = 1_000
/** How many renewals may fail in a row before reports are refused. */
const RENEWALS_MISSED_MAX = 4

/**
 * Tells other processes before which time this gateway appends nothing any more, and lets it take reports only while
 * they can rely on it. The row counts until no append that was begun under it can still arrive.
 *
 * @see docs/decisions/0007-gateways-publish-their-lowest-acceptance.md
 * @internal
 */
export class PublishedWatermark {
  private readonly deps: PublishedWatermarkDeps
  private readonly unrenewedMaxMs: number
  private readonly countsForMs: number
  private row: { id: string; since: Micros; takesUntil: number } | undefined

  constructor(deps: PublishedWatermarkDeps, { unrenewedMaxMs, settleMs }: PublishedWatermarkOptions) {
    this.deps = deps
    this.unrenewedMaxMs = unrenewedMaxMs
    this.countsForMs = unrenewedMaxMs + settleMs
    deps.acceptance.shut()
  }

  /** Enters a row, or renews it; when that throws, what was allowed before stays allowed until its time is up. */
  async renew(): Promise<void> {
    const { table, acceptance, clock, steadyMs } = this.deps
    const { row } = this
    const startedAt = steadyMs()
    const before = clock()
    if (row === undefined || startedAt >= row.takesUntil) {
      await this.register()
      return
    }
    const now = await table.renew(row.id, acceptance.publish(), this.countsForMs)
    // An answer that took so long says nothing of now: the row may count no longer.
    if (now === undefined || steadyMs() >= row.takesUntil) {
      await this.register()
      return
    }
    row.takesUntil = startedAt + this.unrenewedMaxMs
    this.letThrough(row, before, now)
  }

  /** Takes the row away: nothing of this gateway is on its way any more. Otherwise it counts until its time is up. */
  async end(): Promise<void> {
    const { table, acceptance, log } = this.deps
    acceptance.shut()
    if (this.row === undefined) return
    if (acceptance.isIdle) await table.remove(this.row.id)
    else log.warn('the list of events waits for reports that the event log did not confirm')
  }

  private async register(): Promise<void> {
    const { table, acceptance, clock, steadyMs } = this.deps
    acceptance.shut()
    if (this.row !== undefined && acceptance.isIdle) await table.remove(this.row.id) // else it counts for what is on its way
    this.row = undefined
    const id = randomUUID() // never the old one: what readers passed stays passed
    const startedAt = steadyMs()
    const before = clock()
    const since = await table.register(id, this.countsForMs)
    this.row = { id, since, takesUntil: startedAt + this.unrenewedMaxMs }
    this.letThrough(this.row, before, since)
  }

  /**
   * @param before our time when the database was asked
   * @param now the database's time in its answer
   */
  private letThrough(
    { since, takesUntil }: NonNullable<PublishedWatermark['row']>,
    before: Micros,
    now: Micros,
  ) {
    const { acceptance, clock, log } = this.deps
    const after = clock()
    const isAhead = before - now > CLOCK_DIFFERENCE_MAX_MICROS
    const isBehind = now - after > CLOCK_DIFFERENCE_MAX_MICROS
    if (isAhead || isBehind) {
      acceptance.shut()
      if (this.row !== undefined) this.row.takesUntil = -Infinity // a new one, once the clock is right
      const byMs = Math.round((isAhead ? before - now : after - now) / 1_000)
      log.error({ byMs }, "no reports are taken: this machine's clock differs too much from PostgreSQL's")
    } else acceptance.open(since, takesUntil)
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
  const watermark = new PublishedWatermark(deps, options)
  await watermark.renew()
  const stopping = new AbortController()
  const { signal } = stopping
  const run = async () => {
    let failing = false
    for (;;) {
      const wanted = deps.acceptance.wasBusy() ? RENEW_BUSY_MS : RENEW_IDLE_MS
      const waitMs = Math.min(wanted, options.unrenewedMaxMs / RENEWALS_MISSED_MAX)
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
