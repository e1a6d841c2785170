import type { Amount } from '../amount/amount.ts'
import type { UsageSource } from './usage-event.ts'

/** A customer of one of our companies; accounts may belong to one. */
export interface Customer {
  id: string
  name: string
  externalId: string | null
  paymentsCustomerId: string | null
  accountingCustomerId: string | null
  createdAt: Date
  updatedAt: Date
}

/** What usage is reported against and credit is granted to. */
export interface Account {
  id: string
  externalId: string | null
  customerId: string | null
  name: string
  description: string | null
  createdAt: Date
  updatedAt: Date
  archivedAt: Date | null
}

/** What usage is measured in. */
export interface Metric {
  id: string
  name: string
  description: string
  measurementUnits: string
  createdAt: Date
  updatedAt: Date
  archivedAt: Date | null
}

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

/** What a grant is at an instant: voiding and archiving go before expiry, expiry before the start. */
export function grantStatus(grant: Grant, now: Date): GrantStatus {
  if (grant.voidedAt !== null) return 'voided'
  if (grant.archivedAt !== null) return 'archived'
  if (grant.expiresAt !== null && now >= grant.expiresAt) return 'expired'
  return now < grant.effectiveAt ? 'scheduled' : 'active'
}

/** When and how far an account's balance of a metric is refilled; there is at most one for each pair. */
export interface RefillConfiguration {
  accountId: string
  metricId: string
  minimumBalance: Amount
  /** Greater than minimumBalance. */
  targetBalance: Amount
  isActive: boolean
  createdAt: Date
  updatedAt: Date
}

/** An automatic refill that was made, and what it was computed from. */
export interface Refill {
  accountId: string
  metricId: string
  /** The first of a configuration is 1, the next one 2. */
  occurrence: bigint
  /** The grant that it is. */
  grantId: string
  /** What the configuration said then. */
  minimumBalance: Amount
  targetBalance: Amount
  /** The grants in force at effectiveAt, and all usage that was stored. */
  grantTotal: Amount
  usageTotal: Amount
  /** What was missing to the target. */
  amount: Amount
  effectiveAt: Date
  createdAt: Date
}

/** Whether a usage source is a metric; otherwise it is a currency. */
export const isMetric = (source: UsageSource): boolean => source.startsWith('metric_')
