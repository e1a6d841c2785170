import { nameOfAccount, type AccountKey } from '../domain/account-key.ts'
import { isUnchanged, type Changes } from '../domain/changes.ts'
import { pageOf, unknownCursor, type Page, type PageRequest } from '../domain/page.ts'
import type { Account } from '../domain/account.ts'
import { sortNameOf } from '../domain/sort-name.ts'
import { DomainError, type ErrorCode } from '../errors/domain-error.ts'
import { readInIndexOrder } from './core/in-index-order.ts'
import type { Queryable } from './core/pool.ts'
import { setOnce, unset } from './core/set-once.ts'
import { isForeignKeyViolation, isUniqueViolation } from './core/violations.ts'

export type NewAccount = Omit<Account, 'createdAt' | 'updatedAt' | 'archivedAt'>

export type AccountChanges = Changes<Pick<Account, 'name' | 'description' | 'externalId' | 'customerId'>>

/** newest first, or by customer name and then account name, without case, accounts without a customer last */
export type AccountSort = 'created_at' | 'customer_name'

interface AccountRow {
  account_id: string
  external_id: string | null
  customer_id: string | null
  name: string
  description: string | null
  created_at: Date
  updated_at: Date
  archived_at: Date | null
}

const COLUMNS = 'account_id, external_id, customer_id, name, description, created_at, updated_at, archived_at'
const INSERT = `
  INSERT INTO accounts (namespace_id, account_id, external_id, customer_id, name, description, sort_name,
    customer_sort_name, created_at, updated_at)
  SELECT $1, $2, $3, $4, $5, $6, $7,
    coalesce((SELECT '0' || sort_name FROM customers WHERE namespace_id = $1 AND customer_id = $4 FOR SHARE), '1'),
    at, at
  FROM clock_timestamp() AS at
  RETURNING ${COLUMNS}`
const FIND = `SELECT ${COLUMNS} FROM accounts WHERE namespace_id = $1 AND account_id = $2`
const FIND_BY_EXTERNAL_ID = `SELECT ${COLUMNS} FROM accounts WHERE namespace_id = $1 AND external_id = $2`

// Why FOR SHARE, and before the account's own row is taken: a customer who is being renamed holds its row first and its
// accounts' rows next. Whoever attaches an account in the meantime waits, and reads the new name.
const FIND_CUSTOMER_SORT_NAME = `
  SELECT sort_name FROM customers WHERE namespace_id = $1 AND customer_id = $2 FOR SHARE`
// Why jsonb_populate_record: it leaves a column that the changes in $3 do not name as the row has it at that moment, so
// that two changes of different fields at once both hold.
const UPDATE = `
  UPDATE accounts AS a SET
    (name, sort_name, description, external_id, customer_id, customer_sort_name) =
      (SELECT name, sort_name, description, external_id, customer_id, customer_sort_name
        FROM jsonb_populate_record(a, $3)),
    updated_at = clock_timestamp()
  WHERE namespace_id = $1 AND account_id = $2
  RETURNING ${COLUMNS}`
const ARCHIVE = `
  UPDATE accounts SET ${setOnce('archived_at')}
  WHERE namespace_id = $1 AND account_id = $2
  RETURNING ${COLUMNS}`
const UNARCHIVE = `
  UPDATE accounts SET ${unset('archived_at')}
  WHERE namespace_id = $1 AND account_id = $2
  RETURNING ${COLUMNS}`
// A write of about 30 microseconds for each account, so a customer with very many takes longer than others may.
const FOLLOW_TIMEOUT = "SET LOCAL statement_timeout = '60s'"
const FOLLOW_CUSTOMER = `
  UPDATE accounts SET customer_sort_name = '0' || $3
  WHERE namespace_id = $1 AND customer_id = $2`

const LIST: Record<AccountSort, { first: string; next: string }> = {
  created_at: {
    first: `SELECT ${COLUMNS} FROM accounts WHERE namespace_id = $1
      ORDER BY created_at DESC, account_id DESC LIMIT $2`,
    next: `SELECT ${COLUMNS} FROM accounts WHERE namespace_id = $1
      AND (created_at, account_id) <
        (SELECT created_at, account_id FROM accounts WHERE namespace_id = $1 AND account_id = $3)
      ORDER BY created_at DESC, account_id DESC LIMIT $2`,
  },
  customer_name: {
    first: `SELECT ${COLUMNS} FROM accounts WHERE namespace_id = $1
      ORDER BY customer_sort_name, sort_name, account_id LIMIT $2`,
    next: `SELECT ${COLUMNS} FROM accounts WHERE namespace_id = $1
      AND (customer_sort_name, sort_name, account_id) >
        (SELECT customer_sort_name, sort_name, account_id FROM accounts WHERE namespace_id = $1 AND account_id = $3)
      ORDER BY customer_sort_name, sort_name, account_id LIMIT $2`,
  },
}

/**
 * Finds accounts of any namespaces in one round trip, outside of a transaction.
 *
 * @returns for each key its account, undefined where there is none
 */
