import { amountFromDatabase, formatAmount } from '../amount/amount.ts'
import type { ContractTimes, CreditLine } from '../domain/billing/contract.ts'
import type { Cadence } from '../domain/billing/periods.ts'
import type { Queryable } from './core/pool.ts'

/** A credit line with grants that are due. Times are whole Unix seconds. */
export interface DueLine extends Pick<CreditLine, 'endsAt' | 'amount' | 'source' | 'expires'> {
  id: string
  contractId: string
  accountId: string
  /** The times of the line's contract. */
  times: ContractTimes
  /** The start of the first piece without a grant. All earlier grants are stored. */
  nextCreditAt: number
}

/** A grant and its key, which is a line and a period. Because of the key, the grant is given only once. */
export interface NewContractCredit {
  lineId: string
  /** In Unix seconds: the start of the whole period. */
  periodStartAt: number
  grantId: string
}

interface DueRow {
  contract_line_id: string
  contract_id: string
  account_id: string
  line_ends_at: Date | null
  next_credit_at: Date
  credit_amount: string
  credit_source: string
  credit_expires: CreditLine['expires']
  cadence: Cadence
  anchor_at: Date
  starts_at: Date
  ends_at: Date | null
  cancel_at: Date | null
}

// Locked contracts are skipped, because another process is giving their credit or changing them.
const LOCK = `
  SELECT l.contract_line_id
  FROM contract_lines AS l JOIN contracts AS c ON c.namespace_id = $1 AND c.contract_id = l.contract_id
  WHERE l.namespace_id = $1 AND l.next_credit_at <= to_timestamp($2) AND l.during @> l.next_credit_at
  ORDER BY l.next_credit_at, l.contract_id, l.contract_line_id LIMIT $3
  FOR NO KEY UPDATE OF c SKIP LOCKED`
// Lines are read one by one. Otherwise PostgreSQL would read all lines of the namespace when it has no statistics yet
// of a table that has just grown.
const READ = `
  SELECT l.contract_line_id, l.contract_id, l.account_id, l.ends_at AS line_ends_at, l.next_credit_at, l.credit_amount,
    coalesce(l.credit_metric_id, l.credit_currency) AS credit_source, l.credit_expires, c.cadence, c.anchor_at, c.starts_at,
    c.ends_at, c.cancel_at
  FROM unnest($2::text[]) AS n (contract_line_id),
    LATERAL (SELECT * FROM contract_lines AS o
      WHERE o.namespace_id = $1 AND o.contract_line_id = n.contract_line_id LIMIT 1) AS l,
    LATERAL (SELECT * FROM contracts AS o WHERE o.namespace_id = $1 AND o.contract_id = l.contract_id LIMIT 1) AS c`
const CHECK_GRANTS_LATER = 'SET CONSTRAINTS contract_credits_grant DEFERRED'
const CLAIM = `
  INSERT INTO contract_credits (namespace_id, contract_line_id, period_start_at, grant_id)
  SELECT $1, n.contract_line_id, to_timestamp(n.period_start_at), n.grant_id
  FROM unnest($2::text[], $3::float8[], $4::text[]) AS n (contract_line_id, period_start_at, grant_id)
  ON CONFLICT (namespace_id, contract_line_id, period_start_at) DO NOTHING
  RETURNING grant_id`
// Lines are updated one by one for the same reason as in READ. They are found by their place in the table, which does
// not change while their contracts are locked.
const MOVE_ON = `
  UPDATE contract_lines AS l SET next_credit_at = to_timestamp(n.next_credit_at)
  FROM unnest($2::text[], $3::float8[]) AS n (contract_line_id, next_credit_at),
    LATERAL (SELECT ctid FROM contract_lines AS o
      WHERE o.namespace_id = $1 AND o.contract_line_id = n.contract_line_id LIMIT 1) AS place
  WHERE l.namespace_id = $1 AND l.ctid = place.ctid`

/**
 * Records which grants the credit lines of contracts have given, and when each line gives its next grant. Both are
 * written in the transaction that makes the grants.
 */
export const contractCreditRepository = (db: Queryable) => ({
  /**
   * Lists the lines with credit that is due, the most overdue first, and locks their contracts until the transaction
   * ends. During that time, no other transaction can end these contracts or lines. Lines of contracts that are already
   * locked are left out.
   *
   * Another process may have given the credit, or ended a line, just before the lock was taken. The list contains these
   * lines, too. All lines have their current values.
   *
   * @param now in Unix seconds of the namespace
   */
  async lockDue(namespaceId: string, now: number, limit: number): Promise<DueLine[]> {
    const { rows } = await db.query<{ contract_line_id: string }>(LOCK, [namespaceId, now, limit])
    if (rows.length === 0) return []
    const ids = rows.map((row) => row.contract_line_id)
    const read = await db.query<DueRow>(READ, [namespaceId, ids])
    return read.rows.map(dueLineFromRow)
  },

  /**
   * Claims the keys that are still free. The caller stores their grants in the same transaction.
   *
   * @returns the ids of the grants to make
   */
  async claim(namespaceId: string, credits: readonly NewContractCredit[]): Promise<Set<string>> {
    await db.query(CHECK_GRANTS_LATER)
    const { rows } = await db.query<{ grant_id: string }>(CLAIM, [
      namespaceId,
      credits.map(({ lineId }) => lineId),
      credits.map(({ periodStartAt }) => periodStartAt),
      credits.map(({ grantId }) => grantId),
    ])
    return new Set(rows.map((row) => row.grant_id))
  },

  /** Records when the next credit of each line is due, in Unix seconds. The caller must have locked their contracts. */
  async moveOn(namespaceId: string, nextByLine: ReadonlyMap<string, number>): Promise<void> {
    await db.query(MOVE_ON, [namespaceId, [...nextByLine.keys()], [...nextByLine.values()]])
  },
})

const dueLineFromRow = (row: DueRow): DueLine => ({
  id: row.contract_line_id,
  contractId: row.contract_id,
  accountId: row.account_id,
  endsAt: row.line_ends_at && secondsOf(row.line_ends_at),
  nextCreditAt: secondsOf(row.next_credit_at),
  amount: formatAmount(amountFromDatabase(row.credit_amount)),
  source: row.credit_source,
  expires: row.credit_expires,
  times: {
    cadence: row.cadence,
    anchorAt: secondsOf(row.anchor_at),
    startsAt: secondsOf(row.starts_at),
    endsAt: row.ends_at && secondsOf(row.ends_at),
    cancelAt: row.cancel_at && secondsOf(row.cancel_at),
  },
})

const secondsOf = (at: Date): number => at.getTime() / 1_000
