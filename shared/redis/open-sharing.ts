import type { Closeable } from '../lifecycle/close-all.ts'
import type { Logger } from '../logging/logger.ts'
import { databaseClock } from '../postgres/database-clock.ts'
import { installationSecret } from '../postgres/installation-secrets.ts'
import type { Pool } from '../postgres/pool.ts'
import type { RedisConfig } from './config.ts'
import { openPurges, type Purges } from './purges.ts'
import { openRedis, type Redis } from './redis.ts'
import { sharedCallers, type SharedCallers } from './shared-callers.ts'
import { sharedReferences, type SharedReferences } from './shared-references.ts'
import { openSigner } from './signed-values.ts'

/** What processes share by way of Redis; what is undefined is not shared, because there is none. */
export interface Sharing {
  redis: Redis | undefined
  purges: Purges
  callers: SharedCallers | undefined
  references: SharedReferences | undefined
}

/**
 * Opens what a process shares with others. Redis may be away, now or later.
 *
 * @param pool of the database that all of them use; what they keep in Redis is signed with a secret from there
 */
export async function openSharing(
  { url, ...config }: RedisConfig,
  pool: Pool,
  opened: Closeable[],
  log: Logger,
): Promise<Sharing> {
  if (url === undefined)
    return { redis: undefined, purges: openPurges(undefined), callers: undefined, references: undefined }
  const redis = await openRedis({ ...config, url }, log.child({ part: 'Redis' }))
  opened.push(redis)
  const signer = openSigner(await installationSecret(pool, SIGNING_SECRET))
  return {
    redis,
    purges: openPurges(redis),
    callers: sharedCallers(redis, signer, databaseClock(pool)),
    references: sharedReferences(redis, signer),
  }
}

/** The name of a row: with another one, processes of two versions would not believe each other. */
const SIGNING_SECRET = 'signs what is kept in Redis'
