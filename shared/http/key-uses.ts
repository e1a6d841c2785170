import { setTimeout as sleep } from 'node:timers/promises'
import type { Closeable } from '../lifecycle/close-all.ts'
import type { Logger } from '../logging/logger.ts'

/** Records in the database when keys were last used. */
export interface KeyUses extends Closeable {
  note(keyId: string): void
}

const EVERY_MS = 60_000
/** The maximum number of keys of one round. Further keys are recorded in a later round, if they are used again. */
const KEYS_MAX = 10_000
/** Closing waits at most this long, because the database may be out of reach. */
const LAST_ROUND_MS = 1_000

/**
 * Writes at intervals which keys were used since the last round, all in one write. So a request only adds an entry to a
 * map, and does not wait. After a failed round, the next round writes its keys, too.
 *
 * @param write gets the milliseconds since each key was last used, by its id
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
      log.warn({ err, keys: round.size }, 'could not record which keys were used')
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
