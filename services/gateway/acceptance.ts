import { DomainError } from '../../shared/errors/domain-error.ts'
import type { Micros } from '../../shared/time/microsecond-clock.ts'
import type { RisingClock } from '../../shared/time/rising-clock.ts'
import { steadyClock } from '../../shared/time/steady-clock.ts'

/** The answer to reporters while other processes cannot learn that their reports are under way. */
export const UNTOLD = 'this gateway cannot take reports at the moment, try again'

/** What this gateway publishes to other processes about its acceptances. */
export interface Published {
  /** Events that are under way or accepted from now on have this time of acceptance or a later one. */
  lowest: Micros
  /** All events so far have this time of acceptance or an earlier one, and no later time was published. */
  reached: Micros
}

/**
 * The acceptances whose events are under way to the log. The list of events must end before the lowest of them.
 * Otherwise a reader that keeps the last id would miss an event that got its time first and reached the log last.
 *
 * Times of acceptance never go back, even when somebody sets a clock. Each is later than all times that were given or
 * published before.
 *
 * It is open from the start. A gateway that publishes its lowest acceptance shuts it while other processes could not
 * read the published time.
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
   * @param settleMs the time after which an unconfirmed append can no longer arrive in the log
   * @param steadyMs a clock that also runs while the process is stopped
   * @param clockAgrees returns false when the wall clock was set since the last comparison. Then the acceptance is shut
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
   * Prepares and appends events, at a time of acceptance that no other call in this process gets.
   *
   * @returns the result of `prepare`, once its events are in the log
   * @throws DomainError suspended while the acceptance is shut; then nothing was appended
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
      this.requireOpen(acceptedAt) // the last check before the append
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
   * Events that are under way or accepted from now on have this time of acceptance or a later one.
   *
   * While the acceptance is shut, the wall clock is not read, because the clock may be the reason.
   */
  lowest(): Micros {
    let lowest = this.passing()
    for (const acceptedAt of this.underWay.values()) lowest = Math.min(lowest, acceptedAt)
    return lowest
  }

  /** A time after all times that were given or published. Events accepted from now on get a later time. */
  passing(): Micros {
    return this.isOpen ? this.time.next() : this.time.goOn()
  }

  /** The lowest and the latest time of acceptance, to publish to other processes. */
  publish(): Published {
    const lowest = this.lowest()
    return { lowest, reached: this.reached }
  }

  get reached(): Micros {
    return this.time.reached()
  }

  /** From now on, no event gets a time of acceptance before `at`. */
  goOnFrom(at: Micros): void {
    this.time.raiseTo(at)
  }

  /**
   * Opens the acceptance for reports.
   *
   * @param since from now on, no event accepted before this time is appended, and none gets an earlier time
   * @param until the time of the steady clock from which on the acceptance is shut again
   */
  open(since: Micros, until: number): void {
    this.goOnFrom(since)
    this.openSince = since
    this.openUntil = until
    this.whyShut = UNTOLD
  }

  /** @param why the answer to reporters */
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

  /** Whether no events are under way. */
  get isIdle(): boolean {
    return this.underWay.size === 0
  }

  /** Whether events are under way, or were accepted since the last call. */
  wasBusy(): boolean {
    const busy = this.accepted || !this.isIdle
    this.accepted = false
    return busy
  }
}
