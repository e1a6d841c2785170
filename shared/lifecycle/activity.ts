import { loggableError } from '../logging/loggable-error.ts'

/** Work that makes no progress, in a form for the log. */
export interface Trouble {
  activity: string
  /** Milliseconds without a successful attempt although there was something to do. */
  failingMs: number
  /** Milliseconds since the last success; undefined before the first. */
  succeededMsAgo: number | undefined
  /** Why the last attempt failed; undefined when none has failed since the last success. */
  err: unknown
}

/** Tracks work that must succeed again and again. An attempt that hangs counts as failing. */
export class Activity {
  private readonly name: string
  private tryingSince: number | undefined
  /** When the current attempt began. */
  private attemptedAt: number | undefined
  private succeededAt: number | undefined
  private failure: unknown

  constructor(name: string) {
    this.name = name
  }

  /** Makes one attempt. */
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

  /** Whether one attempt has lasted this long: a failed attempt is repeated, but an attempt that never ends is not. */
  isStuck(forMs: number): boolean {
    return this.attemptedAt !== undefined && performance.now() - this.attemptedAt > forMs
  }

  /** What is wrong, when no attempt has succeeded for this long. */
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
