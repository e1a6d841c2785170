import os from 'node:os'
import type { Logger } from '../../shared/logging/logger.ts'
import type { Metrics } from '../../shared/metrics/metrics.ts'
import { CLOCK_DIFFERENCE_MAX_MICROS, CLOCK_STEP_MICROS } from '../../shared/postgres/gateways.ts'
import {
  type Clock,
  type Micros,
  MICROS_PER_MS,
  MICROS_PER_SECOND,
} from '../../shared/time/microsecond-clock.ts'
import type { RisingClock } from '../../shared/time/rising-clock.ts'

export interface ClockWatchDeps {
  /** The clock of this machine. */
  wall: Clock
  /** The times of acceptance. */
  time: RisingClock
  /** A clock that nobody sets. */
  monotonicMs?: () => number
  /** How long ago this machine was started. */
  uptimeMs?: () => number
  /** How long a time server may take to set a clock that is wrong. */
  settlesMs: number
  log: Logger
}

/** The time at which PostgreSQL was asked for its own. */
export interface Asked {
  /** By this machine's clock. */
  at: Micros
  /** By the monotonic clock, which nobody sets. */
  ms: number
}

/** What a comparison with PostgreSQL's clock says of this machine's clock. */
export type ClockVerdict =
  | 'right'
  /** It differs from PostgreSQL's. */
  | 'off'
  /** Both clocks lie behind what was accepted, and a time server may still correct them. */
  | 'behind'

/** If clocks lie further behind, they were ahead before or are behind now: a maintained clock is never a minute off. */
const BEHIND_MAX_MICROS = 60 * MICROS_PER_SECOND

/**
 * Judges the clock of this machine, by PostgreSQL's clock and by what was accepted before.
 *
 * Both clocks may lie behind what was accepted. Then either they were ahead at that time, or they are behind now, and
 * nothing shows which. For a few minutes no usage is taken, so that a time server may set them. Then usage is taken
 * again, at times that go on from what was accepted. While the clocks may still be behind, a report that lies ahead of
 * them is refused only for the time being.
 *
 * @see docs/decisions/0030-time-never-goes-back.md
 */
export class ClockWatch {
  private readonly wall: Clock
  private readonly time: RisingClock
  private readonly monotonicMs: () => number
  /** When this machine was started, by the monotonic clock. */
  private readonly bootedMs: number
  private readonly settlesMs: number
  private readonly log: Logger
  private verdict: ClockVerdict = 'right'
  private differenceMicros = 0
  /** Bounds of how far PostgreSQL's clock was ahead of the monotonic clock at the last look. */
  private theirLead: { least: Micros; most: Micros } | undefined
  /**
   * Set when the clocks were found behind: the latest time of acceptance at that moment, the moment by the monotonic
   * clock, and the least by which acceptances have been ahead of the clocks since.
   */
  private doubt: { reached: Micros; ms: number; leastLead: Micros } | undefined

  constructor({
    wall,
    time,
    monotonicMs = () => performance.now(),
    uptimeMs = () => os.uptime() * 1_000,
    settlesMs,
    log,
  }: ClockWatchDeps) {
    this.wall = wall
    this.time = time
    this.monotonicMs = monotonicMs
    this.bootedMs = monotonicMs() - uptimeMs() // once: asking the system takes longer than the rest of a report
    this.settlesMs = settlesMs
    this.log = log
  }

  /** To be called before PostgreSQL is asked; the result goes to look(). */
  asks(): Asked {
    return { at: this.wall(), ms: this.monotonicMs() }
  }

  /**
   * @param asked taken before PostgreSQL was asked; the time its answer took does not count as a difference
   * @param now PostgreSQL's time
   */
  look(asked: Asked, now: Micros): ClockVerdict {
    const after = this.wall()
    this.theirLead = {
      least: now - this.monotonicMs() * MICROS_PER_MS,
      most: now - asked.ms * MICROS_PER_MS,
    }
    this.differenceMicros = Math.max(0, asked.at - now) - Math.max(0, now - after)
    if (Math.abs(this.differenceMicros) <= CLOCK_DIFFERENCE_MAX_MICROS) this.judgeBehind(after)
    const verdict = this.judge()
    if (verdict !== this.verdict) this.tell(verdict)
    this.verdict = verdict
    return verdict
  }

