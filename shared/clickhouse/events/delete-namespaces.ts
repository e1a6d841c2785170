import { setTimeout as sleep } from 'node:timers/promises'
import { type ClickHouse, queryRows } from '../clickhouse.ts'

// Whichever there are, so that one that is added later cannot be forgotten; views have nothing of their own. Rollups
// come last: who computes some meanwhile finds no events any more.
const TABLES = `
  SELECT t.name AS name FROM system.tables AS t
  WHERE t.database = currentDatabase() AND t.engine LIKE '%MergeTree'
    AND t.name IN (SELECT table FROM system.columns WHERE database = currentDatabase() AND name = 'namespace_id')
  ORDER BY startsWith(t.name, 'usage_by_'), t.name`
const PARTITIONS = (table: string) => `
  SELECT DISTINCT _partition_id AS id FROM ${table} WHERE namespace_id IN {namespaceIds:Array(String)} ORDER BY id`
// Of one partition: the parts of all others stay as they are. A text in the statement: DELETE takes no parameter there.
const DELETE_IN = (table: string, partition: string) => `
  DELETE FROM ${table} IN PARTITION ID '${partition}' WHERE namespace_id IN {namespaceIds:Array(String)}
  SETTINGS lightweight_deletes_sync = 0`
const UNDER_WAY = `
  SELECT count() AS count, anyIf(latest_fail_reason, latest_fail_reason != '') AS reason FROM system.mutations
  WHERE database = currentDatabase() AND table = {table:String} AND NOT is_done`

const NAME = /^[A-Za-z_]\w*$/
/** Of values with a dash between them: `1-202611`. */
const PARTITION_ID = /^[\w-]+$/
const POLL_MS = 20

/** Deletes everything that namespaces have in ClickHouse. */
export type DeleteNamespaces = (namespaceIds: readonly string[], signal: AbortSignal) => Promise<void>

/**
 * Deletes all rows of namespaces, in every table that has a namespace_id. Where there are none nothing is done: the
 * sorting keys begin with the namespace, or with one of a few epochs or kinds before it, so to look costs little; where
 * slots come before it, a column of the last days is read. One partition after the other: each deletion writes a mask
 * beside the parts of its partition, and waits for the one before. Its signal ends it early, between two steps.
 */
export const deleteNamespaces =
  (client: ClickHouse): DeleteNamespaces =>
  async (namespaceIds, signal) => {
    const tables = await queryRows<{ name: string }>(client, TABLES, {})
    for (const { name: table } of tables) {
      requireLike(NAME, table)
      const partitions = await queryRows<{ id: string }>(client, PARTITIONS(table), { namespaceIds })
      for (const { id } of partitions) {
        signal.throwIfAborted()
        requireLike(PARTITION_ID, id)
        await client.command({ query: DELETE_IN(table, id), query_params: { namespaceIds } })
        await untilDone(client, table, signal)
      }
    }
  }

/** A deletion goes on by itself, also when nobody waits for it; a query that waited could not be given up. */
async function untilDone(client: ClickHouse, table: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const [left] = await queryRows<{ count: string; reason: string }>(client, UNDER_WAY, { table })
    if (left === undefined || Number(left.count) === 0) return
    if (left.reason !== '') throw new Error(`a deletion in ${table} makes no progress: ${left.reason}`)
    await sleep(POLL_MS, undefined, { signal })
  }
}

/** Both are ClickHouse's own; still, nothing goes into a statement unseen. */
function requireLike(pattern: RegExp, name: string): void {
  if (!pattern.test(name)) throw new Error(`not a name of ClickHouse: ${name}`)
}
