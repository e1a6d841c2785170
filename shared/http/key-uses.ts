import { setTimeout as sleep } from 'node:timers/promises'
import type { Closeable } from '../lifecycle/close-all.ts'
import type { Logger } from '../logging/logger.ts'

/** Remembers which keys were used. */
export interface KeyUses extends Closeable {
  note(keyId: string): void
}

const EVERY_MS = 60_000
/** Keys beyond this many in one round are noted in the next, if they are used then. */
const KEYS_MAX = 10_000
/** An end does not wait for a database that is away. */
const LAST_ROUND_MS = 1_000

/**
 * Writes down now and then which keys were used since, all of them at once: a request costs an entry in a map, and
 * waits for nothing. What cannot be written is tried again in the next round.
 *
 * @param write is told how many milliseconds ago each key was last used, by their ids
 */
export function keyUses(
  write: (ages: ReadonlyMap<string, number>) => Promise<void>,
  log: Logger,
  everyMs = EVERY_MS,
): KeyUses {
  let used = new Map<string, number>()
  const note = (keyId: string, at: number) => {
    if (used.size < KEYS_MAX || used.has(keyId)) used.set(keyId, at)
  }
  const flush = async () => {
    if (used.size === 0) return
    const round = used
    used = new Map()
    const now = performance.now()
    try {
      await write(new Map(Array.from(round, ([keyId, at]) => [keyId, now - at])))
    } catch (err) {
      log.warn({ err, keys: round.size }, 'could not note which keys were used')
      for (const [keyId, at] of round) if (!used.has(keyId)) note(keyId, at)
    }
  }
  const timer = setInterval(() => void flush(), everyMs).unref()
  return {
    name: 'uses of keys',
    note: (keyId) => {
      note(keyId, performance.now())
    },
    async close() {
      clearInterval(timer)
      await Promise.race([flush(), sleep(LAST_ROUND_MS, undefined, { ref: false })])
    },
  }
}
