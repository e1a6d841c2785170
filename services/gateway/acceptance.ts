import { DomainError } from '../../shared/errors/domain-error.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'
import type { RisingClock } from '../../shared/time/rising-clock.ts'
import { steadyClock } from '../../shared/time/steady-clock.ts'

/** What reporters are told while nobody could be told of what they report. */
export const UNTOLD = 'this gateway cannot take reports at the moment, try again'

/** What is told to other processes of how far acceptances have come. */
export interface Published {
  /** No event that is accepted from now on, or that is on its way, was accepted before this. */
  lowest: Micros
  /** Every event that was accepted so far was accepted by this, and nothing later was told to anybody. */
  reached: Micros
}

/**
 * The acceptances that are on their way into the log. The list of events must end before the lowest of them, or whoever
 * keeps the last id would miss an event that got its time first and reached the log last.
 *
 * Times of acceptance never go back, whatever is done to clocks: not behind one that was given before, nor behind one
 * that was told.
 *
 * It is open from the start. Who publishes its lowest acceptance to other processes shuts it while nobody could know.
 */
export class Acceptance {
  private readonly time: RisingClock
  private readonly settleMs: number
  private readonly steadyMs: () => number
  private readonly clockAgrees: () => boolean
  private readonly underWay = new Map<symbol, Micros>()
  private openSince = -Infinity
  private openUntil = Infinity
  private whyShut = UNTOLD
  private accepted = false

  /**
   * @param time the times that are given
   * @param settleMs how long the log may take to write what it did not confirm
   * @param steadyMs a clock that shows how long the process was stopped
   * @param clockAgrees whether the clock behind the times was not set since it was last compared; it is shut otherwise
   */
  constructor(
    time: RisingClock,
    settleMs: number,
    steadyMs: () => number = steadyClock(),
    clockAgrees: () => boolean = () => true,
  ) {
    this.time = time
    this.settleMs = settleMs
    this.steadyMs = steadyMs
    this.clockAgrees = clockAgrees
  }

  /**
   * Prepares and appends what was accepted, at a time of acceptance that nothing else of this process has.
   *
   * @returns what was prepared, once it is in the log
   * @throws DomainError suspended while it is shut; nothing was appended then
   */
  async during<T>(
    prepare: (acceptedAt: Micros) => Promise<T>,
    append: (prepared: T) => Promise<void>,
  ): Promise<T> {
    this.requireOpen()
    const acceptance = Symbol('acceptance')
    const acceptedAt = this.time.next()
    this.accepted = true
    this.underWay.set(acceptance, acceptedAt)
    let keptForMs = 0
    try {
      const prepared = await prepare(acceptedAt)
      this.requireOpen(acceptedAt) // the last moment at which it can still be left undone
      await append(prepared).catch((err: unknown) => {
        const cannotCome = err instanceof DomainError && err.code === 'overloaded'
        if (!cannotCome) keptForMs = this.settleMs
        throw err
      })
      return prepared
    } finally {
      if (keptForMs === 0) this.underWay.delete(acceptance)
      else setTimeout(() => this.underWay.delete(acceptance), keptForMs).unref()
    }
  }

  /**
   * No event that is accepted from now on, or that is on its way, was accepted before this.
   *
   * While it is shut the wall clock is not looked at: that may be the reason.
   */
  lowest(): Micros {
    let lowest = this.passing()
    for (const acceptedAt of this.underWay.values()) lowest = Math.min(lowest, acceptedAt)
    return lowest
  }

  /** A time that comes after all that were accepted and told; none that is accepted from now on comes before. */
  passing(): Micros {
    return this.isOpen ? this.time.next() : this.time.goOn()
  }

  /** The same, and how far times have come, to be told to other processes. */
  publish(): Published {
    const lowest = this.lowest()
    return { lowest, reached: this.reached }
  }

  get reached(): Micros {
    return this.time.reached()
  }

  /** Nothing gets an earlier time from now on. */
  goOnFrom(at: Micros): void {
    this.time.raiseTo(at)
  }

  /**
   * Lets reports through.
   *
   * @param since nothing that was accepted before this is appended any more, nor gets an earlier time
   * @param until by the steady clock; from then on it is shut
   */
  open(since: Micros, until: number): void {
    this.goOnFrom(since)
    this.openSince = since
    this.openUntil = until
    this.whyShut = UNTOLD
  }

  /** @param why is what reporters are told */
  shut(why: string): void {
    this.openUntil = -Infinity
    this.whyShut = why
  }

  get isOpen(): boolean {
    return this.steadyMs() < this.openUntil && this.clockAgrees()
  }

  /** @throws DomainError suspended while it is shut, or was when something was accepted */
  requireOpen(acceptedAt = Infinity): void {
    if (this.isOpen && acceptedAt >= this.openSince) return
    throw new DomainError('suspended', this.whyShut)
  }

  /** Whether nothing is on its way, or may be. */
  get isIdle(): boolean {
    return this.underWay.size === 0
  }

  /** Whether something is on its way, or was accepted since this was last asked. */
  wasBusy(): boolean {
    const busy = this.accepted || !this.isIdle
    this.accepted = false
    return busy
  }
}
