import { DomainError } from '../../shared/errors/domain-error.ts'
import type { Clock, Micros } from '../../shared/time/microsecond-clock.ts'

/**
 * The acceptances that are on their way into the log. The list of events must end before the lowest of them, or whoever
 * keeps the last id would miss an event that got its time first and reached the log last.
 */
export class Acceptance {
  private readonly clock: Clock
  private readonly settleMs: number
  private readonly underWay = new Map<symbol, Micros>()

  /** @param settleMs how long the log may take to write what it did not confirm */
  constructor(clock: Clock, settleMs: number) {
    this.clock = clock
    this.settleMs = settleMs
  }

  /**
   * Prepares and appends what was accepted, at a time of acceptance that nothing else of this process has.
   *
   * @returns what was prepared, once it is in the log
   */
  async during<T>(
    prepare: (acceptedAt: Micros) => Promise<T>,
    append: (prepared: T) => Promise<void>,
  ): Promise<T> {
    const acceptance = Symbol('acceptance')
    const acceptedAt = this.clock()
    this.underWay.set(acceptance, acceptedAt)
    const forget = () => this.underWay.delete(acceptance)
    const prepared = await prepare(acceptedAt).catch((err: unknown) => {
      forget()
      throw err
    })
    await append(prepared).catch((err: unknown) => {
      const cannotCome = err instanceof DomainError && err.code === 'overloaded'
      if (cannotCome) forget()
      else setTimeout(forget, this.settleMs).unref()
      throw err
    })
    forget()
    return prepared
  }

  /** No event that is accepted from now on, or that is on its way, was accepted before this. */
  lowest(): Micros {
    let lowest = this.clock()
    for (const acceptedAt of this.underWay.values()) lowest = Math.min(lowest, acceptedAt)
    return lowest
  }
}
