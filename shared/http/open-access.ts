import { apiKeyRepository } from '../postgres/api-keys.ts'
import type { Pool } from '../postgres/pool.ts'
import type { TestWorlds } from '../postgres/test-worlds.ts'
import type { RateLimitConfig } from '../rate-limit/config.ts'
import { openRateLimits, type RateLimits } from '../rate-limit/rate-limits.ts'
import type { Sharing } from '../redis/open-sharing.ts'
import { cachedFindCaller, type FindCaller } from './authentication.ts'

/** Who may come in, where to, and how often: what every HTTP service asks of a caller. */
export interface Access {
  findCaller: FindCaller
  worlds: TestWorlds
  limits: RateLimits
}

export const openAccess = (
  pool: Pool,
  worlds: TestWorlds,
  rateLimits: RateLimitConfig,
  { redis, purges, callers: shared }: Sharing,
): Access => ({
  findCaller: cachedFindCaller((digest) => apiKeyRepository(pool).findCaller(digest), { purges, shared }),
  worlds,
  limits: openRateLimits(rateLimits, redis),
})
