import type { NewestCredits } from '../domain/billing/invoice.ts'
import type { Cadence } from '../domain/billing/periods.ts'
import type {
  Cancellation,
  ContractRecord,
  NewLine,
  StoredContract,
} from '../domain/billing/stored-contract.ts'
import { type Changes, isUnchanged } from '../domain/changes.ts'
import { type Page, pageOf, type PageRequest, unknownCursor } from '../domain/page.ts'
import { DomainError, type ErrorCode } from '../errors/domain-error.ts'
import { contractLineRepository } from './contract-lines.ts'
import { readInIndexOrder } from './core/in-index-order.ts'
import { SQL_OF_ORDER, type SqlOfOrder } from './core/list-order.ts'
import type { Queryable } from './core/pool.ts'
import { explainTaken } from './core/resource-table.ts'
import { isExclusionViolation } from './core/violations.ts'
import { lockCreation } from './locks/creation-lock.ts'

export type NewContract = Omit<ContractRecord, 'cancelAt' | 'cancellation' | 'createdAt' | 'updatedAt'>

export type ContractChanges = Changes<Pick<ContractRecord, 'name' | 'description' | 'externalId' | 'endsAt'>>

/** Which contracts a list contains; undefined fields do not filter. */
export interface ContractFilter {
  accountId?: string | undefined
  /** Only contracts that ever had a line with this card. */
  rateCardId?: string | undefined
  externalId?: string | undefined
}

interface ContractRow {
  contract_id: string
  account_id: string
  currency: string
  cadence: Cadence
  anchor_at: Date
  starts_at: Date
  ends_at: Date | null
  cancel_at: Date | null
  cancel_mode: Cancellation['mode'] | null
  cancel_reason: string | null
  cancel_requested_at: Date | null
  name: string | null
  description: string | null
  external_id: string | null
  created_at: Date
  updated_at: Date
}

interface NewestCreditRow {
  contract_line_id: string
  period_start_at: Date
}

const COLUMNS = `contract_id, account_id, currency, cadence, anchor_at, starts_at, ends_at, cancel_at, cancel_mode,
  cancel_reason, cancel_requested_at, name, description, external_id, created_at, updated_at`
const INSERT = `
  INSERT INTO contracts (namespace_id, contract_id, account_id, currency, cadence, anchor_at, starts_at, ends_at, name,
    description, external_id, created_at, updated_at)
  SELECT $1, $2, $3, $4, $5, to_timestamp($6), to_timestamp($7), to_timestamp($8), $9, $10, $11, at, at
  FROM clock_timestamp() AS at
  RETURNING ${COLUMNS}`
const FIND = `SELECT ${COLUMNS} FROM contracts WHERE namespace_id = $1 AND contract_id = $2`
const FIND_ACCOUNT = 'SELECT account_id FROM contracts WHERE namespace_id = $1 AND contract_id = $2'
// Why not FOR UPDATE: inserts of rows that only refer to the account, such as grants, would have to wait.
const LOCK_ACCOUNT = `
  SELECT archived_at FROM accounts WHERE namespace_id = $1 AND account_id = $2 FOR NO KEY UPDATE`
// Columns that $3 does not contain stay as they are.
const UPDATE = `
  UPDATE contracts AS c SET
    (name, description, external_id, ends_at) =
      (SELECT name, description, external_id, ends_at FROM jsonb_populate_record(c, $3)),
    updated_at = clock_timestamp()
  WHERE namespace_id = $1 AND contract_id = $2
  RETURNING ${COLUMNS}`
const SET_CANCELLATION = `
  UPDATE contracts SET cancel_at = to_timestamp($3), cancel_mode = $4, cancel_reason = $5,
    cancel_requested_at = to_timestamp($6), updated_at = clock_timestamp()
  WHERE namespace_id = $1 AND contract_id = $2
  RETURNING ${COLUMNS}`
const TOUCH = `
  UPDATE contracts SET updated_at = clock_timestamp() WHERE namespace_id = $1 AND contract_id = $2
  RETURNING ${COLUMNS}`
// PostgreSQL plans this statement for each call, and leaves out conditions whose parameter is null. So each combination
// of filters can use its index.
const listStatement = ({ direction, isAfter }: SqlOfOrder): string => `
  SELECT ${COLUMNS} FROM contracts WHERE namespace_id = $1
    AND ($3::text IS NULL OR account_id = $3)
    AND ($4::text IS NULL OR external_id = $4)
    AND ($5::uuid IS NULL OR (created_at, contract_id) ${isAfter}
      (SELECT created_at, contract_id FROM contracts WHERE namespace_id = $1 AND contract_id = $5))
  ORDER BY created_at ${direction}, contract_id ${direction} LIMIT $2`
