import { type ClickHouse, queryRows } from '../clickhouse.ts'
import { EPOCH_IN_USE } from './rollup-state.ts'

/** Accounts that have used something recently. */
export interface RecentlyUsed {
  namespaceId: string
  /** In order, as they lie in the rollups: neighbours are read together at a fraction of what others cost. */
  accountIds: string[]
}

const USED_FOR_S = 86_400

// Rows that were replaced are counted too: which accounts come first is all that matters.
const RECENTLY_USED = `
  SELECT namespace_id, arraySort(groupArray(account_id)) AS account_ids FROM (
    SELECT namespace_id, account_id, sum(count) AS events FROM usage_by_slot
    WHERE epoch = (SELECT epoch FROM (${EPOCH_IN_USE})) AND slot >= now() - ${USED_FOR_S}
    GROUP BY namespace_id, account_id ORDER BY events DESC, namespace_id, account_id LIMIT {limit:UInt32})
  GROUP BY namespace_id ORDER BY sum(events) DESC, namespace_id SETTINGS max_threads = 1`

/**
 * Accounts with usage of the last day that is closed, by namespace, the one with most events first; none while there
 * are no rollups.
 *
 * @param limit of all together: those with most events
 */
export async function listRecentlyUsed(client: ClickHouse, limit: number): Promise<RecentlyUsed[]> {
  const rows = await queryRows<{ namespace_id: string; account_ids: string[] }>(client, RECENTLY_USED, {
    limit,
  })
  return rows.map((row) => ({ namespaceId: row.namespace_id, accountIds: row.account_ids }))
}
