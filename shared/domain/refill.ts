import type { Amount } from '../amount/amount.ts'

/**
 * Says when an account's balance of a metric is refilled, and up to which balance. There is at most one configuration
 * for each account and metric.
 */
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

/** An automatic refill, and the values that it was computed from. */
export interface Refill {
  accountId: string
  metricId: string
  /** 1 for the first refill of a configuration, 2 for the next. */
  occurrence: bigint
  /** The grant that the refill created. */
  grantId: string
  /** The configuration's values at the time of the refill. */
  minimumBalance: Amount
  targetBalance: Amount
  /** The sum of the grants in force at effectiveAt, and all usage that was stored. */
  grantTotal: Amount
  usageTotal: Amount
  /** The amount of the grant: the difference between the balance and the target. */
  amount: Amount
  effectiveAt: Date
  createdAt: Date
}
