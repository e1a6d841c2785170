import type { Queryable } from './core/pool.ts'

const LIST_EXISTING = `
  SELECT account_id AS id FROM accounts WHERE namespace_id = $1 AND account_id = ANY ($2)
  UNION ALL
  SELECT metric_id FROM metrics WHERE namespace_id = $1 AND metric_id = ANY ($3)`

/** Finds the accounts and metrics that usage events refer to. */
export const referenceRepository = (db: Queryable) => ({
  /** Lists those of the ids that exist in the namespace, archived ones included. It takes one statement. */
  async listExisting(
    namespaceId: string,
    accountIds: readonly string[],
    metricIds: readonly string[],
  ): Promise<string[]> {
    const { rows } = await db.query<{ id: string }>(LIST_EXISTING, [namespaceId, accountIds, metricIds])
    return rows.map(({ id }) => id)
  },
})
