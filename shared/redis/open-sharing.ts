import type { Closeable } from '../lifecycle/close-all.ts'
import type { Logger } from '../logging/logger.ts'
import type { RedisConfig } from './config.ts'
import { openPurges, type Purges } from './purges.ts'
import { openRedis, type Redis } from './redis.ts'

/** The means by which processes share limits and purges through Redis. */
export interface Sharing {
  /** Undefined without Redis. Then each process counts alone. */
  redis: Redis | undefined
  purges: Purges
}

/** Connects a process to Redis, if there is one. Redis may be out of reach, now or later. */
export async function openSharing(
  { url, ...config }: RedisConfig,
  opened: Closeable[],
  log: Logger,
): Promise<Sharing> {
  if (url === undefined) return { redis: undefined, purges: openPurges(undefined) }
  const redis = await openRedis({ ...config, url }, log.child({ part: 'Redis' }))
  opened.push(redis)
  return { redis, purges: openPurges(redis) }
}
