import { DomainError } from '../errors/domain-error.ts'
import { type Permission, PERMISSIONS, READ_ACCOUNT } from './api-key.ts'

/** What a key may do and see, and when it expires. */
export interface KeyTerms {
  permissions: readonly Permission[]
  /** The only account that the key may see; null for a key of the whole company. */
  accountId: string | null
  /** Null if the key does not expire. */
  expiresAt: Date | null
}

/** The terms of an operator who runs commands on the machine. An operator may give a key any terms. */
export const OPERATOR_TERMS: KeyTerms = { permissions: PERMISSIONS, accountId: null, expiresAt: null }

/** The terms that a rotation requests. For an undefined field, the new key gets the value of the old key. */
export interface RotationTerms {
  permissions?: readonly Permission[] | undefined
  expiresAt?: Date | null | undefined
}

/** The longest time for which an account key may be valid: it is in a browser, where its user can copy it. */
const ACCOUNT_KEY_DAYS_MAX = 31

/**
 * Checks that the terms of a key fit together: a key of an account may only read that account, and ends soon.
 *
 * @throws DomainError unprocessable
 */
export function requireFitting({ permissions, accountId, expiresAt }: KeyTerms, now: Date): void {
  const readsAccount = permissions.includes(READ_ACCOUNT)
  if (accountId === null) {
    if (readsAccount)
      throw new DomainError('unprocessable', `account_id: is required with the permission ${READ_ACCOUNT}`)
    return
  }
  if (!readsAccount || permissions.length > 1)
    throw new DomainError('unprocessable', `permissions: must be ["${READ_ACCOUNT}"] with account_id`)
  if (expiresAt === null || expiresAt.getTime() - now.getTime() > ACCOUNT_KEY_DAYS_MAX * 86_400_000)
    throw new DomainError(
      'unprocessable',
      `expires_at: a key with account_id must end within ${ACCOUNT_KEY_DAYS_MAX} days from now`,
    )
}

/**
 * Checks that the giver has all permissions that it gives to another key, and does not expire before that key.
 * Otherwise a key that is valid for an hour could make a key that never expires.
 *
 * @throws DomainError forbidden
 */
export function requireGivable(giver: KeyTerms, wanted: KeyTerms): void {
  // A key that reads all accounts can let others read one of them.
  const given = giver.permissions.includes('read:all')
    ? [...giver.permissions, READ_ACCOUNT]
    : giver.permissions
  const missing = without(wanted.permissions, given)
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
 * expires with the old key, unless another time is requested. In both cases it must not expire after the giver. It has
 * the account of the old key.
 *
 * @param giver the terms of the key that makes the request
 * @throws DomainError forbidden when the giver has fewer permissions than the old key, or expires before the new key;
 *   unprocessable when more permissions are requested than the old key has
 */
export function termsAfterRotation(giver: KeyTerms, old: KeyTerms, wanted: RotationTerms): KeyTerms {
  const { permissions = old.permissions, expiresAt = old.expiresAt } = wanted
  // The giver needs all permissions of the old key, even if fewer are requested: a key must not replace a key that has
  // more permissions.
  requireGivable(giver, { ...old, expiresAt })
  const gained = without(permissions, old.permissions)
  if (gained.length > 0)
    throw new DomainError(
      'unprocessable',
      `permissions: the key that is rotated does not have ${gained.join(', ')}, and a rotation adds no permissions`,
    )
  return { permissions, accountId: old.accountId, expiresAt }
}

const without = (some: readonly Permission[], others: readonly Permission[]): Permission[] =>
  some.filter((permission) => !others.includes(permission))
