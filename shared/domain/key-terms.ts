import { DomainError } from '../errors/domain-error.ts'
import { type Permission, PERMISSIONS } from './api-key.ts'

/** What a key may do, and until when. */
export interface KeyTerms {
  permissions: readonly Permission[]
  /** Null: it does not end by itself. */
  expiresAt: Date | null
}

/** Whoever runs commands on the machine may give everything. */
export const OPERATOR_TERMS: KeyTerms = { permissions: PERMISSIONS, expiresAt: null }

/** What is asked of a rotation; what is undefined stays as the old key has it. */
export interface RotationTerms {
  permissions?: readonly Permission[] | undefined
  expiresAt?: Date | null | undefined
}

/**
 * A key gives only what it has: its own permissions, and no longer than it lasts itself. Otherwise whoever holds a key
 * for an hour could give itself one for ever.
 *
 * @throws DomainError forbidden
 */
export function requireGivable(giver: KeyTerms, wanted: KeyTerms): void {
  const missing = without(wanted.permissions, giver.permissions)
  if (missing.length > 0)
    throw new DomainError(
      'forbidden',
      `permissions: this key does not have ${missing.join(', ')}, and a key gives only what it has`,
    )
  if (giver.expiresAt !== null && (wanted.expiresAt === null || wanted.expiresAt > giver.expiresAt))
    throw new DomainError(
      'forbidden',
      `expires_at: this key ends at ${Math.floor(giver.expiresAt.getTime() / 1_000)}, and gives no key that outlives it`,
    )
}

/**
 * The terms of the key that takes the place of an old one: never more permissions than the old key has, nor than the
 * giver has. Its end is the old key's unless another is asked for, which need only be within the giver's.
 *
 * @param giver the terms of whoever rotates
 * @throws DomainError forbidden when the giver has less than the old key, unprocessable when more is asked than the old
 *   has
 */
export function termsAfterRotation(giver: KeyTerms, old: KeyTerms, wanted: RotationTerms): KeyTerms {
  const { permissions = old.permissions, expiresAt = old.expiresAt } = wanted
  // Also when less is asked for: a key must not replace one that may do more than itself.
  requireGivable(giver, { permissions: old.permissions, expiresAt })
  const gained = without(permissions, old.permissions)
  if (gained.length > 0)
    throw new DomainError(
      'unprocessable',
      `permissions: the key that is rotated does not have ${gained.join(', ')}, and nothing is gained by rotation`,
    )
  return { permissions, expiresAt }
}

const without = (some: readonly Permission[], others: readonly Permission[]): Permission[] =>
  some.filter((permission) => !others.includes(permission))
