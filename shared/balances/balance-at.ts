import { ZERO, type Amount } from '../amount/amount.ts'
import { balanceOf, type Balance } from '../domain/balance.ts'
import { ALL_TIME } from '../domain/time-slot.ts'
import type { UsageSource } from '../domain/usage-event.ts'
import { isMetric } from '../domain/resources.ts'
import { DomainError } from '../errors/domain-error.ts'
import { accountRepository } from '../postgres/accounts.ts'
import { grantRepository } from '../postgres/grants.ts'
import { metricRepository } from '../postgres/metrics.ts'
import type { Pool } from '../postgres/pool.ts'
import { inNamespace } from '../postgres/transaction.ts'
import type { UsageReader } from './usage-reader.ts'

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
export function balanceAt(pool: Pool, usage: UsageReader): BalanceAt {
  return async (namespaceId, accountId, source, now) => {
    const [grantTotal, used] = await Promise.all([
      sumGrants(pool, namespaceId, accountId, source, now),
      usage.aggregate(namespaceId, { accountId, range: ALL_TIME, source }),
    ])
    return balanceOf(accountId, source, grantTotal, used.get(source)?.sum ?? ZERO)
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
