import type { Metric } from '../domain/resources.ts'
import { takeCreationTurn } from './creation-turn.ts'
import { pageOf, unknownCursor, type Page, type PageRequest } from './page.ts'
import type { Queryable } from './pool.ts'

export type NewMetric = Pick<Metric, 'id' | 'name' | 'description' | 'measurementUnits'>

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
const LIST_BY_IDS = `
  SELECT ${COLUMNS} FROM metrics WHERE namespace_id = $1 AND metric_id = ANY ($2) ORDER BY created_at, metric_id`
const LIST_ACTIVE_IDS = `
  SELECT metric_id FROM metrics WHERE namespace_id = $1 AND archived_at IS NULL ORDER BY created_at, metric_id`
const LIST_FIRST = `
  SELECT ${COLUMNS} FROM metrics WHERE namespace_id = $1 ORDER BY created_at, metric_id LIMIT $2`
const LIST_NEXT = `
  SELECT ${COLUMNS} FROM metrics WHERE namespace_id = $1
    AND (created_at, metric_id) > (SELECT created_at, metric_id FROM metrics WHERE namespace_id = $1 AND metric_id = $3)
  ORDER BY created_at, metric_id LIMIT $2`

export const metricRepository = (db: Queryable) => ({
  /** Within a transaction: metrics of a namespace are made one after the other, so that a list can be kept up with. */
  async insert(namespaceId: string, metric: NewMetric): Promise<Metric> {
    await takeCreationTurn(db, 'metrics', namespaceId)
    const { id, name, description, measurementUnits } = metric
    const { rows } = await db.query<MetricRow>(INSERT, [namespaceId, id, name, description, measurementUnits])
    return rows.map(metricFromRow)[0] as Metric
  },

  /** The metrics of these ids, in order of creation; ids that are none are absent. */
  async listByIds(namespaceId: string, metricIds: readonly string[]): Promise<Metric[]> {
    const { rows } = await db.query<MetricRow>(LIST_BY_IDS, [namespaceId, metricIds])
    return rows.map(metricFromRow)
  },

  /** The ids of all metrics that are not archived, in order of creation. */
  async listActiveIds(namespaceId: string): Promise<string[]> {
    const { rows } = await db.query<{ metric_id: string }>(LIST_ACTIVE_IDS, [namespaceId])
    return rows.map((row) => row.metric_id)
  },

  /** In order of creation. @throws DomainError malformed when startingAfter is no metric of the namespace */
  async list(namespaceId: string, { limit, startingAfter }: PageRequest): Promise<Page<Metric>> {
    if (startingAfter === undefined) {
      const { rows } = await db.query<MetricRow>(LIST_FIRST, [namespaceId, limit + 1])
      return pageOf(rows.map(metricFromRow), limit)
    }
    if ((await this.listByIds(namespaceId, [startingAfter])).length === 0) throw unknownCursor()
    const { rows } = await db.query<MetricRow>(LIST_NEXT, [namespaceId, limit + 1, startingAfter])
    return pageOf(rows.map(metricFromRow), limit)
  },
})

const metricFromRow = (row: MetricRow): Metric => ({
  id: row.metric_id,
  name: row.name,
  description: row.description,
  measurementUnits: row.measurement_units,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  archivedAt: row.archived_at,
})
