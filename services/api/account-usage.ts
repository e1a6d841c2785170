import { formatAggregation, type Aggregation } from '../../shared/domain/usage-aggregate.ts'
import { isMetric, type Account, type Metric } from '../../shared/domain/resources.ts'
import type { TimeRange } from '../../shared/domain/time-slot.ts'
import type { UsageSource } from '../../shared/domain/usage-event.ts'
import { DomainError } from '../../shared/errors/domain-error.ts'
import { accountRepository } from '../../shared/postgres/accounts.ts'
import { metricRepository } from '../../shared/postgres/metrics.ts'
import type { Pool } from '../../shared/postgres/pool.ts'
import { inNamespace } from '../../shared/postgres/transaction.ts'
import type { UsageReader } from './usage-reader.ts'

/** What an account used of one source in a range, as one number. */
interface ConsumedSource {
  source: UsageSource
  /** Undefined for a currency. */
  metric: Metric | undefined
  /** Decimal text. */
  quantity: string
}

interface AccountUsage {
  account: Account
  consumed: ConsumedSource[]
}

interface AccountUsageQuery {
  range: TimeRange
  aggregation: Aggregation
  /** Only usage of this currency. */
  currency: string | undefined
}

export type AccountUsageIn = (
  namespaceId: string,
  accountId: string,
  query: AccountUsageQuery,
) => Promise<AccountUsage>

/**
 * The usage of an account in a range: sources with usage, metrics in order of creation, then currencies by code.
 *
 * @throws DomainError not_found when there is no such account, unprocessable when the range does not run forwards
 */
export function accountUsageIn(pool: Pool, usage: UsageReader): AccountUsageIn {
  return async (namespaceId, accountId, { range, aggregation, currency }) => {
    if (range.startAt >= range.endAt) throw new DomainError('unprocessable', 'end_at: must be after start_at')
    const [account, aggregates] = await Promise.all([
      findAccount(pool, namespaceId, accountId),
      usage.aggregateByAccount(namespaceId, accountId, range, currency === undefined ? [] : [currency]),
    ])
    const sources = [...aggregates.keys()]
    const metrics = await listMetrics(pool, namespaceId, sources.filter(isMetric))
    const currencies = sources.filter((source) => !isMetric(source)).sort()
    const ordered = [
      ...metrics.map((metric) => ({ source: metric.id, metric })),
      ...currencies.map((source) => ({ source, metric: undefined })),
    ]
    const consumed = ordered.flatMap(({ source, metric }) => {
      const aggregate = aggregates.get(source)
      return aggregate === undefined
        ? []
        : [{ source, metric, quantity: formatAggregation(aggregate, aggregation) }]
    })
    return { account, consumed }
  }
}

async function findAccount(pool: Pool, namespaceId: string, accountId: string): Promise<Account> {
  const account = await inNamespace(pool, namespaceId, (db) =>
    accountRepository(db).find(namespaceId, accountId),
  )
  if (account === undefined) throw new DomainError('not_found', `no account ${accountId}`)
  return account
}

function listMetrics(pool: Pool, namespaceId: string, ids: readonly string[]): Promise<Metric[]> {
  if (ids.length === 0) return Promise.resolve([])
  return inNamespace(pool, namespaceId, (db) => metricRepository(db).listByIds(namespaceId, ids))
}
