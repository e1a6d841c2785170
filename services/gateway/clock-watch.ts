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

/** The time at which PostgreSQL was asked for its time. */
export interface Asked {
  /** By this machine's clock. */
  at: Micros
  /** By the monotonic clock, which nobody sets. */
  ms: number
}

/** The result of a comparison of this machine's clock with PostgreSQL's. */
export type ClockVerdict =
  | 'right'
  /** It differs from PostgreSQL's. */
  | 'off'
  /** Both clocks show less than the latest time of acceptance, and a time server may still correct them. */
  | 'behind'

/** If clocks are further behind, they were wrong before or are wrong now: a maintained clock is never a minute off. */
const BEHIND_MAX_MICROS = 60 * MICROS_PER_SECOND

/**
 * Judges the clock of this machine, by PostgreSQL's clock and by the latest time of acceptance.
 *
 * Both clocks may be behind the latest time of acceptance. Then either they were ahead at that time, or they are behind
 * now, and nothing shows which. For a few minutes the gateway takes no usage, so that a time server may set the clocks.
 * Then it takes usage again, at times of acceptance that continue after the latest one. While the clocks may still be
 * behind, a report of usage ahead of them is refused only temporarily.
 *
 * @see docs/decisions/0030-time-never-goes-back.md
 */
export class ClockWatch {
  private readonly wall: Clock
  private readonly time: RisingClock
  private readonly monotonicMs: () => number
  /** The start of this machine, by the monotonic clock. */
  private readonly bootedMs: number
  private readonly settlesMs: number
  private readonly log: Logger
  private verdict: ClockVerdict = 'right'
  private differenceMicros = 0
  /** Bounds of the lead of PostgreSQL's clock over the monotonic clock, at the last comparison. */
  private theirLead: { least: Micros; most: Micros } | undefined
  /**
   * Set when a comparison finds the clocks behind: the latest time of acceptance at that moment, the moment by the
   * monotonic clock, and the smallest lead of acceptances over the clocks since then.
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
    this.bootedMs = monotonicMs() - uptimeMs() // only once: a system call takes longer than the rest of a report
    this.settlesMs = settlesMs
    this.log = log
  }

  /** Call this before PostgreSQL is asked for its time, and pass the result to look(). */
  asks(): Asked {
    return { at: this.wall(), ms: this.monotonicMs() }
  }

  /**
   * Compares the clocks.
   *
   * @param asked the result of asks(). With it, the duration of PostgreSQL's answer does not count as a difference
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

  /** False when somebody set this machine's clock after the last comparison. */
  get agrees(): boolean {
    if (this.theirLead === undefined) return true // no comparison yet, so no usage was taken
    const lead = this.wall() - this.monotonicMs() * MICROS_PER_MS
    const { least, most } = this.theirLead
    return Math.max(least - lead, lead - most) <= CLOCK_DIFFERENCE_MAX_MICROS
  }

  /**
   * Whether this machine's clock may be behind. Then usage ahead of it may be refused only temporarily. There are three
   * reasons: the clock was set after the last comparison, it is behind the latest time of acceptance, or the machine
   * was started a short time ago and perhaps no time server has set its clock yet.
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
      'How far the clock of this machine is behind the latest time of acceptance.',
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
    // If times of acceptance were right, the true time is at least this. A clock that shows less may still be behind.
    const atLeast = doubt.reached + (ms - doubt.ms) * MICROS_PER_MS
    if (now < atLeast - BEHIND_MAX_MICROS) {
      // The clock was set back once more, so a time server may correct it soon.
      if (lead > doubt.leastLead + BEHIND_MAX_MICROS)
        this.doubt = { reached: Math.max(atLeast, this.time.reached()), ms, leastLead: lead }
      else doubt.leastLead = Math.min(doubt.leastLead, lead)
      return
    }
    this.doubt = undefined
    this.log.info('the clock of this machine is no longer behind the latest time of acceptance')
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
        'no usage is taken for now: the clocks are behind the latest time of acceptance; either they were ahead then, or they are behind now and a time server may set them',
      )
    else
      this.log.warn(
        { behindS },
        behindS > 0
          ? 'usage is taken again, at times of acceptance after the latest one; reports of usage ahead of the clock are answered with "try again later"'
          : 'usage is taken again: the clock is right',
      )
  }
}
