import { type KeyTerms, OPERATOR_TERMS } from '../domain/key-terms.ts'
import { DomainError } from '../errors/domain-error.ts'
import type { LockedApiKey } from '../postgres/api-keys.ts'

/**
 * Who gives keys, rotates and revokes them: a key of the company by its id, or null: an operator, who may give
 * everything.
 */
export type GiverId = string | null

/**
 * What a giver has to give, now and not when its request came in: a key that was revoked since gives nothing any more.
 *
 * @param locked the keys that are locked until the transaction ends, the giver's among them
 * @throws DomainError unauthenticated when it may not be used any more
 */
export function termsOfGiver(giver: GiverId, locked: ReadonlyMap<string, LockedApiKey>): KeyTerms {
  if (giver === null) return OPERATOR_TERMS
  const key = locked.get(giver)
  if (key?.isUsable !== true) throw new DomainError('unauthenticated', 'Invalid API key')
  return key
}

/** The ids of those that are to be locked. */
export const idsOf = (...ids: GiverId[]): string[] => ids.filter((id) => id !== null)
