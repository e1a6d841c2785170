import type { Amount } from '../amount/amount.ts'
import { type BatchedRead, type Batching, batchReads } from '../batching/batch-reads.ts'
import type { Account } from '../domain/account.ts'
import { type AccountKey, nameOfAccount } from '../domain/account-key.ts'
import type { UsageSource } from '../domain/usage-source.ts'
import { findAccounts } from './accounts.ts'
import type { Pool } from './core/pool.ts'
import { type GrantsKey, type GrantSum, sumGrants, sumGrantsBySource } from './grants.ts'
import { listActiveMetricIds } from './metrics.ts'

/**
 * Reads of resources. A read may share a statement with other reads that arrive at the same time, even of other
 * companies.
 */
export interface BatchedReads {
  /** Finds the account; undefined when there is none. */
  findAccount: BatchedRead<AccountKey, Account | undefined>
  /** Sums the grants of one source, and finds whether the account and the metric exist. */
  sumGrants: BatchedRead<GrantsKey & { source: UsageSource }, GrantSum>
  /** Sums the grants by every source that was ever granted; undefined when there is no such account. */
  sumGrantsBySource: BatchedRead<GrantsKey, ReadonlyMap<UsageSource, Amount> | undefined>
  /** Lists the ids of a namespace's metrics that are not archived, in order of creation. */
  listActiveMetricIds: BatchedRead<string, string[]>
}

/**
 * A batch is so small that its statement stays far below its time limit, even when accounts have tens of thousands of
 * grants.
 */
const BATCHING: Batching = { atMost: 100, atOnce: 2, slowAfterMs: 50 }

export const batchedReads = (pool: Pool): BatchedReads => ({
  findAccount: batchReads(nameOfAccount, (keys) => findAccounts(pool, keys), BATCHING),
  sumGrants: batchReads(
    (key) => `${nameOfGrants(key)} ${key.source}`,
    (keys) => sumGrants(pool, keys),
    BATCHING,
  ),
  sumGrantsBySource: batchReads(nameOfGrants, (keys) => sumGrantsBySource(pool, keys), BATCHING),
  listActiveMetricIds: batchReads(
    (namespaceId) => namespaceId,
    (namespaceIds) => listActiveMetricIds(pool, namespaceIds),
    BATCHING,
  ),
})

const nameOfGrants = (key: GrantsKey): string => `${nameOfAccount(key)} ${key.at.getTime()}`
