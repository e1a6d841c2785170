import type { Amount } from '../amount/amount.ts'
import type { UsageSource } from './usage-source.ts'

/** Credit of an account for one metric or currency. */
export interface Grant {
  id: string
  accountId: string
  source: UsageSource
  amount: Amount
  description: string | null
  contractId: string | null
  effectiveAt: Date
  expiresAt: Date | null
  acceptedAt: Date
  createdAt: Date
  updatedAt: Date
  voidedAt: Date | null
  archivedAt: Date | null
}

export type GrantStatus = 'active' | 'scheduled' | 'voided' | 'archived' | 'expired'

/**
 * The status of a grant at an instant. Voiding and archiving take precedence over expiry, and expiry takes precedence
 * over the start.
 */
export function grantStatus(grant: Grant, now: Date): GrantStatus {
  if (grant.voidedAt !== null) return 'voided'
  if (grant.archivedAt !== null) return 'archived'
  if (grant.expiresAt !== null && now >= grant.expiresAt) return 'expired'
  return now < grant.effectiveAt ? 'scheduled' : 'active'
}