const LIST_IN_FORCE = `
  SELECT ${COLUMNS} FROM contracts WHERE namespace_id = $1
    AND starts_at <= to_timestamp($3) AND coalesce(ends_at > to_timestamp($3), true) AND coalesce(cancel_at > to_timestamp($3), true)
    AND ($4::uuid IS NULL OR (created_at, contract_id) >
      (SELECT created_at, contract_id FROM contracts WHERE namespace_id = $1 AND contract_id = $4))
  ORDER BY created_at, contract_id LIMIT $2`
// Why DISTINCT: a contract may have followed the card several times.
const listOfCardStatement = ({ direction, isAfter }: SqlOfOrder): string => `
  SELECT ${COLUMNS.replace(/\w+/g, 'c.$&')}
  FROM (
    SELECT DISTINCT contract_created_at, contract_id FROM contract_lines WHERE namespace_id = $1 AND rate_card_id = $6
      AND ($3::text IS NULL OR account_id = $3)
      AND ($4::text IS NULL OR contract_id =
        (SELECT contract_id FROM contracts WHERE namespace_id = $1 AND external_id = $4))
      AND ($5::uuid IS NULL OR (contract_created_at, contract_id) ${isAfter}
        (SELECT created_at, contract_id FROM contracts WHERE namespace_id = $1 AND contract_id = $5))
    ORDER BY contract_created_at ${direction}, contract_id ${direction} LIMIT $2
  ) AS follower JOIN contracts AS c ON c.namespace_id = $1 AND c.contract_id = follower.contract_id
  ORDER BY follower.contract_created_at ${direction}, follower.contract_id ${direction}`
const NEWEST_CREDITS = `
  SELECT n.contract_line_id, newest.period_start_at
  FROM unnest($2::text[]) AS n (contract_line_id),
    LATERAL (SELECT c.period_start_at FROM contract_credits AS c
      WHERE c.namespace_id = $1 AND c.contract_line_id = n.contract_line_id
      ORDER BY c.period_start_at DESC LIMIT 1) AS newest`
// A credit was known at $3 if its grant was created before $3, as in LIST_CREDIT in grants.ts. The creation time of the
// row in contract_credits is not used, because that row is written a moment before its grant.
const NEWEST_CREDITS_KNOWN = `
  SELECT n.contract_line_id, newest.period_start_at
  FROM unnest($2::text[]) AS n (contract_line_id),
    LATERAL (SELECT c.period_start_at
      FROM contract_credits AS c JOIN grants AS g ON g.namespace_id = $1 AND g.grant_id = c.grant_id
      WHERE c.namespace_id = $1 AND c.contract_line_id = n.contract_line_id AND g.created_at < to_timestamp($3)
      ORDER BY c.period_start_at DESC LIMIT 1) AS newest`

/**
 * Stores contracts and their lines. Every transaction that changes a contract takes its locks in this order, so that no
 * two transactions deadlock:
 *
 * - the account: if two transactions may make it follow a card, one waits for the other;
 * - the contract;
 * - rate cards, with shared locks, in order of their ids;
 * - the list of contracts, if a contract is added.
 */
