import { type Amount, amountFromDatabase, formatAmount } from '../amount/amount.ts'
import { parseRatio } from '../amount/ratio.ts'
import type { AccountKey } from '../domain/account-key.ts'
import type { CreditGrant } from '../domain/billing/credit.ts'
import type { Grant, GrantStatus } from '../domain/grant.ts'
import { type Page, pageOf, type PageRequest, unknownCursor } from '../domain/page.ts'
import { isMetric, type UsageSource } from '../domain/usage-source.ts'
import { DomainError } from '../errors/domain-error.ts'
import { readInIndexOrder } from './core/in-index-order.ts'
import { SQL_OF_ORDER, type SqlOfOrder } from './core/list-order.ts'
import type { Queryable } from './core/pool.ts'
import { setOnce } from './core/set-once.ts'
import { isForeignKeyViolation } from './core/violations.ts'
import { shareBalance, shareBalances } from './locks/balance-lock.ts'
import { lockCreation } from './locks/creation-lock.ts'

export type NewGrant = Pick<
  Grant,
  'id' | 'accountId' | 'source' | 'amount' | 'description' | 'contractId' | 'effectiveAt' | 'expiresAt'
>

/** Which grants a list contains; undefined fields do not filter. */
export interface GrantFilter {
  accountId?: string | undefined
  source?: UsageSource | undefined
  contractId?: string | undefined
  /** The status that grants have at a time. */
  status?: { is: GrantStatus; at: Date } | undefined
}

interface GrantRow {
  grant_id: string
  account_id: string
  metric_id: string | null
  currency: string | null
  amount: string // numeric: pg returns it as text, and it stays text until amountFromDatabase
  description: string | null
  contract_v1_id: string | null
  effective_at: Date
  expires_at: Date | null
  accepted_at: Date
  created_at: Date
  updated_at: Date
  voided_at: Date | null
  archived_at: Date | null
}

interface CreditRow extends Pick<
  GrantRow,
  'grant_id' | 'amount' | 'effective_at' | 'expires_at' | 'voided_at' | 'archived_at'
> {
  /** The number of the key, from 1 on. */
  nth: string
}

/** The account and the currency of credit. */
export interface CreditKey {
  accountId: string
  currency: string
  /** Unix seconds. Grants that begin at this second or later, and grants that expired before it, are left out. */
  before: number
}

const COLUMNS = `grant_id, account_id, metric_id, currency, amount, description, contract_v1_id, effective_at,
  expires_at, accepted_at, created_at, updated_at, voided_at, archived_at`
const INSERT = `
  INSERT INTO grants (namespace_id, grant_id, account_id, metric_id, currency, amount, description, contract_v1_id,
    effective_at, expires_at, accepted_at, created_at, updated_at)
  SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, at, at, at FROM clock_timestamp() AS at
  RETURNING ${COLUMNS}`
// The grants are created a microsecond apart, so that they are listed in the order in which they were given.
const INSERT_ALL = `
  INSERT INTO grants (namespace_id, grant_id, account_id, metric_id, currency, amount, description, contract_v1_id,
    effective_at, expires_at, accepted_at, created_at, updated_at)
  SELECT $1, n.grant_id, n.account_id, n.metric_id, n.currency, n.amount, n.description, n.contract_v1_id, n.effective_at,
    n.expires_at, made.at, made.at, made.at
  FROM (SELECT clock_timestamp() AS at) AS began,
    jsonb_to_recordset($2) AS n (nth integer, grant_id text, account_id text, metric_id text, currency text, amount numeric,
      description text, contract_v1_id uuid, effective_at timestamptz, expires_at timestamptz),
    LATERAL (SELECT began.at + n.nth * interval '1 microsecond' AS at) AS made`
const FIND = `SELECT ${COLUMNS} FROM grants WHERE namespace_id = $1 AND grant_id = $2`
const VOID = `
  UPDATE grants SET ${setOnce('voided_at')}
  WHERE namespace_id = $1 AND grant_id = $2
  RETURNING ${COLUMNS}`
const ARCHIVE = `
  UPDATE grants SET ${setOnce('archived_at')}
  WHERE namespace_id = $1 AND grant_id = $2
  RETURNING ${COLUMNS}`
