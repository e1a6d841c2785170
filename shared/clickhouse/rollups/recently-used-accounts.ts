import { type ClickHouse, queryRows } from '../clickhouse.ts'
import { EPOCH_IN_USE } from './rollup-state.ts'

/** Accounts of a namespace that have used something recently. */
export interface RecentlyUsed {
  namespaceId: string
  /** Sorted by id, like the rollups: accounts next to each other cost less to read together than others. */
  accountIds: string[]
}

const USED_FOR_S = 86_400

// The query has no FINAL, so replaced rows are counted too. That is harmless, because only the order of accounts
// matters.
const RECENTLY_USED = `
  SELECT namespace_id, arraySort(groupArray(account_id)) AS account_ids FROM (
    SELECT namespace_id, account_id, sum(count) AS events FROM usage_by_slot
    WHERE epoch = (SELECT epoch FROM (${EPOCH_IN_USE})) AND slot >= now() - ${USED_FOR_S}
    GROUP BY namespace_id, account_id ORDER BY events DESC, namespace_id, account_id LIMIT {limit:UInt32})
  GROUP BY namespace_id ORDER BY sum(events) DESC, namespace_id SETTINGS max_threads = 1`

/**
 * Lists accounts with usage in closed slots of the last 24 hours. The namespace with most events comes first. The list
 * is empty while there are no rollups.
 *
 * @param limit the maximum number of accounts of all namespaces together; those with most events are listed
 */
export async function listRecentlyUsed(client: ClickHouse, limit: number): Promise<RecentlyUsed[]> {
  const rows = await queryRows<{ namespace_id: string; account_ids: string[] }>(client, RECENTLY_USED, {
    limit,
  })
  return rows.map((row) => ({ namespaceId: row.namespace_id, accountIds: row.account_ids }))
}
