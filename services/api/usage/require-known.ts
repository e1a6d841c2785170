import { isMetric, type UsageSource } from '../../../shared/domain/usage-source.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { BatchedReads } from '../../../shared/postgres/batched-reads.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { metricRepository } from '../../../shared/postgres/metrics.ts'
import { getAccount } from '../accounts/get-account.ts'

export type RequireKnown = (
  namespaceId: string,
  named: { accountId?: string | undefined; source: UsageSource },
) => Promise<void>

/**
 * Checks that the account and the metric of a request exist. Every currency exists.
 *
 * @throws DomainError not_found when there is no such account or metric
 */
export function requireKnown(pool: Pool, { findAccount }: Pick<BatchedReads, 'findAccount'>): RequireKnown {
  const requireMetric = async (namespaceId: string, metricId: string) => {
    const found = await inNamespace(pool, namespaceId, (db) =>
      metricRepository(db).find(namespaceId, metricId),
    )
    if (found === undefined) throw new DomainError('not_found', `no metric ${metricId}`)
  }
  return async (namespaceId, { accountId, source }) => {
    await Promise.all([
      ...(accountId === undefined ? [] : [getAccount(findAccount, { namespaceId, accountId })]),
      ...(isMetric(source) ? [requireMetric(namespaceId, source)] : []),
    ])
  }
}
