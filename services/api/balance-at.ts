import { ZERO, type Amount } from '../../shared/amount/amount.ts'
import { balanceOf, type Balance } from '../../shared/domain/balance.ts'
import type { UsageSource } from '../../shared/domain/usage-event.ts'
import { isMetric } from '../../shared/domain/resources.ts'
import { DomainError } from '../../shared/errors/domain-error.ts'
import { accountRepository } from '../../shared/postgres/accounts.ts'
import { grantRepository } from '../../shared/postgres/grants.ts'
import { metricRepository } from '../../shared/postgres/metrics.ts'
import type { Pool } from '../../shared/postgres/pool.ts'
import { inNamespace } from '../../shared/postgres/transaction.ts'
import type { UsageReader } from '../../shared/clickhouse/usage-reader.ts'

export type BalanceAt = (
  namespaceId: string,
  accountId: string,
  source: UsageSource,
  now: Date,
) => Promise<Balance>

/**
 * The balance of one account and source: grants in force now minus all usage ever, fetched side by side.
 *
 * @throws DomainError not_found when there is no such account or metric
 */
export function balanceAt(pool: Pool, usage: Pick<UsageReader, 'sumByAccount'>): BalanceAt {
  return async (namespaceId, accountId, source, now) => {
    const [grantTotal, used] = await Promise.all([
      sumGrants(pool, namespaceId, accountId, source, now),
      usage.sumByAccount(namespaceId, [accountId]), // of all sources: what is closed of them is remembered
    ])
    return balanceOf(accountId, source, grantTotal, used.get(accountId)?.get(source) ?? ZERO)
  }
}

function sumGrants(
  pool: Pool,
  namespaceId: string,
  accountId: string,
  source: UsageSource,
  now: Date,
): Promise<Amount> {
  return inNamespace(pool, namespaceId, async (db) => {
    if ((await accountRepository(db).find(namespaceId, accountId)) === undefined)
      throw new DomainError('not_found', `no account ${accountId}`)
    if (isMetric(source) && (await metricRepository(db).listByIds(namespaceId, [source])).length === 0)
      throw new DomainError('not_found', `no metric ${source}`)
    return grantRepository(db).sumInForce(namespaceId, accountId, source, now)
  })
}