const IS_ENDED = '(voided_at IS NOT NULL OR archived_at IS NOT NULL)'
const IS_EXPIRED = 'coalesce(expires_at <= $7::timestamptz, false)'
/** The conditions for each status at the time $7; see grantStatus. */
const HAS_STATUS: Record<GrantStatus, string> = {
  voided: 'voided_at IS NOT NULL',
  archived: 'voided_at IS NULL AND archived_at IS NOT NULL',
  expired: `NOT ${IS_ENDED} AND ${IS_EXPIRED}`,
  scheduled: `NOT ${IS_ENDED} AND NOT ${IS_EXPIRED} AND effective_at > $7::timestamptz`,
  active: `NOT ${IS_ENDED} AND NOT ${IS_EXPIRED} AND effective_at <= $7::timestamptz`,
}
// PostgreSQL plans this statement for each call, and leaves out conditions whose parameter is null. So each combination
// of filters can use its index. Two filters have no index: that by contract, because a contract's grants are mostly of
// one account and source, and that by status, because time changes it.
const listStatement = ({ direction, isAfter }: SqlOfOrder, status: GrantStatus | undefined): string => `
  SELECT ${COLUMNS} FROM grants WHERE namespace_id = $1
    AND ($3::text IS NULL OR account_id = $3)
    AND ($4::text IS NULL OR source = $4)
    AND ($6::uuid IS NULL OR contract_v1_id = $6)
    AND ($7::timestamptz IS NULL OR ${status === undefined ? 'true' : HAS_STATUS[status]})
    AND ($5::text IS NULL OR (created_at, grant_id) ${isAfter}
      (SELECT created_at, grant_id FROM grants WHERE namespace_id = $1 AND grant_id = $5))
  ORDER BY created_at ${direction}, grant_id ${direction} LIMIT $2`

// Credit as it was known at $5: later grants are left out, and later voidings and archivings are ignored. If $5 is
// null, credit as it is now. Keys are looked up one by one. Otherwise PostgreSQL would read all grants of the namespace
// when it has no statistics yet of a table that has just grown.
const LIST_CREDIT = `
  SELECT g.grant_id, g.amount, g.effective_at, g.expires_at,
    CASE WHEN coalesce(g.voided_at < to_timestamp($5), true) THEN g.voided_at END AS voided_at,
    CASE WHEN coalesce(g.archived_at < to_timestamp($5), true) THEN g.archived_at END AS archived_at, w.nth
  FROM unnest($2::text[], $3::text[], $4::float8[]) WITH ORDINALITY AS w (account_id, source, before, nth), LATERAL (
    SELECT * FROM grants WHERE namespace_id = $1 AND account_id = w.account_id AND source = w.source
      AND effective_at < to_timestamp(w.before) AND (expires_at IS NULL OR expires_at >= to_timestamp(w.before))
      AND ($5::float8 IS NULL OR created_at < to_timestamp($5))
    OFFSET 0) AS g`

/** The account whose grants are added up, and the time at which they must be in force. */
export interface GrantsKey extends AccountKey {
  at: Date
}

export interface GrantSum {
  hasAccount: boolean
  /** Whether the metric exists; always true for a currency. */
  hasSource: boolean
  /** The sum of the grants in force. */
  total: Amount
}

/**
 * Sums the grants of one source for each key, in one round trip and outside of a transaction. The keys may be of
 * several namespaces.
 */
export async function sumGrants(
  db: Queryable,
  keys: readonly (GrantsKey & { source: UsageSource })[],
): Promise<GrantSum[]> {
  const { rows } = await db.query<{ has_account: boolean; has_source: boolean; total: string }>({
    name: 'sum-grants',
    text: 'SELECT has_account, has_source, total FROM sum_grants($1, $2, $3, $4) ORDER BY nth',
    values: [
      keys.map(({ namespaceId }) => namespaceId),
      keys.map(({ accountId }) => accountId),
      keys.map(({ source }) => source),
      keys.map(({ at }) => at),
    ],
  })
  return rows.map((row) => ({
    hasAccount: row.has_account,
    hasSource: row.has_source,
    total: amountFromDatabase(row.total),
  }))
}