export const contractRepository = (db: Queryable) => ({
  /**
   * Locks an account until the transaction ends, before a contract is made for it.
   *
   * @returns undefined when there is no such account
   */
  async lockAccount(
    namespaceId: string,
    accountId: string,
  ): Promise<{ archivedAt: Date | null } | undefined> {
    const { rows } = await db.query<{ archived_at: Date | null }>(LOCK_ACCOUNT, [namespaceId, accountId])
    return rows.map((row) => ({ archivedAt: row.archived_at }))[0]
  },

  /**
   * Locks a contract and its account until the transaction ends.
   *
   * @returns the contract, undefined when there is none
   */
  async lock(namespaceId: string, contractId: string): Promise<StoredContract | undefined> {
    const { rows } = await db.query<{ account_id: string }>(FIND_ACCOUNT, [namespaceId, contractId])
    const [found] = rows
    if (found === undefined) return undefined
    await this.lockAccount(namespaceId, found.account_id)
    return withLinesOf(db, namespaceId, await findOne(db, `${FIND} FOR UPDATE`, [namespaceId, contractId]))
  },

  /**
   * Inserts a contract. The caller must have locked the account, and the cards that lines follow. Contracts of a
   * namespace are created one after the other, so that a reader that follows the list misses none.
   *
   * @throws DomainError conflict when another contract has the external id, or the account would follow two cards at
   *   the same time
   */
  async insert(
    namespaceId: string,
    contract: NewContract,
    lines: readonly NewLine[],
  ): Promise<StoredContract> {
    await lockCreation(db, 'contracts', namespaceId)
    const { id, accountId, currency, cadence, anchorAt, startsAt, endsAt, name, description, externalId } =
      contract
    const values = [
      id,
      accountId,
      currency,
      cadence,
      anchorAt,
      startsAt,
      endsAt,
      name,
      description,
      externalId,
    ]
    try {
      const made = await findOne(db, INSERT, [namespaceId, ...values])
      await contractLineRepository(db).insert(namespaceId, contract, lines)
      return (await withLinesOf(db, namespaceId, made)) as StoredContract
    } catch (err) {
      throw explain(err, 'conflict', 'lines')
    }
  },

  /** Finds a contract with all lines that it ever had, in at most two statements. */
  async find(namespaceId: string, contractId: string): Promise<StoredContract | undefined> {
    return withLinesOf(db, namespaceId, await findOne(db, FIND, [namespaceId, contractId]))
  },

  /** Finds a contract without its lines. */
  findRecord: (namespaceId: string, contractId: string) => findOne(db, FIND, [namespaceId, contractId]),

  /**
   * Changes the given fields. The caller must have locked the contract.
   *
   * @throws DomainError unprocessable when another contract has the external id, conflict when the account would follow
   *   two cards at the same time after the change
   */
  async update(
    namespaceId: string,
    contract: StoredContract,
    changes: ContractChanges,
  ): Promise<StoredContract> {
    if (isUnchanged(changes)) return contract
    const { name, description, externalId, endsAt } = changes
    const columns = {
      name,
      description,
      external_id: externalId,
      ends_at: typeof endsAt === 'number' ? new Date(endsAt * 1_000) : endsAt,
    }
    try {
      const changed = await findOne(db, UPDATE, [namespaceId, contract.id, JSON.stringify(columns)])
      return { ...(changed as ContractRecord), lines: contract.lines }
    } catch (err) {
      throw explain(err, 'unprocessable', 'ends_at')
    }
  },

  /**
   * Replaces the cancellation, or removes it. The caller must have locked the contract.
   *
   * @param cancelAt in Unix seconds; null when there is no cancellation
   * @throws DomainError conflict when the account would follow two cards at the same time after the change
   */
  async setCancellation(
    namespaceId: string,
    contract: StoredContract,
    cancelAt: number | null,
    cancellation: Cancellation | null,
  ): Promise<StoredContract> {
    const { mode = null, reason = null, requestedAt = null } = cancellation ?? {}
    const values = [namespaceId, contract.id, cancelAt, mode, reason, requestedAt]
    try {
      const changed = await findOne(db, SET_CANCELLATION, values)
      return { ...(changed as ContractRecord), lines: contract.lines }
    } catch (err) {
      throw explain(err, 'unprocessable')
    }
  },

  /**
   * Ends lines and adds others. The caller must have locked the contract, and the cards that new lines follow.
   *
   * @param end ids of the lines of the contract that end
   * @param effectiveAt when they end, in Unix seconds
   * @throws DomainError conflict when the account would follow two cards at the same time
   */
  async changeLines(
    namespaceId: string,
    contract: StoredContract,
    { effectiveAt, end, add }: { effectiveAt: number; end: readonly string[]; add: readonly NewLine[] },
  ): Promise<StoredContract> {
    if (end.length === 0 && add.length === 0) return contract
    const lines = contractLineRepository(db)
    try {
      await lines.end(namespaceId, contract.id, end, effectiveAt)
      await lines.insert(namespaceId, contract, add)
    } catch (err) {
      throw explain(err, 'unprocessable', 'add')
    }
    const changed = await findOne(db, TOUCH, [namespaceId, contract.id])
    return (await withLinesOf(db, namespaceId, changed)) as StoredContract
  },

  /**
   * Lists contracts without their lines in order of creation, the oldest or the newest first.
   *
   * @throws DomainError malformed when startingAfter is no contract of the namespace
   */
  async listRecords(
    namespaceId: string,
    { accountId, rateCardId, externalId }: ContractFilter,
    { limit, startingAfter, order = 'oldest' }: PageRequest,
  ): Promise<Page<ContractRecord>> {
    if (startingAfter !== undefined && (await this.findRecord(namespaceId, startingAfter)) === undefined)
      throw unknownCursor()
    await readInIndexOrder(db)
    const values = [namespaceId, limit + 1, accountId ?? null, externalId ?? null, startingAfter ?? null]
    const { rows } = await (rateCardId === undefined
      ? db.query<ContractRow>(listStatement(SQL_OF_ORDER[order]), values)
      : db.query<ContractRow>(listOfCardStatement(SQL_OF_ORDER[order]), [...values, rateCardId]))
    return pageOf(rows.map(contractFromRow), limit)
  },

  /**
   * Lists the contracts in force at the Unix second `at`, without their lines, in order of creation.
   *
   * @throws DomainError malformed when startingAfter is no contract of the namespace
   */
  async listInForce(
    namespaceId: string,
    at: number,
    { limit, startingAfter }: PageRequest,
  ): Promise<Page<ContractRecord>> {
    if (startingAfter !== undefined && (await this.findRecord(namespaceId, startingAfter)) === undefined)
      throw unknownCursor()
    await readInIndexOrder(db)
    const values = [namespaceId, limit + 1, at, startingAfter ?? null]
    const { rows } = await db.query<ContractRow>(LIST_IN_FORCE, values)
    return pageOf(rows.map(contractFromRow), limit)
  },

  /** Adds to each contract all lines that it ever had. It takes one statement for any number of contracts. */
  withLines: (namespaceId: string, contracts: readonly ContractRecord[]) =>
    withLines(db, namespaceId, contracts),

  /**
   * Finds for each of these lines the start of the period of its newest stored grant. A line gives its grants in order,
   * so all earlier grants are stored, too.
   *
   * @param knownAt in Unix seconds by the real clock, not a test clock. Only grants that were stored before it count;
   *   if it is undefined, all stored grants count
   */
  async newestCredits(
    namespaceId: string,
    lineIds: readonly string[],
    knownAt?: number,
  ): Promise<NewestCredits> {
    if (lineIds.length === 0) return new Map()
    const { rows } = await (knownAt === undefined
      ? db.query<NewestCreditRow>(NEWEST_CREDITS, [namespaceId, lineIds])
      : db.query<NewestCreditRow>(NEWEST_CREDITS_KNOWN, [namespaceId, lineIds, knownAt]))
    return new Map(rows.map((row) => [row.contract_line_id, row.period_start_at.getTime() / 1_000]))
  },
})

