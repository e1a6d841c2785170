import { setTimeout as sleep } from 'node:timers/promises'

/** Nobody waits longer for another: who is waited for may have crashed. */
const LONGEST_MS = 8_000
const LOOK_EVERY_MS = 20

/**
 * Steers who meets whom: of two late events of a slot, the second comes while somebody holds what they have read of the
 * first alone, and they store it only once others have worked off the second. It knows each batch by the id of its
 * insert.
 */
export class LatePairs {
  /** Pairs that went just so. */
  met = 0
  private readonly isEnded: () => boolean
  private readonly firsts = new Set<string>()
  private readonly waiting = new Set<string>()
  private readonly held = new Set<string>()
  private rounds = 0

  /** @param isEnded nobody waits for another from then on */
  constructor(isEnded: () => boolean) {
    this.isEnded = isEnded
  }

  /** A batch of a pair has this id: its first, or its second. */
  noteMarked(insertId: string, isFirst: boolean): void {
    this.waiting.add(insertId)
    if (isFirst) this.firsts.add(insertId)
  }

  /** Whether it is of a pair, and nobody has worked it off. */
  isWaiting(insertId: string): boolean {
    return this.waiting.has(insertId)
  }

  /** Whether it is a first that is yet to be held. */
  isToBeHeld(insertId: string): boolean {
    return this.firsts.has(insertId) && !this.held.has(insertId)
  }

  noteWorkedOff(inserts: readonly string[]): void {
    for (const insertId of inserts) this.waiting.delete(insertId)
  }

  /** Between what a service has read of batches and what it stores: until they are let go whose first is among them. */
  async hold(inserts: readonly string[]): Promise<void> {
    const firsts = inserts.filter((insertId) => this.firsts.has(insertId))
    for (const insertId of firsts) this.held.add(insertId)
    await this.forAWhile(() => !firsts.some((insertId) => this.held.has(insertId)))
    for (const insertId of firsts) this.held.delete(insertId)
  }

  /** Once somebody holds one of these, or worked all of them off without. */
  untilHeld(firsts: readonly string[]): Promise<void> {
    return this.forAWhile(
      () =>
        firsts.some((insertId) => this.held.has(insertId)) ||
        !firsts.some((insertId) => this.waiting.has(insertId)),
    )
  }

  /** Whoever holds has stored all that was let go. */
  noteStored(): void {
    this.rounds++
  }

  /** Once whoever holds has stored what is let go by now. */
  untilStored(): Promise<void> {
    const before = this.rounds
    return this.forAWhile(() => this.rounds > before)
  }

  /** Once nobody has the second to work off: whoever holds the first may store what they have read. */
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
