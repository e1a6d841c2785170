import type { Amount } from '../amount/amount.ts'

/** When an account's balance of a metric is refilled, and up to what; there is at most one for each pair. */
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

/** An automatic refill, and what it was computed from. */
export interface Refill {
  accountId: string
  metricId: string
  /** 1 for the first refill of a configuration, 2 for the next. */
  occurrence: bigint
  /** The grant that the refill made. */
  grantId: string
  /** The configuration's values at that time. */
  minimumBalance: Amount
  targetBalance: Amount
  /** The sum of the grants in force at effectiveAt, and all usage that was stored. */
  grantTotal: Amount
  usageTotal: Amount
  /** What was missing to reach the target. */
  amount: Amount
  effectiveAt: Date
  createdAt: Date
}