export async function findAccounts(
  db: Queryable,
  keys: readonly AccountKey[],
): Promise<(Account | undefined)[]> {
  const { rows } = await db.query<AccountRow & { namespace_id: string }>({
    name: 'find-accounts',
    text: `SELECT namespace_id, ${COLUMNS} FROM find_accounts($1, $2)`,
    values: [keys.map(({ namespaceId }) => namespaceId), keys.map(({ accountId }) => accountId)],
  })
  const keyOf = (row: (typeof rows)[number]) => ({ namespaceId: row.namespace_id, accountId: row.account_id })
  const found = new Map(rows.map((row) => [nameOfAccount(keyOf(row)), accountFromRow(row)]))
  return keys.map((key) => found.get(nameOfAccount(key)))
}

export const accountRepository = (db: Queryable) => ({
  /**
   * @throws DomainError conflict when another account has the external id, unprocessable when there is no such customer
   */
  async insert(namespaceId: string, account: NewAccount): Promise<Account> {
    const { id, externalId, customerId, name, description } = account
    try {
      const values = [namespaceId, id, externalId, customerId, name, description, sortNameOf(name)]
      const { rows } = await db.query<AccountRow>(INSERT, values)
      return rows.map(accountFromRow)[0] as Account
    } catch (err) {
      throw explain(err, 'conflict')
    }
  },

  /**
   * Changes the fields that are named. Within a transaction.
   *
   * @returns the account, undefined when there is none
   * @throws DomainError unprocessable when another account has the external id or there is no such customer
   */
  async update(
    namespaceId: string,
    accountId: string,
    changes: AccountChanges,
  ): Promise<Account | undefined> {
    if (isUnchanged(changes)) return this.find(namespaceId, accountId)
    const { name, description, externalId, customerId } = changes
    const columns = {
      name,
      sort_name: name === undefined ? undefined : sortNameOf(name),
      description,
      external_id: externalId,
      customer_id: customerId,
      customer_sort_name:
        customerId === undefined ? undefined : await customerSortName(db, namespaceId, customerId),
    }
    try {
      return await findOne(db, UPDATE, [namespaceId, accountId, JSON.stringify(columns)])
    } catch (err) {
      throw explain(err, 'unprocessable')
    }
  },

  /** Archiving again keeps the first time. @returns the account, undefined when there is none */
  archive: (namespaceId: string, accountId: string) => findOne(db, ARCHIVE, [namespaceId, accountId]),

  /** @returns the account, undefined when there is none */
  unarchive: (namespaceId: string, accountId: string) => findOne(db, UNARCHIVE, [namespaceId, accountId]),

  /** Lets the accounts of a customer be sorted by its new name, in the transaction that renames it. */
  async followCustomer(namespaceId: string, customerId: string, sortName: string): Promise<void> {
    await db.query(FOLLOW_TIMEOUT)
    await db.query(FOLLOW_CUSTOMER, [namespaceId, customerId, sortName])
  },

  find: (namespaceId: string, accountId: string) => findOne(db, FIND, [namespaceId, accountId]),

  findByExternalId: (namespaceId: string, externalId: string) =>
    findOne(db, FIND_BY_EXTERNAL_ID, [namespaceId, externalId]),

  /** @throws DomainError malformed when startingAfter is no account of the namespace */
  async list(namespaceId: string, sort: AccountSort, page: PageRequest): Promise<Page<Account>> {
    const { limit, startingAfter } = page
    if (startingAfter !== undefined && (await this.find(namespaceId, startingAfter)) === undefined)
      throw unknownCursor()
    await readInIndexOrder(db)
    const { first, next } = LIST[sort]
    const { rows } =
      startingAfter === undefined
        ? await db.query<AccountRow>(first, [namespaceId, limit + 1])
        : await db.query<AccountRow>(next, [namespaceId, limit + 1, startingAfter])
    return pageOf(rows.map(accountFromRow), limit)
  },
})

async function findOne(db: Queryable, text: string, values: unknown[]): Promise<Account | undefined> {
  const { rows } = await db.query<AccountRow>(text, values)
  return rows.map(accountFromRow)[0]
}

/**
 * What an account of this customer is sorted by first; of an unknown customer it does not matter, the row is refused.
 */
async function customerSortName(
  db: Queryable,
  namespaceId: string,
  customerId: string | null,
): Promise<string> {
  if (customerId === null) return '1'
  const { rows } = await db.query<{ sort_name: string }>(FIND_CUSTOMER_SORT_NAME, [namespaceId, customerId])
  return `0${rows[0]?.sort_name ?? ''}`
}

/** @param taken what it is when another account has the external id */
function explain(err: unknown, taken: ErrorCode): unknown {
  if (isUniqueViolation(err, 'accounts_external_id'))
    return new DomainError(taken, 'external_id: another account has it', { cause: err })
  if (isForeignKeyViolation(err, 'accounts_customer'))
    return new DomainError('unprocessable', 'service_customer_id: there is no such customer', { cause: err })
  return err
}

const accountFromRow = (row: AccountRow): Account => ({
  id: row.account_id,
  externalId: row.external_id,
  customerId: row.customer_id,
  name: row.name,
  description: row.description,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  archivedAt: row.archived_at,
})
