import { addAmounts, type Amount, subtractAmounts, ZERO } from '../amount/amount.ts'
import type { UsageSource } from './usage-source.ts'

/** The grants and the usage of an account, for one source, and their difference. */
export interface Balance {
  accountId: string
  source: UsageSource
  grantTotal: Amount
  usageTotal: Amount
  balance: Amount
}

/** Sums by source; a source without an entry has the sum 0. */
export type SumsBySource = ReadonlyMap<UsageSource, Amount>

/** Sums by account, and by source. */
export type SumsByAccount = ReadonlyMap<string, SumsBySource>

export const NO_SUMS: SumsBySource = new Map()

/** Adds two sets of sums, source by source. */
export function addSums(some: SumsBySource, more: SumsBySource = NO_SUMS): SumsBySource {
  const total = new Map(some)
  for (const [source, sum] of more) total.set(source, addAmounts(total.get(source) ?? ZERO, sum))
  return total
}

/**
 * Computes a balance. This is the only place where usage is subtracted from grants.
 *
 * @param grantTotal the sum of the grants in force; 0 by default
 * @param usageTotal the sum of all usage ever; 0 by default
 */
export const balanceOf = (
  accountId: string,
  source: UsageSource,
  grantTotal: Amount = ZERO,
  usageTotal: Amount = ZERO,
): Balance => ({
  accountId,
  source,
  grantTotal,
  usageTotal,
  balance: subtractAmounts(grantTotal, usageTotal),
})

/** Computes the balance of an account and source from the sums of several accounts. */
export const balanceIn = (
  granted: SumsByAccount,
  used: SumsByAccount,
  accountId: string,
  source: UsageSource,
): Balance =>
  balanceOf(accountId, source, granted.get(accountId)?.get(source), used.get(accountId)?.get(source))
