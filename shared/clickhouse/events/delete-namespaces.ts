import { setTimeout as sleep } from 'node:timers/promises'
import { type ClickHouse, queryRows } from '../clickhouse.ts'

// The tables are found by their columns, so that a table added later is not forgotten. Views are left out, because they
// store no rows. Rollups are deleted last: a rollup that is computed in the meantime finds no events any more.
const TABLES = `
  SELECT t.name AS name FROM system.tables AS t
  WHERE t.database = currentDatabase() AND t.engine LIKE '%MergeTree'
    AND t.name IN (SELECT table FROM system.columns WHERE database = currentDatabase() AND name = 'namespace_id')
  ORDER BY startsWith(t.name, 'usage_by_'), t.name`
const PARTITIONS = (table: string) => `
  SELECT DISTINCT _partition_id AS id FROM ${table} WHERE namespace_id IN {namespaceIds:Array(String)} ORDER BY id`
// Deletes in one partition only, so that the parts of all other partitions are not changed. The partition is written
// into the statement, because DELETE takes no parameter for it.
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
 * Deletes all rows of namespaces in every table that has a namespace_id. A table without such rows is not changed. The
 * search for such rows is cheap in tables whose sorting key begins with the namespace, or with an epoch or a kind,
 * because these have few values. One table has the slot before the namespace in its key. It has only the slots of the
 * last days, and the search reads one of its columns. Partitions are handled one after the other: each deletion writes
 * a mask beside the parts of its partition, and waits for the deletion before it. The signal stops the work between two
 * steps.
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

/**
 * Waits by polling. ClickHouse runs a deletion in the background, and a query that waits for it cannot be cancelled.
 */
async function untilDone(client: ClickHouse, table: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const [left] = await queryRows<{ count: string; reason: string }>(client, UNDER_WAY, { table })
    if (left === undefined || Number(left.count) === 0) return
    if (left.reason !== '') throw new Error(`a deletion in ${table} makes no progress: ${left.reason}`)
    await sleep(POLL_MS, undefined, { signal })
  }
}

/** The names come from ClickHouse itself, but each is checked before it is written into a statement. */
function requireLike(pattern: RegExp, name: string): void {
  if (!pattern.test(name)) throw new Error(`not a name of ClickHouse: ${name}`)
}
