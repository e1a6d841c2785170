import { setTimeout as sleep } from 'node:timers/promises'

/** The longest wait for another service, which may have crashed. */
const LONGEST_MS = 8_000
const LOOK_EVERY_MS = 20

/**
 * Arranges a race of two late events of a slot. The second event arrives while one service has read only the first.
 * That service stores its result only when other services have processed the second. Batches are identified by the ids
 * of their inserts.
 */
export class LatePairs {
  /** The number of pairs with exactly this order. */
  met = 0
  private readonly isEnded: () => boolean
  private readonly firsts = new Set<string>()
  private readonly waiting = new Set<string>()
  private readonly held = new Set<string>()
  private rounds = 0

  /** @param isEnded when true, no service waits any more */
  constructor(isEnded: () => boolean) {
    this.isEnded = isEnded
  }

  /** Records the insert id of the first or the second batch of a pair. */
  noteMarked(insertId: string, isFirst: boolean): void {
    this.waiting.add(insertId)
    if (isFirst) this.firsts.add(insertId)
  }

  /** Whether the batch belongs to a pair and is not processed yet. */
  isWaiting(insertId: string): boolean {
    return this.waiting.has(insertId)
  }

  /** Whether the batch is the first of a pair and must still be held. */
  isToBeHeld(insertId: string): boolean {
    return this.firsts.has(insertId) && !this.held.has(insertId)
  }

  noteWorkedOff(inserts: readonly string[]): void {
    for (const insertId of inserts) this.waiting.delete(insertId)
  }

  /** Waits between a service's read of batches and its store, until the pairs of these batches are released. */
  async hold(inserts: readonly string[]): Promise<void> {
    const firsts = inserts.filter((insertId) => this.firsts.has(insertId))
    for (const insertId of firsts) this.held.add(insertId)
    await this.forAWhile(() => !firsts.some((insertId) => this.held.has(insertId)))
    for (const insertId of firsts) this.held.delete(insertId)
  }

  /** Waits until a service holds one of these batches, or all of them are processed. */
  untilHeld(firsts: readonly string[]): Promise<void> {
    return this.forAWhile(
      () =>
        firsts.some((insertId) => this.held.has(insertId)) ||
        !firsts.some((insertId) => this.waiting.has(insertId)),
    )
  }

  /** Records that the holding service has stored all released batches. */
  noteStored(): void {
    this.rounds++
  }

  /** Waits until the holding service has stored the batches that are released by now. */
  untilStored(): Promise<void> {
    const before = this.rounds
    return this.forAWhile(() => this.rounds > before)
  }

  /** Releases the first batches when the second ones are processed, so that the holding service stores its result. */
  async letGo(firsts: readonly string[], seconds: readonly string[]): Promise<void> {
    const isWaiting = () => seconds.some((insertId) => this.waiting.has(insertId))
    await this.forAWhile(() => !isWaiting())
    if (!isWaiting() && firsts.some((insertId) => this.held.has(insertId))) this.met++
    for (const insertId of firsts) {
      this.held.delete(insertId)
      this.firsts.delete(insertId)
    }
  }

  private async forAWhile(isDone: () => boolean): Promise<void> {
    const deadline = performance.now() + LONGEST_MS
    while (performance.now() < deadline && !isDone() && !this.isEnded()) await sleep(LOOK_EVERY_MS)
  }
}
