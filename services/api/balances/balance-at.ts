import type { AccountSumsReader } from '../../../shared/clickhouse/usage/account-sums.ts'
import { type Balance, balanceOf } from '../../../shared/domain/balance.ts'
import type { UsageSource } from '../../../shared/domain/usage-source.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { BatchedReads } from '../../../shared/postgres/batched-reads.ts'

export type BalanceAt = (
  namespaceId: string,
  accountId: string,
  source: UsageSource,
  now: Date,
) => Promise<Balance>

/**
 * The balance of one account and source: grants in force now minus all usage ever. Both are read at the same time.
 *
 * @throws DomainError not_found when there is no such account or metric
 */
export function balanceAt(
  { sumGrants }: Pick<BatchedReads, 'sumGrants'>,
  usage: Pick<AccountSumsReader, 'sumByAccount'>,
): BalanceAt {
  return async (namespaceId, accountId, source, now) => {
    const [granted, used] = await Promise.all([
      sumGrants({ namespaceId, accountId, source, at: now }),
      usage.sumByAccount(namespaceId, [accountId]), // reads all sources, because they are cached together
    ])
    if (!granted.hasAccount) throw new DomainError('not_found', `no account ${accountId}`)
    if (!granted.hasSource) throw new DomainError('not_found', `no metric ${source}`)
    return balanceOf(accountId, source, granted.total, used.get(accountId)?.get(source))
  }
}
