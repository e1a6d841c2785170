import { type Micros, MICROS_PER_SECOND } from '../time/microsecond-clock.ts'
import type { PoolClient } from './core/pool.ts'
import { CLOCK_DIFFERENCE_MAX_MICROS, CLOCK_STEP_MICROS } from './gateways.ts'

/**
 * An event has the time of a gateway's clock. The time at which a correction was sent is of the database's clock. The
 * two clocks may differ by this much.
 */
const SENT_MARGIN_MICROS = CLOCK_STEP_MICROS + CLOCK_DIFFERENCE_MAX_MICROS

// Without parameters, the statement's time is earlier than its snapshot. So a transaction that is not in the snapshot
// begins after that time.
const LOWEST_UNDER_WAY = `
  SELECT (extract(epoch FROM least(statement_timestamp(), (
    SELECT min(xact_start) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()))) * 1000000)::bigint AS lowest`
const LOWEST_UNLOADED = `
  SELECT min(corrected_at) AS lowest FROM event_revisions
  WHERE namespace_id = $1 AND revision > 0 AND (sent_at IS NULL OR sent_at >= to_timestamp($2))`
/** As LOWEST_UNLOADED, of all namespaces: each has its place in the index. */
const LOWEST_UNLOADED_ANYWHERE = `
  SELECT min(of_one.lowest) AS lowest FROM namespaces CROSS JOIN LATERAL (
    SELECT min(corrected_at) AS lowest FROM event_revisions
    WHERE event_revisions.namespace_id = namespaces.namespace_id
      AND revision > 0 AND (sent_at IS NULL OR sent_at >= to_timestamp($1))) AS of_one`

/**
 * Finds the time up to which all events, corrections, grants and voidings of a namespace can be read. From now on, this
 * transaction can read all of it in PostgreSQL, and any process can read it in ClickHouse. Nothing that arrives later
 * has an earlier time.
 *
 * @see docs/decisions/0021-what-was-known-is-for-good.md
 * @param db a transaction in the namespace. It must see rows that are committed after it began (READ COMMITTED)
 * @param loadedUpTo a time; all events accepted before it are loaded; see listedUpToOf
 */
export const completeUpTo = (db: PoolClient, namespaceId: string, loadedUpTo: Micros): Promise<Micros> =>
  lowestOf(db, loadedUpTo, (sentFrom) => lowest(db, LOWEST_UNLOADED, [namespaceId, sentFrom]))

/**
 * Finds the time up to which all events and corrections of all namespaces can be read in ClickHouse. Nothing that
 * arrives later has an earlier time.
 *
 * @param db a transaction in every namespace. It must see rows that are committed after it began (READ COMMITTED)
 * @param loadedUpTo as that of completeUpTo
 */
export const usageCompleteUpTo = (db: PoolClient, loadedUpTo: Micros): Promise<Micros> =>
  lowestOf(db, loadedUpTo, (sentFrom) => lowest(db, LOWEST_UNLOADED_ANYWHERE, [sentFrom]))

async function lowestOf(
  db: PoolClient,
  loadedUpTo: Micros,
  lowestUnloaded: (sentFrom: number) => Promise<number>,
): Promise<Micros> {
  // The order of these reads matters: a correction moves from its transaction to the unsent corrections, then to the
  // log, and is then loaded.
  const underWay = await lowest(db, LOWEST_UNDER_WAY)
  const unloaded = await lowestUnloaded((loadedUpTo - SENT_MARGIN_MICROS) / MICROS_PER_SECOND)
  return Math.min(loadedUpTo, underWay - CLOCK_STEP_MICROS, unloaded)
}

async function lowest(db: PoolClient, text: string, values?: unknown[]): Promise<Micros> {
  const { rows } = await db.query<{ lowest: string | null }>(text, values)
  return Number(rows[0]?.lowest ?? Infinity)
}