/**
 * Sums grants by source for each key. Sources without a grant in force are included, if the account had grants of them
 * before. The result is undefined if there is no such account. It takes one round trip, in a transaction or outside of
 * one. The keys may be of several namespaces.
 */
export async function sumGrantsBySource(
  db: Queryable,
  keys: readonly GrantsKey[],
): Promise<(ReadonlyMap<UsageSource, Amount> | undefined)[]> {
  const { rows } = await db.query<{ nth: string; source: string | null; total: string }>({
    name: 'sum-grants-by-source',
    text: 'SELECT nth, source, total FROM sum_grants_by_source($1, $2, $3)',
    values: [
      keys.map(({ namespaceId }) => namespaceId),
      keys.map(({ accountId }) => accountId),
      keys.map(({ at }) => at),
    ],
  })
  const sums = keys.map((): Map<UsageSource, Amount> | undefined => undefined)
  for (const { nth, source, total } of rows) {
    const index = Number(nth) - 1
    const ofAccount = (sums[index] ??= new Map())
    if (source !== null) ofAccount.set(source, amountFromDatabase(total))
  }
  return sums
}

/** Sums grants by source for accounts of one namespace. Accounts that do not exist are absent. */
export async function sumGrantsOfAccounts(
  db: Queryable,
  namespaceId: string,
  accountIds: readonly string[],
  at: Date,
): Promise<Map<string, ReadonlyMap<UsageSource, Amount>>> {
  const sums = await sumGrantsBySource(
    db,
    accountIds.map((accountId) => ({ namespaceId, accountId, at })),
  )
  return new Map(
    accountIds.flatMap((accountId, n) => {
      const ofAccount = sums[n]
      return ofAccount === undefined ? [] : [[accountId, ofAccount]]
    }),
  )
}

export const grantRepository = (db: Queryable) => ({
  /**
   * Inserts a grant, within a transaction. Grants of a namespace are created one after the other, so that a reader that
   * follows the list misses none.
   *
   * @throws DomainError unprocessable when the account or the metric does not exist
   */
  async insert(namespaceId: string, grant: NewGrant): Promise<Grant> {
    await shareBalance(db, namespaceId, grant.accountId, grant.source)
    await lockCreation(db, 'grants', namespaceId)
    const { id, accountId, source, amount, description, contractId, effectiveAt, expiresAt } = grant
    const { metric_id: metricId, currency } = sourceToColumns(source)
    const values = [
      namespaceId,
      id,
      accountId,
      metricId,
      currency,
      formatAmount(amount),
      description,
      contractId,
    ]
    try {
      const { rows } = await db.query<GrantRow>(INSERT, [...values, effectiveAt, expiresAt])
      return rows.map(grantFromRow)[0] as Grant
    } catch (err) {
      if (isForeignKeyViolation(err, 'grants_account'))
        throw new DomainError('unprocessable', 'account_id: there is no such account', { cause: err })
      if (isForeignKeyViolation(err, 'grants_metric'))
        throw new DomainError('unprocessable', 'metric_id: there is no such metric', { cause: err })
      throw err
    }
  },

  /**
   * Inserts any number of grants in one statement. Their accounts and metrics must exist. Lists have the grants in the
   * given order.
   */
  async insertAll(namespaceId: string, grants: readonly NewGrant[]): Promise<void> {
    await shareBalances(db, namespaceId, grants)
    await lockCreation(db, 'grants', namespaceId)
    await db.query(INSERT_ALL, [namespaceId, JSON.stringify(grants.map(grantToColumns))])
  },

  find: (namespaceId: string, grantId: string) => findOne(db, FIND, [namespaceId, grantId]),

  /**
   * Voids a grant, within a transaction: from now on it does not count. Voiding it again keeps the first time.
   *
   * @returns the grant, undefined when there is none
   */
  void: (namespaceId: string, grantId: string) => end(db, VOID, namespaceId, grantId),

  /**
   * Archives a grant, within a transaction: from now on it does not count. Archiving it again keeps the first time.
   *
   * @returns the grant, undefined when there is none
   */
  archive: (namespaceId: string, grantId: string) => end(db, ARCHIVE, namespaceId, grantId),

  /**
   * Lists for each key the grants that have begun before its time and have not expired before it. Voided and archived
   * grants are included, with the time at which they were voided or archived.
   *
   * @param knownAt Unix seconds of real time, not of a test clock. Only grants, voidings and archivings before it
   *   count; if it is undefined, all of them count
   * @returns for each key its grants, in any order
   */
  async listCredit(
    namespaceId: string,
    of: readonly CreditKey[],
    knownAt?: number,
  ): Promise<CreditGrant[][]> {
    const { rows } = await db.query<CreditRow>(LIST_CREDIT, [
      namespaceId,
      of.map(({ accountId }) => accountId),
      of.map(({ currency }) => currency),
      of.map(({ before }) => before),
      knownAt ?? null,
    ])
    const credit: CreditGrant[][] = of.map(() => [])
    for (const row of rows) credit[Number(row.nth) - 1]?.push(creditFromRow(row))
    return credit
  },

  /**
   * Lists grants in order of creation, the oldest or the newest first.
   *
   * @throws DomainError malformed when startingAfter is no grant of the namespace, or of another account than the filter's
   */
  async list(
    namespaceId: string,
    { accountId, source, contractId, status }: GrantFilter,
    page: PageRequest,
  ): Promise<Page<Grant>> {
    const { limit, startingAfter, order = 'oldest' } = page
    if (startingAfter !== undefined) {
      const last = await this.find(namespaceId, startingAfter)
      // A grant of another account is refused as an unknown one is. Otherwise its place in the list would tell an account
      // key that the grant exists, and when it was created.
      if (last === undefined || (accountId !== undefined && last.accountId !== accountId))
        throw unknownCursor()
    }
    await readInIndexOrder(db)
    const filter = [accountId ?? null, source ?? null]
    const values = [namespaceId, limit + 1, ...filter, startingAfter ?? null, contractId ?? null]
    const text = listStatement(SQL_OF_ORDER[order], status?.is)
    const { rows } = await db.query<GrantRow>(text, [...values, status?.at ?? null])
    return pageOf(rows.map(grantFromRow), limit)
  },
})

