import { type BatchedRead, type Batching, batchReads } from '../batching/batch-reads.ts'
import type { Caller, FoundCaller } from '../domain/api-key.ts'
import type { Closeable } from '../lifecycle/close-all.ts'
import type { Logger } from '../logging/logger.ts'
import { apiKeyRepository } from '../postgres/api-keys.ts'
import type { Pool } from '../postgres/core/pool.ts'
import type { TestWorlds } from '../postgres/test-worlds.ts'
import type { RateLimitConfig } from '../rate-limit/config.ts'
import { openRateLimits, type RateLimits } from '../rate-limit/rate-limits.ts'
import type { Sharing } from '../redis/open-sharing.ts'
import { cachedFindCaller, type FindCaller } from './authentication.ts'
import { type KeyUses, keyUses } from './key-uses.ts'

/** The callers, their worlds and their limits. Every HTTP service needs these for a request. */
export interface Access {
  findCaller: FindCaller
  worlds: TestWorlds
  limits: RateLimits
}

/**
 * Keys that are not cached are looked up together. So a flood of wrong keys takes only one or two of the connections
 * that reports need.
 */
const LOOK_UPS: Batching = { atMost: 500, atOnce: 2, slowAfterMs: 1_000 }

/**
 * Looks callers up in the database.
 *
 * @internal
 */
export const lookUpCallers = (pool: Pool): BatchedRead<Buffer, FoundCaller | undefined> =>
  batchReads(
    (digest) => digest.toString('hex'),
    (digests) => apiKeyRepository(pool).findCallers(digests),
    LOOK_UPS,
  )

export interface AccessParts {
  /** The pool for looking up keys. */
  pool: Pool
  worlds: TestWorlds
  sharing: Sharing
}

/** @param opened the recorder of key uses is added here. The pool must be in the list already */
export function openAccess(
  { pool, worlds, sharing: { redis, purges } }: AccessParts,
  rateLimits: RateLimitConfig,
  opened: Closeable[],
  log: Logger,
): Access {
  const keys = apiKeyRepository(pool)
  const uses = keyUses((ages) => keys.noteUses(ages), log)
  opened.push(uses)
  return {
    findCaller: noting(uses, cachedFindCaller(lookUpCallers(pool), purges)),
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
