import type { Caller } from '../domain/api-key.ts'
import type { Closeable } from '../lifecycle/close-all.ts'
import type { Logger } from '../logging/logger.ts'
import { apiKeyRepository } from '../postgres/api-keys.ts'
import type { Pool } from '../postgres/core/pool.ts'
import type { TestWorlds } from '../postgres/test-worlds.ts'
import type { RateLimitConfig } from '../rate-limit/config.ts'
import { openRateLimits, type RateLimits } from '../rate-limit/rate-limits.ts'
import type { Sharing } from '../redis/open-sharing.ts'
import { cachedFindCaller, type FindCaller } from './authentication.ts'
import { keyUses, type KeyUses } from './key-uses.ts'

/** Who may come in, where to, and how often: what every HTTP service asks of a caller. */
export interface Access {
  findCaller: FindCaller
  worlds: TestWorlds
  limits: RateLimits
}

/** @param opened where what notes the use of keys is entered, after the pool */
export function openAccess(
  pool: Pool,
  worlds: TestWorlds,
  rateLimits: RateLimitConfig,
  { redis, purges }: Sharing,
  opened: Closeable[],
  log: Logger,
): Access {
  const keys = apiKeyRepository(pool)
  const uses = keyUses((ages) => keys.noteUses(ages), log)
  opened.push(uses)
  return {
    findCaller: noting(
      uses,
      cachedFindCaller((digest) => keys.findCaller(digest), purges),
    ),
    worlds,
    limits: openRateLimits(rateLimits, redis),
  }
}

function noting(uses: KeyUses, find: FindCaller): FindCaller {
  const note = (caller: Caller | undefined) => {
    if (caller !== undefined) uses.note(caller.keyId)
    return caller
  }
  return (digest) => {
    const found = find(digest)
    return found instanceof Promise ? found.then(note) : note(found)
  }
}
