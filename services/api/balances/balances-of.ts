import type { AccountSumsReader } from '../../../shared/clickhouse/usage/account-sums.ts'
import { type Balance, balanceIn, type SumsByAccount } from '../../../shared/domain/balance.ts'
import { isMetric } from '../../../shared/domain/usage-source.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { BatchedReads } from '../../../shared/postgres/batched-reads.ts'

/** @param awaitTurn is called once, after everything is read and before the balances are computed */
export type BalancesOf = (
  namespaceId: string,
  accountIds: readonly string[],
  now: Date,
  awaitTurn: () => Promise<void>,
) => Promise<Balance[]>

/**
 * The balances of several accounts, in the order given. Each account has a balance for every active metric, in order of
 * creation, and then one for every currency in which it was ever granted credit, sorted by code. A page of accounts
 * takes two queries to PostgreSQL and a fixed number to ClickHouse. Other requests may share these queries.
 *
 * @throws DomainError not_found when one of the accounts does not exist
 */
export function balancesOf(
  { sumGrantsBySource, listActiveMetricIds }: Pick<BatchedReads, 'sumGrantsBySource' | 'listActiveMetricIds'>,
  usage: Pick<AccountSumsReader, 'sumByAccount'>,
): BalancesOf {
  const readGrants = async (namespaceId: string, accountId: string, at: Date) => {
    const granted = await sumGrantsBySource({ namespaceId, accountId, at })
    if (granted === undefined) throw new DomainError('not_found', `no account ${accountId}`)
    return [accountId, granted] as const
  }
  return async (namespaceId, accountIds, now, awaitTurn) => {
    const [metricIds, granted, used] = await Promise.all([
      listActiveMetricIds(namespaceId),
      Promise.all(accountIds.map((accountId) => readGrants(namespaceId, accountId, now))),
      usage.sumByAccount(namespaceId, accountIds),
    ])
    await awaitTurn()
    return mergeBalances(accountIds, metricIds, new Map(granted), used)
  }
}

function mergeBalances(
  accountIds: readonly string[],
  metricIds: readonly string[],
  granted: SumsByAccount,
  used: SumsByAccount,
): Balance[] {
  return accountIds.flatMap((accountId) => {
    const currencies = [...(granted.get(accountId)?.keys() ?? [])]
      .filter((source) => !isMetric(source))
      .sort()
    return [...metricIds, ...currencies].map((source) => balanceIn(granted, used, accountId, source))
  })
}
