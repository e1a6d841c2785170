import { apiKeyRepository, type LockedApiKey } from '../postgres/api-keys.ts'
import { auditTrailRepository } from '../postgres/audit-trail.ts'
import type { PoolClient } from '../postgres/core/pool.ts'
import { type GiverId, idsOf, termsOfGiver } from './giver.ts'

/** A revoked key, and whether it was already revoked before. */
export interface RevokedKey {
  key: LockedApiKey
  wasRevoked: boolean
}

/**
 * Revokes a key permanently, whatever its permissions are, because a stolen key must be revoked at once. Call it within
 * a transaction in a namespace of the company. The key may be the last key that manages keys, because operators can
 * always issue another key.
 *
 * @param giver the key that makes the request
 * @returns undefined when the company has no such key
 * @throws DomainError unauthenticated when the giver has expired or was revoked since the request arrived
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
  // A key may revoke itself again, because the answer to its first request may have been lost.
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
