import type { Account } from '../domain/account.ts'
import { type AccountKey, nameOfAccount } from '../domain/account-key.ts'
import type { Changes } from '../domain/changes.ts'
import { type Page, pageOf, type PageRequest, unknownCursor } from '../domain/page.ts'
import { sortNameOf } from '../domain/sort-name.ts'
import { DomainError } from '../errors/domain-error.ts'
import { readInIndexOrder } from './core/in-index-order.ts'
import type { Queryable } from './core/pool.ts'
import {
  fieldsOf,
  findByExternalId,
  findingAndArchiving,
  firstRow,
  insertRow,
  type ResourceTable,
  updateRow,
} from './core/resource-table.ts'
import { isForeignKeyViolation } from './core/violations.ts'

export type NewAccount = Omit<Account, 'createdAt' | 'updatedAt' | 'archivedAt'>

export type AccountChanges = Changes<Pick<Account, 'name' | 'description' | 'externalId' | 'customerId'>>

/**
 * The order of a list: newest first, or by customer name and then account name. Names are compared without regard to
 * case, and accounts without a customer come last.
 */
export type AccountSort = 'created_at' | 'customer_name'

const ACCOUNTS: ResourceTable<Account> = {
  name: 'accounts',
  noun: 'account',
  columns: {
    id: 'account_id',
    externalId: 'external_id',
    customerId: 'customer_id',
    name: 'name',
    description: 'description',
    createdAt: 'created_at',
    updatedAt: 'updated_at',
    archivedAt: 'archived_at',
  },
}
const FIELDS = fieldsOf(ACCOUNTS)

// Why FOR SHARE: renaming a customer locks the customer's row first, and the rows of its accounts next. A transaction
// that attaches an account takes its locks in the same order. During a renaming it waits, then reads the new name.
const FIND_CUSTOMER_SORT_NAME = `
  SELECT sort_name AS "sortName" FROM customers WHERE namespace_id = $1 AND customer_id = $2 FOR SHARE`
// The statement writes every account of the customer. With very many accounts it takes longer than other statements
// may.
const FOLLOW_TIMEOUT = "SET LOCAL statement_timeout = '60s'"
const FOLLOW_CUSTOMER = `
  UPDATE accounts SET customer_sort_name = '0' || $3
  WHERE namespace_id = $1 AND customer_id = $2`

const LIST: Record<AccountSort, { first: string; next: string }> = {
  created_at: {
    first: `SELECT ${FIELDS} FROM accounts WHERE namespace_id = $1
      ORDER BY created_at DESC, account_id DESC LIMIT $2`,
    next: `SELECT ${FIELDS} FROM accounts WHERE namespace_id = $1
      AND (created_at, account_id) <
        (SELECT created_at, account_id FROM accounts WHERE namespace_id = $1 AND account_id = $3)
      ORDER BY created_at DESC, account_id DESC LIMIT $2`,
  },
  customer_name: {
    first: `SELECT ${FIELDS} FROM accounts WHERE namespace_id = $1
      ORDER BY customer_sort_name, sort_name, account_id LIMIT $2`,
    next: `SELECT ${FIELDS} FROM accounts WHERE namespace_id = $1
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
  const { rows } = await db.query<Account & { namespaceId: string }>({
    name: 'find-accounts',
    text: `SELECT namespace_id AS "namespaceId", ${FIELDS} FROM find_accounts($1, $2)`,
    values: [keys.map(({ namespaceId }) => namespaceId), keys.map(({ accountId }) => accountId)],
  })
  const found = new Map(
    rows.map(({ namespaceId, ...account }) => [
      nameOfAccount({ namespaceId, accountId: account.id }),
      account,
    ]),
  )
  return keys.map((key) => found.get(nameOfAccount(key)))
}

export const accountRepository = (db: Queryable) => ({
  ...findingAndArchiving(db, ACCOUNTS),

  /**
   * Inserts an account, within a transaction.
   *
   * @throws DomainError conflict when another account has the external id, unprocessable when there is no such customer
   */
  async insert(namespaceId: string, account: NewAccount): Promise<Account> {
    const sortNames = await sortNamesOf(db, namespaceId, account)
    return insertRow(db, ACCOUNTS, namespaceId, account, sortNames).catch(explainCustomer)
  },

  /**
   * Changes the given fields, within a transaction.
   *
   * @returns the account, undefined when there is none
   * @throws DomainError unprocessable when another account has the external id or there is no such customer
   */
  async update(
    namespaceId: string,
    accountId: string,
    changes: AccountChanges,
  ): Promise<Account | undefined> {
    const sortNames = await sortNamesOf(db, namespaceId, changes)
    return updateRow(db, ACCOUNTS, namespaceId, accountId, changes, sortNames).catch(explainCustomer)
  },

  /** Updates the names by which a customer's accounts are sorted, in the transaction that renames the customer. */
  async followCustomer(namespaceId: string, customerId: string, sortName: string): Promise<void> {
    await db.query(FOLLOW_TIMEOUT)
    await db.query(FOLLOW_CUSTOMER, [namespaceId, customerId, sortName])
  },

  findByExternalId: (namespaceId: string, externalId: string) =>
    findByExternalId(db, ACCOUNTS, namespaceId, externalId),

  /** @throws DomainError malformed when startingAfter is no account of the namespace */
  async list(namespaceId: string, sort: AccountSort, page: PageRequest): Promise<Page<Account>> {
    const { limit, startingAfter } = page
    if (startingAfter !== undefined && (await this.find(namespaceId, startingAfter)) === undefined)
      throw unknownCursor()
    await readInIndexOrder(db)
    const { first, next } = LIST[sort]
    const { rows } =
      startingAfter === undefined
        ? await db.query<Account>(first, [namespaceId, limit + 1])
        : await db.query<Account>(next, [namespaceId, limit + 1, startingAfter])
    return pageOf(rows, limit)
  },
})

/** Returns the names that an account is sorted by: its customer's name, then its own. */
async function sortNamesOf(
  db: Queryable,
  namespaceId: string,
  { name, customerId }: AccountChanges,
): Promise<object> {
  return {
    sort_name: name === undefined ? undefined : sortNameOf(name),
    customer_sort_name:
      customerId === undefined ? undefined : await customerSortName(db, namespaceId, customerId),
  }
}

/**
 * Returns the customer name that an account is sorted by first. For an unknown customer any name can be returned,
 * because the foreign key then refuses the row.
 */
async function customerSortName(
  db: Queryable,
  namespaceId: string,
  customerId: string | null,
): Promise<string> {
  if (customerId === null) return '1'
  const customer = await firstRow<{ sortName: string }>(db, FIND_CUSTOMER_SORT_NAME, [
    namespaceId,
    customerId,
  ])
  return `0${customer?.sortName ?? ''}`
}

function explainCustomer(err: unknown): never {
  if (isForeignKeyViolation(err, 'accounts_customer'))
    throw new DomainError('unprocessable', 'service_customer_id: there is no such customer', { cause: err })
  throw err
}
