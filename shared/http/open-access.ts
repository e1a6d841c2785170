import { apiKeyRepository } from '../postgres/api-keys.ts'
import type { Pool } from '../postgres/pool.ts'
import type { RateLimitConfig } from '../rate-limit/config.ts'
import { openRateLimits, type RateLimits } from '../rate-limit/rate-limits.ts'
import { cachedFindCaller, type FindCaller } from './authentication.ts'

/** Who may come in, and how often: what every HTTP service asks of a caller. */
export interface Access {
  findCaller: FindCaller
  limits: RateLimits
}

export const openAccess = (pool: Pool, rateLimits: RateLimitConfig): Access => ({
  findCaller: cachedFindCaller((digest) => apiKeyRepository(pool).findCaller(digest)),
  limits: openRateLimits(rateLimits),
})
