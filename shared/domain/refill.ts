import type { Amount } from '../amount/amount.ts'

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
