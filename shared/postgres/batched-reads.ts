import type { Amount } from '../amount/amount.ts'
import { type BatchedRead, type Batching, batchReads } from '../batching/batch-reads.ts'
import type { Account } from '../domain/account.ts'
import { type AccountKey, nameOfAccount } from '../domain/account-key.ts'
import type { UsageSource } from '../domain/usage-source.ts'
import { findAccounts } from './accounts.ts'
import type { Pool } from './core/pool.ts'
import { type GrantsKey, type GrantSum, sumGrants, sumGrantsBySource } from './grants.ts'
import { listActiveMetricIds } from './metrics.ts'

/** Reads of resources that may share a statement with other reads that arrive at the same time, for any company. */
export interface BatchedReads {
  /** The account, undefined when there is none. */
  findAccount: BatchedRead<AccountKey, Account | undefined>
  /** The sum of grants of one source, and whether the account and the metric exist. */
  sumGrants: BatchedRead<GrantsKey & { source: UsageSource }, GrantSum>
  /** The sums of grants by every source that was ever granted; undefined when there is no such account. */
  sumGrantsBySource: BatchedRead<GrantsKey, ReadonlyMap<UsageSource, Amount> | undefined>
  /** The ids of metrics of a namespace that are not archived, in order of creation. */
  listActiveMetricIds: BatchedRead<string, string[]>
}

/**
 * Small enough that a statement stays far below its time limit, even where accounts have tens of thousands of grants.
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
