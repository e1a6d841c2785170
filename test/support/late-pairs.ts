import { setTimeout as sleep } from 'node:timers/promises'

/** Nobody waits longer for another: who is waited for may have crashed. */
const LONGEST_MS = 8_000
const LOOK_EVERY_MS = 20

/**
 * Steers who meets whom: of two late events of a slot, the second comes while somebody holds what they have read of the first alone, and
 * they store it only once others have worked off the second. Of each batch it knows the mark.
 */
export class LatePairs {
  private readonly first = new Set<string>()
  private readonly waiting = new Set<string>()
  private readonly held = new Set<string>()

  /** A batch of a pair is given this mark: its first, or its second. */
  noteMarked(mark: string, isFirst: boolean): void {
    this.waiting.add(mark)
    if (isFirst) this.first.add(mark)
  }

  /** Whether it is of a pair, and nobody has worked it off. */
  isWaiting(mark: string): boolean {
    return this.waiting.has(mark)
  }

  noteWorkedOff(marks: readonly string[]): void {
    for (const mark of marks) this.waiting.delete(mark)
  }

  /** Between what a service has read of batches and what it stores: until a pair is complete whose first is among them. */
  async hold(marks: readonly string[]): Promise<void> {
    const firsts = marks.filter((mark) => this.first.has(mark))
    for (const mark of firsts) this.held.add(mark)
    if (firsts.length > 0) await forAWhile(() => !firsts.every((mark) => this.held.has(mark)))
    for (const mark of firsts) this.held.delete(mark)
  }

  /** Once somebody holds one of these. */
  untilHeld(firsts: readonly string[]): Promise<void> {
    return forAWhile(() => firsts.some((mark) => this.held.has(mark)))
  }

  /** Once nobody has any of these to work off. */
  untilWorkedOff(seconds: readonly string[]): Promise<void> {
    return forAWhile(() => !seconds.some((mark) => this.waiting.has(mark)))
  }

  letGo(firsts: readonly string[]): void {
    for (const mark of firsts) {
      this.held.delete(mark)
      this.first.delete(mark)
    }
  }
}

async function forAWhile(isDone: () => boolean): Promise<void> {
  for (let leftMs = LONGEST_MS; leftMs > 0 && !isDone(); leftMs -= LOOK_EVERY_MS) await sleep(LOOK_EVERY_MS)
}