  /** Whether this clock was not set since the last look. */
  get agrees(): boolean {
    if (this.theirLead === undefined) return true // no look yet, and no usage taken
    const lead = this.wall() - this.monotonicMs() * MICROS_PER_MS
    const { least, most } = this.theirLead
    return Math.max(least - lead, lead - most) <= CLOCK_DIFFERENCE_MAX_MICROS
  }

  /**
   * Whether this clock may be behind. Then usage that lies ahead of it may be refused only for the time being. The
   * clock may have been set since the last look, or be behind what was accepted. Or the machine was started a short
   * time ago, and perhaps no time server has set its clock yet.
   */
  get mayBeBehind(): boolean {
    return (
      !this.agrees ||
      this.doubt !== undefined ||
      this.time.lead() > CLOCK_STEP_MICROS ||
      this.monotonicMs() - this.bootedMs < this.settlesMs
    )
  }

  /** Adds the clock's differences to the metrics. */
  showIn(metrics: Metrics): void {
    const difference = metrics.gauge(
      'tally_gateway_clock_difference_seconds',
      "How far the clock of this machine is ahead of PostgreSQL's, or behind it.",
    )
    const behind = metrics.gauge(
      'tally_gateway_clock_behind_seconds',
      'How far the clock of this machine lies behind the usage that was accepted last.',
    )
    metrics.beforeScrape(() => {
      difference.set([], this.differenceMicros / MICROS_PER_SECOND)
      behind.set([], this.time.lead() / MICROS_PER_SECOND)
    })
  }

  private judge(): ClockVerdict {
    if (Math.abs(this.differenceMicros) > CLOCK_DIFFERENCE_MAX_MICROS) return 'off'
    const isHeld = this.doubt !== undefined && this.monotonicMs() - this.doubt.ms < this.settlesMs
    return isHeld ? 'behind' : 'right'
  }

  private judgeBehind(now: Micros): void {
    const { doubt } = this
    const lead = this.time.lead()
    const ms = this.monotonicMs()
    if (doubt === undefined) {
      if (lead > BEHIND_MAX_MICROS) this.doubt = { reached: this.time.reached(), ms, leastLead: lead }
      return
    }
    // If times of acceptance were right, it is now at least this late. A clock that shows less may still be behind.
    const atLeast = doubt.reached + (ms - doubt.ms) * MICROS_PER_MS
    if (now < atLeast - BEHIND_MAX_MICROS) {
      // The clock was set back once more: a time server may be about to correct it.
      if (lead > doubt.leastLead + BEHIND_MAX_MICROS)
        this.doubt = { reached: Math.max(atLeast, this.time.reached()), ms, leastLead: lead }
      else doubt.leastLead = Math.min(doubt.leastLead, lead)
      return
    }
    this.doubt = undefined
    this.log.info('the clock of this machine no longer lies behind the usage that was accepted last')
  }

  /** Logs each change once. */
  private tell(verdict: ClockVerdict): void {
    const byS = Math.round(this.differenceMicros / MICROS_PER_SECOND)
    const behindS = Math.round(this.time.lead() / MICROS_PER_SECOND)
    if (verdict === 'off')
      this.log.error(
        { byS },
        "no usage is taken: the clock of this machine differs too much from PostgreSQL's",
      )
    else if (verdict === 'behind')
      this.log.error(
        { behindS, forS: this.settlesMs / 1_000 },
        'no usage is taken for now: the clocks lie behind the usage that was accepted last; either they were ahead then, or they are behind now and a time server may set them',
      )
    else
      this.log.warn(
        { behindS },
        behindS > 0
          ? 'usage is taken again, at times of acceptance that go on from the last one; reports that lie ahead of the clock are answered to try again later'
          : 'usage is taken again: the clock is right',
      )
  }
}
