import { DomainError } from '../../shared/errors/domain-error.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'
import type { RisingClock } from '../../shared/time/rising-clock.ts'
import { steadyClock } from '../../shared/time/steady-clock.ts'

/** What reporters are answered while other processes cannot learn of their reports. */
export const UNTOLD = 'this gateway cannot take reports at the moment, try again'

/** What this gateway publishes to other processes about its acceptances. */
export interface Published {
  /** No event that is on its way, or accepted from now on, has an earlier time of acceptance. */
  lowest: Micros
  /** No event so far has a later time of acceptance, and no later time was published. */
  reached: Micros
}

/**
 * The acceptances that are on their way into the log. The list of events must end before the lowest of them. Otherwise
 * a reader that keeps the last id would miss an event that got its time first and reached the log last.
 *
 * Times of acceptance never go back, whatever is done to clocks: each is later than all times that were given or
 * published before.
 *
 * An acceptance is open from the start. A gateway that publishes its lowest acceptance shuts it while other processes
 * could not read the published time.
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
   * @param time gives the times of acceptance
   * @param settleMs how long events that the log did not confirm may take to reach it
   * @param steadyMs a clock that goes on while the process is stopped
   * @param clockAgrees false when the wall clock was set since it was last compared: then the acceptance is shut
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
   * Prepares and appends events at a time of acceptance that nothing else in this process has.
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
      this.requireOpen(acceptedAt) // the last moment at which the append can be left out
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
   * No event that is on its way, or accepted from now on, has an earlier time of acceptance.
   *
   * While the acceptance is shut, the wall clock is not read, because it may be the reason.
   */
  lowest(): Micros {
    let lowest = this.passing()
    for (const acceptedAt of this.underWay.values()) lowest = Math.min(lowest, acceptedAt)
    return lowest
  }

  /** A time after all times that were given or published. Nothing accepted from now on gets an earlier time. */
  passing(): Micros {
    return this.isOpen ? this.time.next() : this.time.goOn()
  }

  /** The lowest and the latest time of acceptance, to be published to other processes. */
  publish(): Published {
    const lowest = this.lowest()
    return { lowest, reached: this.reached }
  }

  get reached(): Micros {
    return this.time.reached()
  }

  /** From now on nothing gets an earlier time. */
  goOnFrom(at: Micros): void {
    this.time.raiseTo(at)
  }

  /**
   * Lets reports through.
   *
   * @param since nothing accepted before this is appended from now on, and nothing gets an earlier time
   * @param until a time of the steady clock, from which on the acceptance is shut
   */
  open(since: Micros, until: number): void {
    this.goOnFrom(since)
    this.openSince = since
    this.openUntil = until
    this.whyShut = UNTOLD
  }

  /** @param why what reporters are answered */
  shut(why: string): void {
    this.openUntil = -Infinity
    this.whyShut = why
  }

  get isOpen(): boolean {
    return this.steadyMs() < this.openUntil && this.clockAgrees()
  }

  /** @throws DomainError suspended while the acceptance is shut, or when acceptedAt lies before `since` of open() */
  requireOpen(acceptedAt = Infinity): void {
    if (this.isOpen && acceptedAt >= this.openSince) return
    throw new DomainError('suspended', this.whyShut)
  }

  /** Whether nothing is on its way. */
  get isIdle(): boolean {
    return this.underWay.size === 0
  }

  /** Whether something is on its way, or was accepted since the last call. */
  wasBusy(): boolean {
    const busy = this.accepted || !this.isIdle
    this.accepted = false
    return busy
  }
}
