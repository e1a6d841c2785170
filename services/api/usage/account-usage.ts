import type { UsageReader } from '../../../shared/clickhouse/usage/usage-aggregates.ts'
import type { Account } from '../../../shared/domain/account.ts'
import type { Metric } from '../../../shared/domain/metric.ts'
import type { TimeRange } from '../../../shared/domain/time-range.ts'
import { formatAggregation, measuresOf } from '../../../shared/domain/usage-aggregate.ts'
import type { UsageSource } from '../../../shared/domain/usage-source.ts'
import type { BatchedReads } from '../../../shared/postgres/batched-reads.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { getAccount } from '../accounts/get-account.ts'
import { orderSources } from './ordered-sources.ts'
import { requireForwards, type UsageQuery } from './usage-query.ts'

/** The usage of one source by an account in a range, as one number. */
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

export type AccountUsageIn = (
  namespaceId: string,
  accountId: string,
  query: UsageQuery & { range: TimeRange },
) => Promise<AccountUsage>

/**
 * The usage of an account in a range, for each source with usage. Metrics come first in order of creation, then
 * currencies by code.
 *
 * @throws DomainError not_found when there is no such account, unprocessable when the range is empty or reversed
 */
export function accountUsageIn(
  pool: Pool,
  { findAccount }: Pick<BatchedReads, 'findAccount'>,
  usage: UsageReader,
): AccountUsageIn {
  return async (namespaceId, accountId, { range, aggregation, currency }) => {
    requireForwards(range)
    const [account, aggregates] = await Promise.all([
      getAccount(findAccount, { namespaceId, accountId }),
      usage.aggregate(namespaceId, { accountId, range, source: currency, measures: measuresOf(aggregation) }),
    ])
    const sources = await orderSources(pool, namespaceId, aggregates.keys())
    const consumed = sources.flatMap(({ source, metric }) => {
      const aggregate = aggregates.get(source)
      return aggregate === undefined
        ? []
        : [{ source, metric, quantity: formatAggregation(aggregate, aggregation) }]
    })
    return { account, consumed }
  }
}
