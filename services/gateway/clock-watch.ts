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

/** When PostgreSQL was asked for its time. */
export interface Asked {
  /** By our clock … */
  at: Micros
  /** … and by the one that nobody sets. */
  ms: number
}

/** What a look at PostgreSQL's clock says of ours. */
export type ClockVerdict =
  | 'right'
  /** It is another time than PostgreSQL's. */
  | 'off'
  /** Both lie behind what was accepted, and a time server may still set them. */
  | 'behind'

/** Clocks that were ahead before, or are behind now: a minute is more than any that is looked after is off. */
const BEHIND_MAX_MICROS = 60 * MICROS_PER_SECOND

/**
 * Judges the clock of this machine, by PostgreSQL's and by what was accepted before.
 *
 * When both lie behind what was accepted, either they were ahead when that was, or they are behind now; nothing tells
 * which. For a few minutes nothing is taken then, so that a time server may set them. Then usage is taken again, at
 * times that go on from what was accepted; but as long as it is possible that the clocks are behind, no report is
 * refused for lying ahead of them.
 *
 * @see docs/decisions/0030-time-never-goes-back.md
 */
export class ClockWatch {
  private readonly wall: Clock
  private readonly time: RisingClock
  private readonly monotonicMs: () => number
  /** When this machine was started, by the clock that nobody sets. */
  private readonly bootedMs: number
  private readonly settlesMs: number
  private readonly log: Logger
  private verdict: ClockVerdict = 'right'
  private differenceMicros = 0
  /** How far PostgreSQL's clock was ahead of the one that nobody sets, as it was seen last: between these. */
  private theirLead: { least: Micros; most: Micros } | undefined
  /**
   * How far acceptances had come when the clocks were found behind, when that was, and how far they have been ahead at
   * the least since.
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
    this.bootedMs = monotonicMs() - uptimeMs() // once: to ask the system takes longer than all else at a report
    this.settlesMs = settlesMs
    this.log = log
  }

  /** To be called before PostgreSQL is asked, for a look at its answer. */
  asks(): Asked {
    return { at: this.wall(), ms: this.monotonicMs() }
  }

  /**
   * @param asked before PostgreSQL was; what its answer took on the way, and to be made, is not held against us
   * @param now its time
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

  /** Whether this clock still shows what it should since the last look: it was not set meanwhile. */
  get agrees(): boolean {
    if (this.theirLead === undefined) return true // nothing was looked at, and nothing taken
    const lead = this.wall() - this.monotonicMs() * MICROS_PER_MS
    const { least, most } = this.theirLead
    return Math.max(least - lead, lead - most) <= CLOCK_DIFFERENCE_MAX_MICROS
  }

  /**
   * Whether usage that lies ahead of this clock may be of now: then it must not be refused for good. The clock may have
   * been set since the last look, or be behind what was accepted, or no time server may have set it yet since the
   * machine was started.
   */
  get mayBeBehind(): boolean {
    return (
      !this.agrees ||
      this.doubt !== undefined ||
      this.time.lead() > CLOCK_STEP_MICROS ||
      this.monotonicMs() - this.bootedMs < this.settlesMs
    )
  }

  /** Shows how far off the clock is. */
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
    // If acceptances were right, so late it is at least: a clock that shows less may still be behind.
    const atLeast = doubt.reached + (ms - doubt.ms) * MICROS_PER_MS
    if (now < atLeast - BEHIND_MAX_MICROS) {
      // Set back once more: a time server may be about to set them.
      if (lead > doubt.leastLead + BEHIND_MAX_MICROS)
        this.doubt = { reached: Math.max(atLeast, this.time.reached()), ms, leastLead: lead }
      else doubt.leastLead = Math.min(doubt.leastLead, lead)
      return
    }
    this.doubt = undefined
    this.log.info('the clock of this machine lies behind the usage that was accepted last no more')
  }

  /** Once for each change. */
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
          ? 'usage is taken again, at times of acceptance that go on from the last one; what lies ahead of the clock is told to come again'
          : 'usage is taken again: the clock is right',
      )
  }
}
