import { loggableError } from '../logging/loggable-error.ts'

/** Something that makes no progress; fit for the log. */
export interface Trouble {
  activity: string
  /** For how long no attempt has succeeded, in milliseconds, although there was something to do. */
  failingMs: number
  /** How long ago one last succeeded; undefined before the first. */
  succeededMsAgo: number | undefined
  /** Why the last one failed; undefined while the first one has not come to an end. */
  err: unknown
}

/**
 * Keeps in mind how something that must succeed again and again is getting on. An attempt that hangs counts as failing.
 */
export class Activity {
  private readonly name: string
  private tryingSince: number | undefined
  /** When the attempt under way began. */
  private attemptedAt: number | undefined
  private succeededAt: number | undefined
  private failure: unknown

  constructor(name: string) {
    this.name = name
  }

  /** Carries out one attempt. */
  async attempt<T>(work: () => Promise<T>): Promise<T> {
    this.attemptedAt = performance.now()
    this.tryingSince ??= this.attemptedAt
    try {
      const result = await work()
      this.tryingSince = undefined
      this.succeededAt = performance.now()
      this.failure = undefined
      return result
    } catch (err) {
      this.failure = loggableError(err)
      throw err
    } finally {
      this.attemptedAt = undefined
    }
  }

  /** Whether one attempt has lasted this long: one that fails is tried again, one that never ends is not. */
  isStuck(forMs: number): boolean {
    return this.attemptedAt !== undefined && performance.now() - this.attemptedAt > forMs
  }

  /** What is wrong, when nothing has succeeded for this long. */
  findTrouble(forMs: number): Trouble | undefined {
    const now = performance.now()
    if (this.tryingSince === undefined || now - this.tryingSince < forMs) return undefined
    return {
      activity: this.name,
      failingMs: Math.round(now - this.tryingSince),
      succeededMsAgo: this.succeededAt === undefined ? undefined : Math.round(now - this.succeededAt),
      err: this.failure,
    }
  }
}
