import { ZERO, type Amount } from '../../shared/amount/amount.ts'
import { balanceOf, type Balance } from '../../shared/domain/balance.ts'
import { isMetric } from '../../shared/domain/resources.ts'
import type { UsageSource } from '../../shared/domain/usage-event.ts'
import { DomainError } from '../../shared/errors/domain-error.ts'
import { grantRepository } from '../../shared/postgres/grants.ts'
import { metricRepository } from '../../shared/postgres/metrics.ts'
import type { Pool } from '../../shared/postgres/pool.ts'
import { inNamespace } from '../../shared/postgres/transaction.ts'
import type { UsageReader } from '../../shared/clickhouse/usage-reader.ts'

export type BalancesOf = (namespaceId: string, accountIds: readonly string[], now: Date) => Promise<Balance[]>

type SumsByAccount = ReadonlyMap<string, ReadonlyMap<UsageSource, Amount>>

/**
 * The balances of several accounts: for each account in the order given one for every active metric, in order of creation,
 * then one for every currency it was ever granted, by code. Two queries to PostgreSQL and a fixed number to ClickHouse, however many
 * accounts and metrics there are.
 *
 * @throws DomainError not_found when one of the accounts does not exist
 */
export function balancesOf(pool: Pool, usage: UsageReader): BalancesOf {
  return async (namespaceId, accountIds, now) => {
    const [{ metricIds, granted }, used] = await Promise.all([
      readGrants(pool, namespaceId, accountIds, now),
      usage.sumByAccount(namespaceId, accountIds),
    ])
    return mergeBalances(accountIds, metricIds, granted, used)
  }
}

function readGrants(pool: Pool, namespaceId: string, accountIds: readonly string[], now: Date) {
  return inNamespace(pool, namespaceId, async (db) => {
    const granted = await grantRepository(db).sumInForceByAccount(namespaceId, accountIds, now)
    for (const id of accountIds) if (!granted.has(id)) throw new DomainError('not_found', `no account ${id}`)
    return { metricIds: await metricRepository(db).listActiveIds(namespaceId), granted }
  })
}

function mergeBalances(
  accountIds: readonly string[],
  metricIds: readonly string[],
  granted: SumsByAccount,
  used: SumsByAccount,
): Balance[] {
  return accountIds.flatMap((accountId) => {
    const grants = granted.get(accountId)
    const usage = used.get(accountId)
    const currencies = [...(grants?.keys() ?? [])].filter((source) => !isMetric(source)).sort()
    return [...metricIds, ...currencies].map((source) =>
      balanceOf(accountId, source, grants?.get(source) ?? ZERO, usage?.get(source) ?? ZERO),
    )
  })
}
