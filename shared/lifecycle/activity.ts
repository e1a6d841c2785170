import { loggableError } from '../logging/loggable-error.ts'

/** Work that makes no progress, in a form for the log. */
export interface Trouble {
  activity: string
  /** Milliseconds in which attempts were made and none succeeded. */
  failingMs: number
  /** Milliseconds since the last success; undefined before the first. */
  succeededMsAgo: number | undefined
  /** The error of the last failed attempt; undefined when no attempt has failed since the last success. */
  err: unknown
}

/** Tracks work that is repeated and must succeed. An attempt that hangs counts as failing. */
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

  /** Whether the current attempt has lasted this long. A failed attempt is repeated; one that never ends is not. */
  isStuck(forMs: number): boolean {
    return this.attemptedAt !== undefined && performance.now() - this.attemptedAt > forMs
  }

  /** The trouble, if attempts have been made for this long and none has succeeded. */
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
