import { type Micros, MICROS_PER_SECOND } from '../time/microsecond-clock.ts'
import type { PoolClient } from './core/pool.ts'
import { CLOCK_DIFFERENCE_MAX_MICROS, CLOCK_STEP_MICROS } from './gateways.ts'

/**
 * Gateways stamp events by their own clocks, and the database stamps when corrections were sent: by so much the two may
 * differ.
 */
const SENT_MARGIN_MICROS = CLOCK_STEP_MICROS + CLOCK_DIFFERENCE_MAX_MICROS

// No parameters, so that the statement's time is before it looks: a transaction that it does not see begins after that
// time.
const LOWEST_UNDER_WAY = `
  SELECT (extract(epoch FROM least(statement_timestamp(), (
    SELECT min(xact_start) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()))) * 1000000)::bigint AS lowest`
const LOWEST_UNLOADED = `
  SELECT min(corrected_at) AS lowest FROM event_revisions
  WHERE namespace_id = $1 AND revision > 0 AND (sent_at IS NULL OR sent_at >= to_timestamp($2))`

/**
 * Up to when all that was accepted, corrected, granted or voided in a namespace is there: in what this transaction
 * reads from PostgreSQL from now on, and in what anybody reads from ClickHouse afterwards. Nothing that comes later
 * bears an earlier time.
 *
 * @see docs/decisions/0021-what-was-known-is-for-good.md
 * @param db within a transaction in the namespace, which must see what is committed meanwhile (READ COMMITTED)
 * @param loadedUpTo no event accepted before it is still to be loaded, as of some moment that has passed; see
 *   listedUpToOf
 */
export async function completeUpTo(db: PoolClient, namespaceId: string, loadedUpTo: Micros): Promise<Micros> {
  // In this order: a correction passes from its transaction into what is not sent, then into the log, and is loaded.
  const underWay = await lowest(db, LOWEST_UNDER_WAY)
  const sentFrom = (loadedUpTo - SENT_MARGIN_MICROS) / MICROS_PER_SECOND
  const unloaded = await lowest(db, LOWEST_UNLOADED, [namespaceId, sentFrom])
  return Math.min(loadedUpTo, underWay - CLOCK_STEP_MICROS, unloaded)
}

async function lowest(db: PoolClient, text: string, values?: unknown[]): Promise<Micros> {
  const { rows } = await db.query<{ lowest: string | null }>(text, values)
  return Number(rows[0]?.lowest ?? Infinity)
}
