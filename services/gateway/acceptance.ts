import { DomainError } from '../../shared/errors/domain-error.ts'
import type { Clock, Micros } from '../../shared/time/microsecond-clock.ts'
import { steadyClock } from '../../shared/time/steady-clock.ts'

/**
 * The acceptances that are on their way into the log. The list of events must end before the lowest of them, or whoever
 * keeps the last id would miss an event that got its time first and reached the log last.
 *
 * It is open from the start. Who publishes its lowest acceptance to other processes shuts it while nobody could know.
 */
export class Acceptance {
  private readonly clock: Clock
  private readonly settleMs: number
  private readonly steadyMs: () => number
  private readonly underWay = new Map<symbol, Micros>()
  /** What was told to others: nothing is accepted before it, even if the clock is set back. */
  private watermark = -Infinity
  /** The last time that was raised above the clock's, so that it comes once and not before the watermark. */
  private raised = -Infinity
  private openSince = -Infinity
  private openUntil = Infinity
  private accepted = false

  /**
   * @param settleMs how long the log may take to write what it did not confirm
   * @param steadyMs a clock that shows how long the process was stopped
   */
  constructor(clock: Clock, settleMs: number, steadyMs: () => number = steadyClock()) {
    this.clock = clock
    this.settleMs = settleMs
    this.steadyMs = steadyMs
  }

  /**
   * Prepares and appends what was accepted, at a time of acceptance that nothing else of this process has.
   *
   * @returns what was prepared, once it is in the log
   * @throws DomainError overloaded while it is shut; nothing was appended then
   */
  async during<T>(
    prepare: (acceptedAt: Micros) => Promise<T>,
    append: (prepared: T) => Promise<void>,
  ): Promise<T> {
    this.requireOpen(Infinity)
    const acceptance = Symbol('acceptance')
    const acceptedAt = this.nextTime()
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

  /** No event that is accepted from now on, or that is on its way, was accepted before this. */
  lowest(): Micros {
    let lowest = this.clock()
    for (const acceptedAt of this.underWay.values()) lowest = Math.min(lowest, acceptedAt)
    return lowest
  }

  /** The same, to be told to other processes: from now on it holds even if the clock is set back. */
  publish(): Micros {
    this.watermark = Math.max(this.watermark, this.lowest())
    return this.watermark
  }

  /**
   * Lets reports through.
   *
   * @param since nothing that was accepted before this is appended any more; when it changes, what was published is
   *   void
   * @param until by the steady clock; from then on it is shut
   */
  open(since: Micros, until: number): void {
    if (since !== this.openSince) {
      this.watermark = since
      this.raised = -Infinity
    }
    this.openSince = since
    this.openUntil = until
  }

  shut(): void {
    this.openUntil = -Infinity
  }

  get isOpen(): boolean {
    return this.steadyMs() < this.openUntil
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

  private nextTime(): Micros {
    const at = this.clock()
    if (at >= this.watermark && at > this.raised) return at
    this.raised = Math.max(this.raised, this.watermark) + 1
    return this.raised
  }

  private requireOpen(acceptedAt: Micros): void {
    if (!this.isOpen || acceptedAt < this.openSince)
      throw new DomainError('overloaded', 'this gateway cannot take reports at the moment, try again')
  }
}
