import type { Closeable } from '../lifecycle/close-all.ts'
import type { Logger } from '../logging/logger.ts'
import type { RedisConfig } from './config.ts'
import { NAMES } from './names.ts'
import { openRedis, type Redis } from './redis.ts'

/**
 * Says what to drop from caches: a value by its name; `missed`, for everything that may have changed, because messages
 * may have been missed; or everything.
 */
type Purge = { name: string } | 'missed' | 'everything'

/**
 * Makes every process that shares a Redis drop values from its caches, at once. In a process that gets no message,
 * cached values expire within seconds.
 */
export interface Purges {
  onPurge(forget: (purge: Purge) => void): void
  /** Never fails, even if Redis is out of reach. */
  purge(name: string): Promise<void>
}

/**
 * The message that an operator publishes after PostgreSQL was restored from a backup, with
 * `redis-cli PUBLISH tally:purges everything`.
 */
const EVERYTHING = 'everything'

/** @param redis undefined if only this process has to be purged */
export function openPurges(redis: Redis | undefined): Purges {
  const listeners: ((purge: Purge) => void)[] = []
  const tell = (purge: Purge) => {
    for (const forget of listeners) forget(purge)
  }
  redis?.listen(
    NAMES.purges,
    (message) => {
      tell(message === EVERYTHING ? EVERYTHING : { name: message })
    },
    () => {
      tell('missed')
    },
  )
  return {
    onPurge(forget) {
      listeners.push(forget)
    },
    async purge(name) {
      tell({ name })
      if (redis !== undefined) await publish(redis, name)
    },
  }
}

/** Opens purges for a process that only sends them. */
export async function openPurger(
  { url, ...config }: RedisConfig,
  opened: Closeable[],
  log: Logger,
): Promise<Pick<Purges, 'purge'>> {
  if (url === undefined) return openPurges(undefined)
  const redis = await openRedis({ ...config, url }, log)
  opened.push(redis)
  return { purge: (name) => publish(redis, name) }
}

async function publish(redis: Redis, name: string): Promise<void> {
  try {
    await redis.run((client) => client.publish(redis.prefix + NAMES.purges, name))
  } catch {
    // Redis is out of reach. The circuit breaker has logged this, and cached values expire within seconds.
  }
}
