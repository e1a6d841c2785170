import type { Changes } from '../domain/changes.ts'
import type { Metric } from '../domain/metric.ts'
import type { PageRequest } from '../domain/page.ts'
import type { Queryable } from './core/pool.ts'
import {
  findByExternalId,
  findingAndArchiving,
  insertInOrder,
  listRows,
  listRowsByIds,
  type ResourceTable,
  updateRow,
} from './core/resource-table.ts'

export type NewMetric = Pick<Metric, 'id' | 'externalId' | 'name' | 'description' | 'measurementUnits'>

const METRICS: ResourceTable<Metric> = {
  name: 'metrics',
  noun: 'metric',
  columns: {
    id: 'metric_id',
    externalId: 'external_id',
    name: 'name',
    description: 'description',
    measurementUnits: 'measurement_units',
    createdAt: 'created_at',
    updatedAt: 'updated_at',
    archivedAt: 'archived_at',
  },
}

/**
 * Lists the ids of each namespace's metrics that are not archived, in order of creation. It takes one round trip,
 * outside of a transaction.
 */
export async function listActiveMetricIds(
  db: Queryable,
  namespaceIds: readonly string[],
): Promise<string[][]> {
  const { rows } = await db.query<{ metric_ids: string[] }>({
    name: 'active-metrics',
    text: 'SELECT metric_ids FROM active_metrics($1) ORDER BY nth',
    values: [namespaceIds],
  })
  return rows.map((row) => row.metric_ids)
}

export const metricRepository = (db: Queryable) => ({
  ...findingAndArchiving(db, METRICS),

  findByExternalId: (namespaceId: string, externalId: string) =>
    findByExternalId(db, METRICS, namespaceId, externalId),

  /** Inserts a metric, within a transaction. @throws DomainError conflict when another metric has the external id */
  insert: (namespaceId: string, metric: NewMetric) => insertInOrder(db, METRICS, namespaceId, metric),

  /** @throws DomainError unprocessable when another metric has the external id */
  update: (namespaceId: string, metricId: string, changes: Changes<Omit<NewMetric, 'id'>>) =>
    updateRow(db, METRICS, namespaceId, metricId, changes),

  /** Lists the metrics with these ids, in order of creation. Unknown ids are absent. */
  listByIds: (namespaceId: string, metricIds: readonly string[]) =>
    listRowsByIds(db, METRICS, namespaceId, metricIds),

  list: (namespaceId: string, page: PageRequest) => listRows(db, METRICS, namespaceId, {}, page),
})
