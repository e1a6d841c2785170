import { digestOfApiKey, lastCharactersOf } from '../domain/api-key.ts'
import { newUuid } from '../domain/ids.ts'
import { type KeyTerms, requireFitting, requireGivable } from '../domain/key-terms.ts'
import { DomainError } from '../errors/domain-error.ts'
import { type ApiKey, apiKeyRepository } from '../postgres/api-keys.ts'
import { auditTrailRepository } from '../postgres/audit-trail.ts'
import type { PoolClient } from '../postgres/core/pool.ts'
import { type GiverId, idsOf, termsOfGiver } from './giver.ts'

/** A key that is to be issued. */
export interface WantedKey extends KeyTerms {
  companyId: string
  name: string
  /** The key itself, made by newApiKey. Only its digest is stored. */
  secret: string
}

/**
 * Stores a new key, which makes it valid, and records its giver. Call it within a transaction in a namespace of the
 * company.
 *
 * @throws DomainError forbidden when the giver lacks a permission of the new key or expires before it; unprocessable
 *   when the new key would already have expired, or its terms do not fit together; unauthenticated when the giver's key
 *   has expired or was revoked since the request arrived
 */
export async function issueKey(db: PoolClient, giver: GiverId, wanted: WantedKey): Promise<ApiKey> {
  const { companyId, name, expiresAt } = wanted
  const locked = await apiKeyRepository(db).lock(companyId, idsOf(giver))
  const terms = termsOfGiver(giver, locked)
  requireFitting(wanted, new Date())
  requireGivable(terms, wanted)
  if (expiresAt !== null && expiresAt <= new Date()) throw endedAlready()
  const made = await insertKey(db, giver, wanted)
  if (made.accountId !== null) await apiKeyRepository(db).deleteEndedAccountKeys(companyId)
  await auditTrailRepository(db).insert({
    companyId,
    keyId: giver,
    action: 'api_key.issued',
    resourceId: made.id,
    changes: { name, ...termsToChanges(made) },
  })
  return made
}

export const endedAlready = (): DomainError =>
  new DomainError('unprocessable', 'expires_at: must lie in the future')

export const insertKey = (db: PoolClient, giver: GiverId, wanted: WantedKey): Promise<ApiKey> =>
  apiKeyRepository(db).insert({
    id: newUuid(),
    companyId: wanted.companyId,
    name: wanted.name,
    digest: digestOfApiKey(wanted.secret),
    lastCharacters: lastCharactersOf(wanted.secret),
    permissions: wanted.permissions,
    accountId: wanted.accountId,
    expiresAt: wanted.expiresAt,
    issuedBy: giver,
  })

/** Terms in the form of the audit trail. */
export const termsToChanges = ({ permissions, accountId, expiresAt }: KeyTerms) => ({
  permissions,
  ...(accountId === null ? {} : { account_id: accountId }),
  expires_at: expiresAt === null ? null : Math.floor(expiresAt.getTime() / 1_000),
})
