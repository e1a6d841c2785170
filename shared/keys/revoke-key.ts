import { apiKeyRepository, type LockedApiKey } from '../postgres/api-keys.ts'
import { auditTrailRepository } from '../postgres/audit-trail.ts'
import type { PoolClient } from '../postgres/core/pool.ts'
import { type GiverId, idsOf, termsOfGiver } from './giver.ts'

/** A key that was revoked, and whether it had been before. */
export interface RevokedKey {
  key: LockedApiKey
  wasRevoked: boolean
}

/**
 * Ends a key for good, whatever it may do and whoever asks: a key in the wrong hands must not wait. Within a
 * transaction in a namespace of the company. Also the last key that manages keys: operators can always issue another.
 *
 * @returns undefined when the company has no such key
 * @throws DomainError unauthenticated when the key of whoever asks ended meanwhile
 */
export async function revokeKey(
  db: PoolClient,
  giver: GiverId,
  companyId: string,
  keyId: string,
): Promise<RevokedKey | undefined> {
  const keys = apiKeyRepository(db)
  const locked = await keys.lock(companyId, idsOf(giver, keyId))
  const before = locked.get(keyId)
  // Once more with the same key is harmless: its answer may have been lost.
  if (giver !== keyId) termsOfGiver(giver, locked)
  const key = await keys.revoke(companyId, keyId)
  if (before === undefined || key === undefined) return undefined
  await auditTrailRepository(db).insert({
    companyId,
    keyId: giver,
    action: 'api_key.revoked',
    resourceId: keyId,
    changes: {},
  })
  return { key, wasRevoked: before.revokedAt !== null }
}
