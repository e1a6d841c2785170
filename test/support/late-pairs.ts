import { setTimeout as sleep } from 'node:timers/promises'

/** Nobody waits longer for another: who is waited for may have crashed. */
const LONGEST_MS = 8_000
const LOOK_EVERY_MS = 20

/**
 * Steers who meets whom: of two late events of a slot, the second comes while somebody holds what they have read of the first alone, and
 * they store it only once others have worked off the second. Of each batch it knows the mark.
 */
export class LatePairs {
  /** Pairs that went just so. */
  met = 0
  private readonly isEnded: () => boolean
  private readonly firsts = new Set<string>()
  private readonly waiting = new Set<string>()
  private readonly held = new Set<string>()

  /** @param isEnded nobody waits for another from then on */
  constructor(isEnded: () => boolean) {
    this.isEnded = isEnded
  }

  /** A batch of a pair is given this mark: its first, or its second. */
  noteMarked(mark: string, isFirst: boolean): void {
    this.waiting.add(mark)
    if (isFirst) this.firsts.add(mark)
  }

  /** Whether it is of a pair, and nobody has worked it off. */
  isWaiting(mark: string): boolean {
    return this.waiting.has(mark)
  }

  /** Whether it is a first that is yet to be held. */
  isToBeHeld(mark: string): boolean {
    return this.firsts.has(mark) && !this.held.has(mark)
  }

  noteWorkedOff(marks: readonly string[]): void {
    for (const mark of marks) this.waiting.delete(mark)
  }

  /** Between what a service has read of batches and what it stores: until they are let go whose first is among them. */
  async hold(marks: readonly string[]): Promise<void> {
    const firsts = marks.filter((mark) => this.firsts.has(mark))
    for (const mark of firsts) this.held.add(mark)
    await this.forAWhile(() => !firsts.some((mark) => this.held.has(mark)))
    for (const mark of firsts) this.held.delete(mark)
  }

  /** Once somebody holds one of these, or worked all of them off without. */
  untilHeld(firsts: readonly string[]): Promise<void> {
    return this.forAWhile(
      () => firsts.some((mark) => this.held.has(mark)) || !firsts.some((mark) => this.waiting.has(mark)),
    )
  }

  /** Once nobody has the second to work off: whoever holds the first may store what they have read. */
  async letGo(firsts: readonly string[], seconds: readonly string[]): Promise<void> {
    const isWaiting = () => seconds.some((mark) => this.waiting.has(mark))
    await this.forAWhile(() => !isWaiting())
    if (!isWaiting() && firsts.some((mark) => this.held.has(mark))) this.met++
    for (const mark of firsts) {
      this.held.delete(mark)
      this.firsts.delete(mark)
    }
  }

  private async forAWhile(isDone: () => boolean): Promise<void> {
    const deadline = performance.now() + LONGEST_MS
    while (performance.now() < deadline && !isDone() && !this.isEnded()) await sleep(LOOK_EVERY_MS)
  }
}
