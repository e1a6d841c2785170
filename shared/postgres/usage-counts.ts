import type { Micros } from '../time/microsecond-clock.ts'
import type { Queryable } from './core/pool.ts'

/** The number of events of a namespace in a month, when they were last counted. */
export interface UsageCount {
  namespaceId: string
  /** The month in UTC, such as 202609. */
  month: number
  /** The number of events that were accepted before countedBefore. */
  events: number
  countedBefore: Micros
  /** How many of these events the latest count did not find. */
  missing: number
}

/** A summary of the last counts for all companies. `missing` is the number of lost events. */
interface CountSummary {
  missing: number
  /** The months with missing events, in order. */
  months: number[]
  /** The age of the oldest count of a month; undefined when no month was ever counted. */
  ageS: number | undefined
}

interface CountRow {
  namespace_id: string
  month: number
  events: string
  counted_before: string
  missing: string
}

const LIST = `
  SELECT c.namespace_id, c.month, c.events, c.counted_before, c.missing
  FROM usage_counts c JOIN namespaces n ON n.namespace_id = c.namespace_id AND n.retired_at IS NULL`
const SUMMARY = `
  SELECT coalesce(sum(c.missing), 0)::text AS missing,
    coalesce(array_agg(DISTINCT c.month ORDER BY c.month) FILTER (WHERE c.missing > 0), '{}') AS months,
    extract(epoch FROM clock_timestamp() - min(c.counted_at))::float8 AS age_s
  FROM usage_counts c JOIN namespaces n ON n.namespace_id = c.namespace_id AND n.retired_at IS NULL`
// The stored number of events never decreases. While events are missing it does not change. Otherwise the loss would be
// forgotten.
const SAVE = `
  INSERT INTO usage_counts AS c (namespace_id, month, events, counted_before, counted_at, missing)
  SELECT $1, month, events, before, clock_timestamp(), missing
  FROM unnest($2::integer[], $3::bigint[], $4::bigint[], $5::bigint[]) AS counted (month, events, before, missing)
  WHERE EXISTS (SELECT 1 FROM namespaces WHERE namespace_id = $1 AND retired_at IS NULL)
  ON CONFLICT (namespace_id, month) DO UPDATE SET counted_at = excluded.counted_at, missing = excluded.missing,
    events = CASE WHEN excluded.missing = 0 THEN greatest(c.events, excluded.events) ELSE c.events END,
    counted_before =
      CASE WHEN excluded.missing = 0 THEN greatest(c.counted_before, excluded.counted_before) ELSE c.counted_before END`

/** The counts of every company, without those of reset namespaces. It needs a transaction of inEveryNamespace. */
export const everyUsageCountRepository = (db: Queryable) => ({
  async list(): Promise<UsageCount[]> {
    const { rows } = await db.query<CountRow>(LIST)
    return rows.map((row) => ({
      namespaceId: row.namespace_id,
      month: row.month,
      events: Number(row.events),
      countedBefore: Number(row.counted_before),
      missing: Number(row.missing),
    }))
  },

  async summarise(): Promise<CountSummary> {
    const { rows } = await db.query<{ missing: string; months: number[]; age_s: number | null }>(SUMMARY)
    const [row] = rows
    return {
      missing: Number(row?.missing ?? 0),
      months: row?.months ?? [],
      ageS: row?.age_s ?? undefined,
    }
  },
})

export const usageCountRepository = (db: Queryable) => ({
  /** Stores counts, within inNamespace. It does nothing for a namespace that was reset or does not exist. */
  async save(namespaceId: string, counts: readonly Omit<UsageCount, 'namespaceId'>[]): Promise<void> {
    await db.query(SAVE, [
      namespaceId,
      counts.map(({ month }) => month),
      counts.map(({ events }) => events),
      counts.map(({ countedBefore }) => countedBefore),
      counts.map(({ missing }) => missing),
    ])
  },
})
