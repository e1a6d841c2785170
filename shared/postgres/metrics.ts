import type { Changes } from '../domain/changes.ts'
import type { Metric } from '../domain/metric.ts'
import type { PageRequest } from '../domain/page.ts'
import { isCurrencyType } from '../domain/usage-source.ts'
import { DomainError } from '../errors/domain-error.ts'
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
import { lockCreation } from './locks/creation-lock.ts'

export type NewMetric = Pick<Metric, 'id' | 'externalId' | 'name' | 'description' | 'measurementUnits'> &
  Partial<Pick<Metric, 'eventType' | 'eventQuantity'>>

const METRICS: ResourceTable<Metric> = {
  name: 'metrics',
  noun: 'metric',
  columns: {
    id: 'metric_id',
    externalId: 'external_id',
    name: 'name',
    description: 'description',
    measurementUnits: 'measurement_units',
    eventType: 'event_type',
    eventQuantity: 'event_quantity',
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

/** The maximum number of metrics with one event type, so that few events come of a CloudEvent. */
const METRICS_OF_TYPE_MAX = 8

const OTHERS_OF_TYPE = `
  SELECT count(*)::int AS others FROM metrics WHERE namespace_id = $1 AND event_type = $2 AND metric_id <> $3`

/**
 * Checks that a metric may have this event type. Archived metrics count, too, so that each of them can be unarchived.
 * The lock makes two changes at the same time wait for each other.
 *
 * @throws DomainError unprocessable
 */
async function requireTypeFree(
  db: Queryable,
  namespaceId: string,
  metricId: string,
  eventType: string | null | undefined,
): Promise<void> {
  if (eventType == null) return
  if (isCurrencyType(eventType))
    throw new DomainError('unprocessable', `event_type: ${eventType} means usage in a currency`)
  await lockCreation(db, METRICS.name, namespaceId)
  const { rows } = await db.query<{ others: number }>(OTHERS_OF_TYPE, [namespaceId, eventType, metricId])
  if ((rows[0]?.others ?? 0) >= METRICS_OF_TYPE_MAX)
    throw new DomainError(
      'unprocessable',
      `event_type: ${METRICS_OF_TYPE_MAX} other metrics have it, archived ones included, and no more may`,
    )
}

export const metricRepository = (db: Queryable) => ({
  ...findingAndArchiving(db, METRICS),

  findByExternalId: (namespaceId: string, externalId: string) =>
    findByExternalId(db, METRICS, namespaceId, externalId),

  /**
   * Inserts a metric, within a transaction.
   *
   * @throws DomainError conflict when another metric has the external id; unprocessable when it may not have its event
   *   type
   */
  async insert(namespaceId: string, metric: NewMetric): Promise<Metric> {
    await requireTypeFree(db, namespaceId, metric.id, metric.eventType)
    return insertInOrder(db, METRICS, namespaceId, metric)
  },

  /**
   * Changes a metric, within a transaction.
   *
   * @throws DomainError unprocessable when another metric has the external id, or it may not have the event type
   */
  async update(
    namespaceId: string,
    metricId: string,
    changes: Changes<Omit<NewMetric, 'id'>>,
  ): Promise<Metric | undefined> {
    await requireTypeFree(db, namespaceId, metricId, changes.eventType)
    return updateRow(db, METRICS, namespaceId, metricId, changes)
  },

  /** Lists the metrics with these ids, in order of creation. Unknown ids are absent. */
  listByIds: (namespaceId: string, metricIds: readonly string[]) =>
    listRowsByIds(db, METRICS, namespaceId, metricIds),

  list: (namespaceId: string, page: PageRequest) => listRows(db, METRICS, namespaceId, {}, page),
})
