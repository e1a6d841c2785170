import { isUnchanged, type Changes } from '../domain/changes.ts'
import { pageOf, unknownCursor, type Page, type PageRequest } from '../domain/page.ts'
import type { Metric } from '../domain/metric.ts'
import { lockCreation } from './locks/creation-lock.ts'
import { readInIndexOrder } from './core/in-index-order.ts'
import type { Queryable } from './core/pool.ts'
import { setOnce, unset } from './core/set-once.ts'

export type NewMetric = Pick<Metric, 'id' | 'name' | 'description' | 'measurementUnits'>

export type MetricChanges = Changes<Omit<NewMetric, 'id'>>

interface MetricRow {
  metric_id: string
  name: string
  description: string
  measurement_units: string
  created_at: Date
  updated_at: Date
  archived_at: Date | null
}

const COLUMNS = 'metric_id, name, description, measurement_units, created_at, updated_at, archived_at'
const INSERT = `
  INSERT INTO metrics (namespace_id, metric_id, name, description, measurement_units, created_at, updated_at)
  SELECT $1, $2, $3, $4, $5, at, at FROM clock_timestamp() AS at
  RETURNING ${COLUMNS}`
const FIND = `SELECT ${COLUMNS} FROM metrics WHERE namespace_id = $1 AND metric_id = $2`
const UPDATE = `
  UPDATE metrics AS m SET
    (name, description, measurement_units) =
      (SELECT name, description, measurement_units FROM jsonb_populate_record(m, $3)),
    updated_at = clock_timestamp()
  WHERE namespace_id = $1 AND metric_id = $2
  RETURNING ${COLUMNS}`
const ARCHIVE = `
  UPDATE metrics SET ${setOnce('archived_at')}
  WHERE namespace_id = $1 AND metric_id = $2
  RETURNING ${COLUMNS}`
const UNARCHIVE = `
  UPDATE metrics SET ${unset('archived_at')}
  WHERE namespace_id = $1 AND metric_id = $2
  RETURNING ${COLUMNS}`
const LIST_BY_IDS = `
  SELECT ${COLUMNS} FROM metrics WHERE namespace_id = $1 AND metric_id = ANY ($2) ORDER BY created_at, metric_id`
const LIST_FIRST = `
  SELECT ${COLUMNS} FROM metrics WHERE namespace_id = $1 ORDER BY created_at, metric_id LIMIT $2`
const LIST_NEXT = `
  SELECT ${COLUMNS} FROM metrics WHERE namespace_id = $1
    AND (created_at, metric_id) > (SELECT created_at, metric_id FROM metrics WHERE namespace_id = $1 AND metric_id = $3)
  ORDER BY created_at, metric_id LIMIT $2`

/**
 * The ids of the metrics of each namespace that are not archived, in order of creation; in one round trip, outside of a
 * transaction.
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
  /** Within a transaction: metrics of a namespace are made one after the other, so that a list can be kept up with. */
  async insert(namespaceId: string, metric: NewMetric): Promise<Metric> {
    await lockCreation(db, 'metrics', namespaceId)
    const { id, name, description, measurementUnits } = metric
    const { rows } = await db.query<MetricRow>(INSERT, [namespaceId, id, name, description, measurementUnits])
    return rows.map(metricFromRow)[0] as Metric
  },

  find: (namespaceId: string, metricId: string) => findOne(db, FIND, [namespaceId, metricId]),

  /** Changes the fields that are named. @returns the metric, undefined when there is none */
  async update(namespaceId: string, metricId: string, changes: MetricChanges): Promise<Metric | undefined> {
    if (isUnchanged(changes)) return this.find(namespaceId, metricId)
    const { name, description, measurementUnits } = changes
    const columns = { name, description, measurement_units: measurementUnits }
    return findOne(db, UPDATE, [namespaceId, metricId, JSON.stringify(columns)])
  },

  /** Archiving again keeps the first time. @returns the metric, undefined when there is none */
  archive: (namespaceId: string, metricId: string) => findOne(db, ARCHIVE, [namespaceId, metricId]),

  /** @returns the metric, undefined when there is none */
  unarchive: (namespaceId: string, metricId: string) => findOne(db, UNARCHIVE, [namespaceId, metricId]),

  /** The metrics of these ids, in order of creation; ids that are none are absent. */
  async listByIds(namespaceId: string, metricIds: readonly string[]): Promise<Metric[]> {
    const { rows } = await db.query<MetricRow>(LIST_BY_IDS, [namespaceId, metricIds])
    return rows.map(metricFromRow)
  },

  /** In order of creation. @throws DomainError malformed when startingAfter is no metric of the namespace */
  async list(namespaceId: string, { limit, startingAfter }: PageRequest): Promise<Page<Metric>> {
    await readInIndexOrder(db)
    if (startingAfter === undefined) {
      const { rows } = await db.query<MetricRow>(LIST_FIRST, [namespaceId, limit + 1])
      return pageOf(rows.map(metricFromRow), limit)
    }
    if ((await this.find(namespaceId, startingAfter)) === undefined) throw unknownCursor()
    const { rows } = await db.query<MetricRow>(LIST_NEXT, [namespaceId, limit + 1, startingAfter])
    return pageOf(rows.map(metricFromRow), limit)
  },
})

async function findOne(db: Queryable, text: string, values: unknown[]): Promise<Metric | undefined> {
  const { rows } = await db.query<MetricRow>(text, values)
  return rows.map(metricFromRow)[0]
}

const metricFromRow = (row: MetricRow): Metric => ({
  id: row.metric_id,
  name: row.name,
  description: row.description,
  measurementUnits: row.measurement_units,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  archivedAt: row.archived_at,
})
