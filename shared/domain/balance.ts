import { subtractAmounts, type Amount } from '../amount/amount.ts'
import type { UsageSource } from './usage-event.ts'

/** What an account was granted and used of one source, and what is left. */
export interface Balance {
  accountId: string
  source: UsageSource
  grantTotal: Amount
  usageTotal: Amount
  balance: Amount
}

/**
 * @param grantTotal the sum of the grants in force
 * @param usageTotal the sum of all usage ever
 */
export const balanceOf = (
  accountId: string,
  source: UsageSource,
  grantTotal: Amount,
  usageTotal: Amount,
): Balance => ({
  accountId,
  source,
  grantTotal,
  usageTotal,
  balance: subtractAmounts(grantTotal, usageTotal),
})
