import { type KeyTerms, OPERATOR_TERMS } from '../domain/key-terms.ts'
import { DomainError } from '../errors/domain-error.ts'
import type { LockedApiKey } from '../postgres/api-keys.ts'

/**
 * The id of the key that gives, rotates or revokes another key; null for an operator, who may give any permission. The
 * giver's key is of the same company.
 */
export type GiverId = string | null

/**
 * The present terms of a giver. They may differ from its terms when the request arrived: a key that was revoked in the
 * meantime must not give anything.
 *
 * @param locked the keys that are locked until the transaction ends, including the giver's
 * @throws DomainError unauthenticated when the giver's key may not be used any more
 */
export function termsOfGiver(giver: GiverId, locked: ReadonlyMap<string, LockedApiKey>): KeyTerms {
  if (giver === null) return OPERATOR_TERMS
  const key = locked.get(giver)
  if (key?.isUsable !== true) throw new DomainError('unauthenticated', 'Invalid API key')
  return key
}

/** The ids of the keys to lock. */
export const idsOf = (...ids: GiverId[]): string[] => ids.filter((id) => id !== null)
