import { type Micros, MICROS_PER_MS } from '../time/microsecond-clock.ts'
import type { Queryable } from './core/pool.ts'
import { CLOCK_STEP_MICROS } from './gateways.ts'

interface LookedRow {
  now: string
  reached: string
  /** Null where there is no gateway. */
  gateway_id: string | null
  lowest: string
  renewed_at: string
  counts: boolean
  counts_for_ms: number
}

// Without parameters, the statement's time is earlier than its snapshot. So a gateway that is not in the snapshot
// begins after that time.
const LOOK = `
  SELECT (extract(epoch FROM statement_timestamp()) * 1000000)::bigint AS now, reached_acceptance() AS reached,
    gateway_id, lowest_accepted_at AS lowest, renewed_at::text, counts_until > statement_timestamp() AS counts,
    (extract(epoch FROM counts_until - renewed_at) * 1000)::float8 AS counts_for_ms
  FROM (SELECT) AS one LEFT JOIN gateways ON true`

/**
 * Returns a function that reads a time before which no gateway will append another event: the lowest time in the rows
 * that count. If no row counts, it is now, or the time that acceptances have reached if that is later. A gateway that
 * begins later accepts nothing before that time.
 *
 * The database's clock decides whether a row counts. A row also counts if this process has seen its renewal recently,
 * by a clock that is never set. Otherwise, when the database's clock is ahead for a moment, no row would count,
 * although gateways still accept events. So a process that has just started waits for each row that it finds.
 *
 * @param looksOnce whether the caller reads the time once, and cannot wait. Then the database's clock alone decides
 */
export function lowestUnderWayIn(
  db: Queryable,
  {
    looksOnce = false,
    wallMs = Date.now,
    monotonicMs = () => performance.now(),
  }: { looksOnce?: boolean; wallMs?: () => number; monotonicMs?: () => number } = {},
): () => Promise<Micros> {
  let seen = new Map<string, { renewedAt: string; ms: number }>()
  return async () => {
    const { rows } = await db.query<LookedRow>({ name: 'lowest-under-way', text: LOOK, values: [] })
    const ms = monotonicMs()
    const still = new Map<string, { renewedAt: string; ms: number }>()
    let lowest = Infinity
    for (const { gateway_id: id, lowest: own, renewed_at: renewedAt, counts, counts_for_ms: forMs } of rows) {
      if (id === null) continue
      const before = seen.get(id)
      const since = before?.renewedAt === renewedAt ? before : { renewedAt, ms }
      still.set(id, since)
      if (counts || (!looksOnce && ms - since.ms < forMs)) lowest = Math.min(lowest, Number(own))
    }
    seen = still
    const now = Math.min(Number(rows[0]?.now), wallMs() * MICROS_PER_MS)
    const bound = lowest === Infinity ? Math.max(now, Number(rows[0]?.reached)) : lowest
    return bound - CLOCK_STEP_MICROS
  }
}
