import { setTimeout as sleep } from 'node:timers/promises'
import { type ClickHouse, queryRows } from '../clickhouse.ts'

// Found by their columns, so that a table added later is not forgotten; views hold no rows. Rollups come last: a
// rollup that is computed in the meantime finds no events any more.
const TABLES = `
  SELECT t.name AS name FROM system.tables AS t
  WHERE t.database = currentDatabase() AND t.engine LIKE '%MergeTree'
    AND t.name IN (SELECT table FROM system.columns WHERE database = currentDatabase() AND name = 'namespace_id')
  ORDER BY startsWith(t.name, 'usage_by_'), t.name`
const PARTITIONS = (table: string) => `
  SELECT DISTINCT _partition_id AS id FROM ${table} WHERE namespace_id IN {namespaceIds:Array(String)} ORDER BY id`
// Only in one partition: the parts of all others stay as they are. The partition is part of the statement's text:
// DELETE takes no parameter there.
const DELETE_IN = (table: string, partition: string) => `
  DELETE FROM ${table} IN PARTITION ID '${partition}' WHERE namespace_id IN {namespaceIds:Array(String)}
  SETTINGS lightweight_deletes_sync = 0`
const UNDER_WAY = `
  SELECT count() AS count, anyIf(latest_fail_reason, latest_fail_reason != '') AS reason FROM system.mutations
  WHERE database = currentDatabase() AND table = {table:String} AND NOT is_done`

const NAME = /^[A-Za-z_]\w*$/
/** Values with dashes between them: `1-202611`. */
const PARTITION_ID = /^[\w-]+$/
const POLL_MS = 20

/** Deletes all rows of these namespaces in ClickHouse. */
export type DeleteNamespaces = (namespaceIds: readonly string[], signal: AbortSignal) => Promise<void>

/**
 * Deletes all rows of namespaces in every table that has a namespace_id. It does nothing where there are no such
 * rows. Checking costs little where the sorting key begins with the namespace, or with one of a few epochs or kinds
 * before it. Where slots come first, a column of the last days is read. It handles one partition after the other:
 * each deletion writes a mask beside the parts of its partition, and waits for the one before. The signal ends it
 * early, between two steps.
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

/** Polls, because a deletion goes on by itself and a query that waits for it could not be given up. */
async function untilDone(client: ClickHouse, table: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const [left] = await queryRows<{ count: string; reason: string }>(client, UNDER_WAY, { table })
    if (left === undefined || Number(left.count) === 0) return
    if (left.reason !== '') throw new Error(`a deletion in ${table} makes no progress: ${left.reason}`)
    await sleep(POLL_MS, undefined, { signal })
  }
}

/** The names are ClickHouse's own; still, none goes into a statement unchecked. */
function requireLike(pattern: RegExp, name: string): void {
  if (!pattern.test(name)) throw new Error(`not a name of ClickHouse: ${name}`)
}
