import { type KeyTerms, OPERATOR_TERMS } from '../domain/key-terms.ts'
import { DomainError } from '../errors/domain-error.ts'
import type { LockedApiKey } from '../postgres/api-keys.ts'

/**
 * The key that gives, rotates or revokes keys: a key of the company by its id. Null: an operator, who may give
 * everything.
 */
export type GiverId = string | null

/**
 * The terms of a giver now, not when its request arrived: a key that was revoked since gives nothing any more.
 *
 * @param locked the keys that are locked until the transaction ends, including the giver's
 * @throws DomainError unauthenticated when it may not be used any more
 */
export function termsOfGiver(giver: GiverId, locked: ReadonlyMap<string, LockedApiKey>): KeyTerms {
  if (giver === null) return OPERATOR_TERMS
  const key = locked.get(giver)
  if (key?.isUsable !== true) throw new DomainError('unauthenticated', 'Invalid API key')
  return key
}

/** The ids of the keys to lock. */
export const idsOf = (...ids: GiverId[]): string[] => ids.filter((id) => id !== null)
