import type { Clock, Micros } from '../../shared/time/microsecond-clock.ts'

/** How long an acceptance whose append failed is still reckoned with: the log may hold it after all. */
const FAILED_HOLD_MS = 15_000

/**
 * The acceptances that are on their way into the log. The list of events must end before the lowest of them, or whoever
 * keeps the last id would miss an event that got its time first and reached the log last.
 */
export class Acceptance {
  private readonly clock: Clock
  private readonly underWay = new Set<Micros>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Runs work with a time of acceptance that no other work of this process has. */
  async during<T>(work: (acceptedAt: Micros) => Promise<T>): Promise<T> {
    const acceptedAt = this.clock()
    this.underWay.add(acceptedAt)
    try {
      const result = await work(acceptedAt)
      this.underWay.delete(acceptedAt)
      return result
    } catch (err) {
      setTimeout(() => this.underWay.delete(acceptedAt), FAILED_HOLD_MS).unref()
      throw err
    }
  }

  /** No event that is accepted from now on, or that is on its way, was accepted before this. */
  lowest(): Micros {
    // A Set keeps the order of insertion, and the clock only rises: the first is the lowest, unless the wall clock was
    // set back, and then a list that ends early is the lesser harm.
    const [first] = this.underWay
    return Math.min(first ?? Infinity, this.clock())
  }
}