async function end(db: Queryable, text: string, namespaceId: string, grantId: string) {
  const grant = await findOne(db, FIND, [namespaceId, grantId])
  if (grant === undefined) return undefined
  await shareBalance(db, namespaceId, grant.accountId, grant.source)
  return findOne(db, text, [namespaceId, grantId])
}

async function findOne(db: Queryable, text: string, values: unknown[]): Promise<Grant | undefined> {
  const { rows } = await db.query<GrantRow>(text, values)
  return rows.map(grantFromRow)[0]
}

/** Returns Unix seconds with a fraction, because a Date keeps the time of a voiding to the millisecond. */
const preciseSeconds = (at: Date): number => at.getTime() / 1_000

const sourceToColumns = (source: UsageSource) =>
  isMetric(source) ? { metric_id: source, currency: null } : { metric_id: null, currency: source }

const grantToColumns = (grant: NewGrant, nth: number): object => ({
  nth,
  grant_id: grant.id,
  account_id: grant.accountId,
  ...sourceToColumns(grant.source),
  amount: formatAmount(grant.amount),
  description: grant.description,
  contract_v1_id: grant.contractId,
  effective_at: grant.effectiveAt,
  expires_at: grant.expiresAt,
})

const grantFromRow = (row: GrantRow): Grant => ({
  id: row.grant_id,
  accountId: row.account_id,
  source: row.metric_id ?? row.currency ?? '',
  amount: amountFromDatabase(row.amount),
  description: row.description,
  contractId: row.contract_v1_id,
  effectiveAt: row.effective_at,
  expiresAt: row.expires_at,
  acceptedAt: row.accepted_at,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  voidedAt: row.voided_at,
  archivedAt: row.archived_at,
})

const creditFromRow = (row: CreditRow): CreditGrant => ({
  id: row.grant_id,
  amount: parseRatio(row.amount),
  effectiveAt: preciseSeconds(row.effective_at),
  expiresAt: row.expires_at && preciseSeconds(row.expires_at),
  voidedAt: row.voided_at && preciseSeconds(row.voided_at),
  archivedAt: row.archived_at && preciseSeconds(row.archived_at),
})
