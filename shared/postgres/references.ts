import type { Queryable } from './core/pool.ts'

const LIST_EXISTING = `
  SELECT account_id AS id FROM accounts WHERE namespace_id = $1 AND account_id = ANY ($2)
  UNION ALL
  SELECT metric_id FROM metrics WHERE namespace_id = $1 AND metric_id = ANY ($3)`

/** A metric that counts CloudEvents. */
export interface CountingMetric {
  id: string
  /** The field of a CloudEvent's data that has the quantity. Null if each CloudEvent counts as 1. */
  eventQuantity: string | null
}

/** What names mean in a namespace. Names without a meaning are absent. */
export interface NamedReferences {
  /** The ids of accounts, by the subjects of CloudEvents. */
  accountIds: Map<string, string>
  /** Metrics in order of creation, by the types of CloudEvents. */
  metrics: Map<string, readonly CountingMetric[]>
}

const LIST_SUBJECTS = `
  SELECT external_id AS subject, account_id AS id FROM accounts WHERE namespace_id = $1 AND external_id = ANY ($2)
  UNION ALL
  SELECT account_id, account_id FROM accounts WHERE namespace_id = $1 AND account_id = ANY ($2)`

const LIST_OF_TYPES = `
  SELECT event_type AS type, metric_id AS id, event_quantity AS "eventQuantity" FROM metrics
  WHERE namespace_id = $1 AND event_type = ANY ($2) AND archived_at IS NULL
  ORDER BY created_at, metric_id`

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

  /**
   * Lists the accounts that subjects of CloudEvents mean, archived ones included, and the metrics that types of
   * CloudEvents mean, without archived ones.
   */
  async listNamed(
    namespaceId: string,
    subjects: readonly string[],
    types: readonly string[],
  ): Promise<NamedReferences> {
    const named: NamedReferences = { accountIds: new Map(), metrics: new Map() }
    if (subjects.length > 0) {
      const { rows } = await db.query<{ subject: string; id: string }>(LIST_SUBJECTS, [namespaceId, subjects])
      // An id means the account with this id, even if it is the external id of another account.
      for (const { subject, id } of rows)
        if (id === subject || !named.accountIds.has(subject)) named.accountIds.set(subject, id)
    }
    if (types.length > 0) {
      const { rows } = await db.query<CountingMetric & { type: string }>(LIST_OF_TYPES, [namespaceId, types])
      for (const { type, ...metric } of rows)
        named.metrics.set(type, [...(named.metrics.get(type) ?? []), metric])
    }
    return named
  },
})
