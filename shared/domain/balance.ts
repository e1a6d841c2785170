import { addAmounts, type Amount, subtractAmounts, ZERO } from '../amount/amount.ts'
import type { UsageSource } from './usage-source.ts'

/** What an account was granted and used of one source, and what is left. */
export interface Balance {
  accountId: string
  source: UsageSource
  grantTotal: Amount
  usageTotal: Amount
  balance: Amount
}

/** Sums by source; what is absent is zero. */
export type SumsBySource = ReadonlyMap<UsageSource, Amount>

/** Sums by account, and by source. */
export type SumsByAccount = ReadonlyMap<string, SumsBySource>

export const NO_SUMS: SumsBySource = new Map()

/** Adds sums of two by source. */
export function addSums(some: SumsBySource, more: SumsBySource = NO_SUMS): SumsBySource {
  const total = new Map(some)
  for (const [source, sum] of more) total.set(source, addAmounts(total.get(source) ?? ZERO, sum))
  return total
}

/**
 * The one place where grants and usage meet.
 *
 * @param grantTotal the sum of the grants in force; of none by default
 * @param usageTotal the sum of all usage ever; of none by default
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

/** The balance of an account and source, out of sums of several accounts. */
export const balanceIn = (
  granted: SumsByAccount,
  used: SumsByAccount,
  accountId: string,
  source: UsageSource,
): Balance =>
  balanceOf(accountId, source, granted.get(accountId)?.get(source), used.get(accountId)?.get(source))
