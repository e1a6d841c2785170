import { type Mode, newApiKey } from '../domain/api-key.ts'
import { requireFitting, type RotationTerms, termsAfterRotation } from '../domain/key-terms.ts'
import { DomainError } from '../errors/domain-error.ts'
import { type ApiKey, apiKeyRepository, type KeyEnd, type LockedApiKey } from '../postgres/api-keys.ts'
import { auditTrailRepository } from '../postgres/audit-trail.ts'
import type { PoolClient } from '../postgres/core/pool.ts'
import { type GiverId, idsOf, termsOfGiver } from './giver.ts'
import { endedAlready, insertKey, termsToChanges } from './issue-key.ts'

/** The longest time that a rotated key may still be valid beside its replacement. */
export const OVERLAP_S_MAX = 90 * 86_400

/** A rotation that is to be made. */
export interface WantedRotation extends RotationTerms {
  companyId: string
  keyId: string
  /** That of the company. */
  mode: Mode
  /** When the old key expires, unless it already expires earlier. */
  oldKeyEnd: KeyEnd
}

/** Both keys after a rotation. */
export interface RotatedKey {
  made: ApiKey
  /** The new key itself. */
  secret: string
  old: ApiKey
  /** The old key's digest: its name in caches, from which the caller must remove it. */
  oldDigest: Buffer
}

/**
 * Replaces a key by a new key with the same name and at most the same permissions (termsAfterRotation), and sets when
 * the old key expires. Call it within a transaction in a namespace of the company. A key can be rotated only once. Its
 * row is locked, so of several rotations at the same time only one succeeds.
 *
 * @returns undefined when the company has no such key
 * @throws DomainError conflict when the key was rotated before or is not valid any more; forbidden as in
 *   termsAfterRotation; unprocessable as in termsAfterRotation and requireFitting, or for a time that is out of range; unauthenticated
 *   when the giver's key has expired or was revoked since the request arrived
 */
export async function rotateKey(
  db: PoolClient,
  giver: GiverId,
  wanted: WantedRotation,
): Promise<RotatedKey | undefined> {
  const { companyId, keyId, mode, oldKeyEnd } = wanted
  const keys = apiKeyRepository(db)
  const locked = await keys.lock(companyId, idsOf(giver, keyId))
  const terms = termsOfGiver(giver, locked)
  const found = locked.get(keyId)
  if (found === undefined) return undefined
  requireRotatable(found)
  requireEnd(oldKeyEnd)
  const after = termsAfterRotation(terms, found, wanted)
  requireFitting(after, new Date())
  if (after.expiresAt !== null && after.expiresAt <= new Date()) throw endedAlready()
  const secret = newApiKey(mode, after.accountId !== null)
  const made = await insertKey(db, giver, { companyId, name: found.name, secret, ...after })
  const old = await keys.replace(companyId, keyId, made.id, oldKeyEnd)
  await auditTrailRepository(db).insert({
    companyId,
    keyId: giver,
    action: 'api_key.rotated',
    resourceId: keyId,
    changes: {
      replaced_by: made.id,
      old_key_ends_at: old.expiresAt === null ? null : Math.floor(old.expiresAt.getTime() / 1_000),
      ...termsToChanges(made),
    },
  })
  return { made, secret, old, oldDigest: found.digest }
}

function requireRotatable({ replacedBy, revokedAt, isUsable }: LockedApiKey): void {
  if (revokedAt !== null) throw new DomainError('conflict', 'this key was revoked: issue another')
  if (replacedBy !== null)
    throw new DomainError('conflict', `this key was rotated before: ${replacedBy} took its place`)
  if (!isUsable) throw new DomainError('conflict', 'this key has expired: issue another')
}

function requireEnd(end: KeyEnd): void {
  if (!('at' in end)) return
  const inMs = end.at.getTime() - Date.now()
  if (inMs <= 0)
    throw new DomainError(
      'unprocessable',
      'old_key_ends_at: must lie in the future; overlap_seconds of 0 ends the old key at once',
    )
  if (inMs > OVERLAP_S_MAX * 1_000)
    throw new DomainError(
      'unprocessable',
      `old_key_ends_at: must be within ${OVERLAP_S_MAX / 86_400} days from now`,
    )
}
