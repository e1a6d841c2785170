import { amountFromDatabase, formatAmount } from '../amount/amount.ts'
import { type Page, pageOf, type PageRequest, unknownCursor } from '../domain/page.ts'
import type { Refill } from '../domain/refill.ts'
import { readInIndexOrder } from './core/in-index-order.ts'
import { SQL_OF_ORDER, type SqlOfOrder } from './core/list-order.ts'
import type { Queryable } from './core/pool.ts'
import type { RefillConfigurationKey } from './refill-configurations.ts'

export type NewRefill = Omit<Refill, 'createdAt'>

interface RefillRow {
  account_id: string
  metric_id: string
  occurrence: string
  grant_id: string
  minimum_balance: string
  target_balance: string
  grant_total: string
  usage_total: string
  amount: string
  effective_at: Date
  created_at: Date
}

/** How often a configuration may be refilled. */
export interface RefillLimits {
  /** The shortest time between two refills, in milliseconds. */
  intervalMs: number
  /** The maximum number of refills within 24 hours. */
  perDayMax: number
}

/** The facts about past refills that decide about the next one. */
export interface RefillHistory {
  /** The time from which the last refill is effective, by the namespace's clock; null before the first. */
  effectiveAt: Date | null
  /** Milliseconds until the shortest time between two refills is over; 0 when it is over. */
  waitMs: number
  /** Whether the limit of refills within 24 hours is reached. */
  isDayFull: boolean
}

const COLUMNS = `account_id, metric_id, occurrence, grant_id, minimum_balance, target_balance, grant_total, usage_total,
  amount, effective_at, created_at`
const INSERT = `
  INSERT INTO refills (namespace_id, account_id, metric_id, occurrence, grant_id, minimum_balance, target_balance,
    grant_total, usage_total, amount, effective_at, created_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, clock_timestamp())`
const OF_CONFIGURATION = 'namespace_id = $1 AND account_id = $2 AND metric_id = $3'
const FIND_OCCURRENCE = `SELECT occurrence FROM refills WHERE ${OF_CONFIGURATION} AND grant_id = $4`
const listStatement = ({ direction, isAfter }: SqlOfOrder): string => `
  SELECT ${COLUMNS} FROM refills
  WHERE ${OF_CONFIGURATION} AND ($5::bigint IS NULL OR occurrence ${isAfter} $5)
  ORDER BY occurrence ${direction} LIMIT $4`
// The limits of refills use this database's clock, not the clock of the namespace.
const HISTORIES = `
  SELECT last.effective_at,
    greatest(0, coalesce(extract(epoch FROM last.created_at - clock_timestamp()) * 1000 + $4::float8, 0))::float8 AS wait_ms,
    coalesce(earlier.created_at > clock_timestamp() - interval '24 hours', false) AS is_day_full
  FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS c (account_id, metric_id, place)
  LEFT JOIN LATERAL (SELECT effective_at, created_at FROM refills AS r
    WHERE r.namespace_id = $1 AND r.account_id = c.account_id AND r.metric_id = c.metric_id
    ORDER BY occurrence DESC LIMIT 1) AS last ON true
  LEFT JOIN LATERAL (SELECT created_at FROM refills AS r
    WHERE r.namespace_id = $1 AND r.account_id = c.account_id AND r.metric_id = c.metric_id
    ORDER BY occurrence DESC OFFSET $5::bigint - 1 LIMIT 1) AS earlier ON true
  ORDER BY place`

/** Automatic refills that were made; their rows never change. */
export const refillRepository = (db: Queryable) => ({
  /** Stores a refill, within the transaction that makes its grant. */
  async insert(namespaceId: string, refill: NewRefill): Promise<void> {
    const { accountId, metricId, occurrence, grantId } = refill
    const { minimumBalance, targetBalance, grantTotal, usageTotal, amount } = refill
    await db.query(INSERT, [
      ...[namespaceId, accountId, metricId, occurrence.toString(), grantId],
      ...[minimumBalance, targetBalance, grantTotal, usageTotal, amount].map(formatAmount),
      refill.effectiveAt,
    ])
  },

  /** Lists the histories of configurations, in the given order, within a transaction that has locked their rows. */
  async listHistories(
    namespaceId: string,
    keys: readonly RefillConfigurationKey[],
    { intervalMs, perDayMax }: RefillLimits,
  ): Promise<RefillHistory[]> {
    const { rows } = await db.query<{ effective_at: Date | null; wait_ms: number; is_day_full: boolean }>(
      HISTORIES,
      [
        namespaceId,
        keys.map(({ accountId }) => accountId),
        keys.map(({ metricId }) => metricId),
        intervalMs,
        perDayMax,
      ],
    )
    return rows.map((row) => ({
      effectiveAt: row.effective_at,
      waitMs: row.wait_ms,
      isDayFull: row.is_day_full,
    }))
  },

  /**
   * Lists the refills of a configuration in order of creation, the oldest or the newest first.
   *
   * @throws DomainError malformed when startingAfter is not the grant of one of these refills
   */
  async list(
    namespaceId: string,
    { accountId, metricId }: RefillConfigurationKey,
    { limit, startingAfter, order = 'oldest' }: PageRequest,
  ): Promise<Page<Refill>> {
    const ofConfiguration = [namespaceId, accountId, metricId]
    let after: string | null = null
    if (startingAfter !== undefined) {
      const found = await db.query<{ occurrence: string }>(FIND_OCCURRENCE, [
        ...ofConfiguration,
        startingAfter,
      ])
      if (found.rows[0] === undefined) throw unknownCursor()
      after = found.rows[0].occurrence
    }
    await readInIndexOrder(db)
    const { rows } = await db.query<RefillRow>(listStatement(SQL_OF_ORDER[order]), [
      ...ofConfiguration,
      limit + 1,
      after,
    ])
    return pageOf(rows.map(refillFromRow), limit)
  },
})

const refillFromRow = (row: RefillRow): Refill => ({
  accountId: row.account_id,
  metricId: row.metric_id,
  occurrence: BigInt(row.occurrence),
  grantId: row.grant_id,
  minimumBalance: amountFromDatabase(row.minimum_balance),
  targetBalance: amountFromDatabase(row.target_balance),
  grantTotal: amountFromDatabase(row.grant_total),
  usageTotal: amountFromDatabase(row.usage_total),
  amount: amountFromDatabase(row.amount),
  effectiveAt: row.effective_at,
  createdAt: row.created_at,
})