/** Adds the lines of a contract. @returns undefined for undefined */
async function withLinesOf(
  db: Queryable,
  namespaceId: string,
  contract: ContractRecord | undefined,
): Promise<StoredContract | undefined> {
  return contract && (await withLines(db, namespaceId, [contract]))[0]
}

async function withLines(
  db: Queryable,
  namespaceId: string,
  contracts: readonly ContractRecord[],
): Promise<StoredContract[]> {
  const ids = contracts.map(({ id }) => id)
  const lines = await contractLineRepository(db).listOf(namespaceId, ids)
  return contracts.map((contract) => ({ ...contract, lines: lines.get(contract.id) ?? [] }))
}

async function findOne(db: Queryable, text: string, values: unknown[]): Promise<ContractRecord | undefined> {
  const { rows } = await db.query<ContractRow>(text, values)
  return rows.map(contractFromRow)[0]
}

/** @param field the field of the request that makes the account follow a card; undefined if no field does */
function explain(err: unknown, taken: ErrorCode, field?: string): unknown {
  if (isExclusionViolation(err, 'contract_lines_one_card'))
    return new DomainError(
      'conflict',
      `${field === undefined ? '' : `${field}: `}the account already follows a rate card at that time, and can follow only one at a time`,
      { cause: err },
    )
  return explainTaken(err, { name: 'contracts', noun: 'contract' }, taken)
}

const contractFromRow = (row: ContractRow): ContractRecord => ({
  id: row.contract_id,
  accountId: row.account_id,
  currency: row.currency,
  cadence: row.cadence,
  anchorAt: secondsOf(row.anchor_at),
  startsAt: secondsOf(row.starts_at),
  endsAt: row.ends_at && secondsOf(row.ends_at),
  cancelAt: row.cancel_at && secondsOf(row.cancel_at),
  cancellation:
    row.cancel_mode === null || row.cancel_requested_at === null
      ? null
      : {
          mode: row.cancel_mode,
          reason: row.cancel_reason,
          requestedAt: secondsOf(row.cancel_requested_at),
        },
  name: row.name,
  description: row.description,
  externalId: row.external_id,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

/** All times in the terms of a contract are whole seconds. */
const secondsOf = (at: Date): number => at.getTime() / 1_000
