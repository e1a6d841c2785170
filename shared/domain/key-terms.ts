import { DomainError } from '../errors/domain-error.ts'
import { type Permission, PERMISSIONS } from './api-key.ts'

/** The permissions of a key, and when it expires. */
export interface KeyTerms {
  permissions: readonly Permission[]
  /** Null if the key does not expire. */
  expiresAt: Date | null
}

/** The terms of an operator who runs commands on the machine. An operator may give a key any terms. */
export const OPERATOR_TERMS: KeyTerms = { permissions: PERMISSIONS, expiresAt: null }

/** The terms that a rotation requests. For an undefined field, the new key gets the value of the old key. */
export interface RotationTerms {
  permissions?: readonly Permission[] | undefined
  expiresAt?: Date | null | undefined
}

/**
 * Checks that the giver has all permissions that it gives to another key, and does not expire before that key.
 * Otherwise a key that is valid for an hour could make a key that never expires.
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
 * The terms of the key that replaces an old key. It gets no permission that the old key or the giver does not have. It
 * expires with the old key, unless another time is requested. In both cases it must not expire after the giver.
 *
 * @param giver the terms of the key that makes the request
 * @throws DomainError forbidden when the giver has fewer permissions than the old key, or expires before the new key;
 *   unprocessable when more permissions are requested than the old key has
 */
export function termsAfterRotation(giver: KeyTerms, old: KeyTerms, wanted: RotationTerms): KeyTerms {
  const { permissions = old.permissions, expiresAt = old.expiresAt } = wanted
  // The giver needs all permissions of the old key, even if fewer are requested: a key must not replace a key that has
  // more permissions.
  requireGivable(giver, { permissions: old.permissions, expiresAt })
  const gained = without(permissions, old.permissions)
  if (gained.length > 0)
    throw new DomainError(
      'unprocessable',
      `permissions: the key that is rotated does not have ${gained.join(', ')}, and a rotation adds no permissions`,
    )
  return { permissions, expiresAt }
}

const without = (some: readonly Permission[], others: readonly Permission[]): Permission[] =>
  some.filter((permission) => !others.includes(permission))
