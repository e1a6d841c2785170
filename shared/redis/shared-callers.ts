import type { FoundCaller } from '../domain/api-key.ts'
import type { DatabaseClock } from '../postgres/database-clock.ts'
import { NAMES } from './names.ts'
import type { Redis } from './redis.ts'
import type { Signer } from './signed-values.ts'

/** Whose keys were found by any process within the last seconds. */
export interface SharedCallers {
  /**
   * Whose key this is, as another process found it; else as the database says.
   *
   * @param look asks the database
   * @param believedMs how old an answer may be; a key that ends is believed no longer than it lasts
   * @returns with its age in milliseconds, at the most
   */
  find(
    digest: Buffer,
    look: () => Promise<FoundCaller | undefined>,
    believedMs: (caller: FoundCaller) => number,
  ): Promise<{ caller: FoundCaller | undefined; ageMs: number }>
}

/**
 * Keeps callers in Redis, signed, with the time of the database at which they were looked up. Why that clock: a value that
 * Redis takes late, because it stood still, or that somebody writes there a second time, is as old as its look-up and not
 * as its writing, and the clocks of machines may differ. Keys that were not found are not kept: anybody can make those up.
 */
export function sharedCallers(redis: Redis, signer: Signer, clock: DatabaseClock): SharedCallers {
  const read = async (digest: Buffer, believedMs: (caller: FoundCaller) => number) => {
    const name = NAMES.caller(digest)
    const text = await redis.run((client) => client.get(redis.prefix + name)).catch(() => undefined)
    const dated = typeof text === 'string' ? signer.open(name, text) : undefined
    const now = clock.now()
    if (dated === undefined || now === undefined || dated.asOf > now.latest) return undefined
    const ageMs = now.latest - dated.asOf
    const caller = JSON.parse(dated.value) as FoundCaller
    return ageMs < believedMs(caller) ? { caller, ageMs } : undefined
  }
  const write = (digest: Buffer, caller: FoundCaller, asOf: number, ttlMs: number) => {
    const name = NAMES.caller(digest)
    const text = signer.sign(name, { value: JSON.stringify(caller), asOf })
    redis
      .run((client) => client.set(redis.prefix + name, text, 'PX', Math.ceil(ttlMs)))
      .catch(() => undefined) // then another process looks it up too
  }
  return {
    async find(digest, look, believedMs) {
      const known = await read(digest, believedMs)
      if (known !== undefined) return known
      const startedAt = performance.now()
      const asOf = clock.now()?.earliest
      const caller = await look()
      const ageMs = performance.now() - startedAt
      if (caller === undefined) return { caller, ageMs }
      const leftMs = believedMs(caller) - ageMs
      if (asOf !== undefined && leftMs > 0) write(digest, caller, asOf, leftMs)
      return { caller, ageMs }
    },
  }
}
