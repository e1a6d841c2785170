import { type Amount, amountFromDatabase, ZERO } from '../amount/amount.ts'
import type { UsageSource } from '../domain/usage-source.ts'
import type { Queryable } from './core/pool.ts'

/** How much the sum of the grants of an account and source changes on each UTC day. */
export interface GrantChanges {
  /** By the number of the day since 1970. Changes of earlier days count on the first day that was asked for. */
  byDay: ReadonlyMap<number, Amount>
  /** The sum of the grants in force at the time that was asked for. */
  inForce: Amount
}

interface Wanted {
  accountId: string
  source: UsageSource
  /** Numbers of days since 1970, both included. */
  firstDay: number
  lastDay: number
  at: Date
}

// A grant counts at the end of a day if it began before the end, and has not expired before it. So it comes on the day on
// which it begins, and goes on the day on which it expires. All grants are read once, by one statement, so that the days
// and the sum of now agree.
const CHANGES = `
  WITH counted AS MATERIALIZED (
    SELECT amount, effective_at, expires_at, is_in_force(g, $6) AS counts_now FROM grants AS g
    WHERE namespace_id = $1 AND account_id = $2 AND source = $3 AND voided_at IS NULL AND archived_at IS NULL)
  SELECT greatest(floor(extract(epoch FROM at) / 86400), $4)::integer AS day, sum(amount) AS total
  FROM (
    SELECT effective_at AS at, amount FROM counted
    UNION ALL SELECT expires_at, -amount FROM counted WHERE expires_at IS NOT NULL) AS changes
  WHERE floor(extract(epoch FROM at) / 86400) <= $5 GROUP BY day
  UNION ALL SELECT NULL, sum(amount) FROM counted WHERE counts_now`

/**
 * Reads the grants of an account and source as changes of their sum by day. Grants that were voided or archived count
 * on no day.
 *
 * @param db a connection in the namespace
 */
export async function readGrantChanges(
  db: Queryable,
  namespaceId: string,
  { accountId, source, firstDay, lastDay, at }: Wanted,
): Promise<GrantChanges> {
  const { rows } = await db.query<{ day: number | null; total: string | null }>(CHANGES, [
    ...[namespaceId, accountId, source],
    ...[firstDay, lastDay, at],
  ])
  const byDay = new Map<number, Amount>()
  let inForce = ZERO
  for (const { day, total } of rows) {
    const amount = total === null ? ZERO : amountFromDatabase(total)
    if (day === null) inForce = amount
    else byDay.set(day, amount)
  }
  return { byDay, inForce }
}
