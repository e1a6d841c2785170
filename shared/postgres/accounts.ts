import type { Account } from '../domain/account.ts'
import { type AccountKey, nameOfAccount } from '../domain/account-key.ts'
import type { Changes } from '../domain/changes.ts'
import { type Page, pageOf, type PageRequest, unknownCursor } from '../domain/page.ts'
import { searchTextOf } from '../domain/search-text.ts'
import { DomainError } from '../errors/domain-error.ts'
import { readInIndexOrder } from './core/in-index-order.ts'
import { SQL_OF_ORDER } from './core/list-order.ts'
import type { Queryable } from './core/pool.ts'
import {
  fieldsOf,
  findByExternalId,
  findingAndArchiving,
  firstRow,
  insertRow,
  isFoundBy,
  type ResourceTable,
  sortColumnsOf,
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

/** Which accounts a list has; undefined does not filter. */
export interface AccountFilter {
  /** Text that the account's name or external id or its customer's name contains, in any case. */
  query?: string | undefined
  customerId?: string | undefined
  isArchived?: boolean | undefined
}

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

/** The columns of each order, their direction, and how an account compares with the account before it. */
const SORTS: Record<AccountSort, { columns: string[]; direction: string; isAfter: string }> = {
  created_at: { columns: ['created_at', 'account_id'], ...SQL_OF_ORDER.newest },
  customer_name: {
    columns: ['customer_sort_name', 'sort_name', 'account_id'],
    ...SQL_OF_ORDER.oldest,
  },
}
const OF_CUSTOMER: Record<AccountSort, (parameter: string) => string> = {
  created_at: (parameter) => `customer_id = ${parameter}`,
  // Why the name: the index of this order begins with it. Few other customers have the same name.
  customer_name: (parameter) => `customer_id = ${parameter}
    AND customer_sort_name =
      (SELECT '0' || sort_name FROM customers WHERE namespace_id = $1 AND customer_id = ${parameter})`,
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

  /** Updates the names by which a customer's accounts are sorted and found, in the transaction that renames the customer. */
  async followCustomer(namespaceId: string, customerId: string, sortName: string): Promise<void> {
    await db.query(FOLLOW_TIMEOUT)
    await db.query(FOLLOW_CUSTOMER, [namespaceId, customerId, sortName])
  },

  findByExternalId: (namespaceId: string, externalId: string) =>
    findByExternalId(db, ACCOUNTS, namespaceId, externalId),

  /** @throws DomainError malformed when startingAfter is no account of the namespace */
  async list(
    namespaceId: string,
    sort: AccountSort,
    filter: AccountFilter,
    { limit, startingAfter }: PageRequest,
  ): Promise<Page<Account>> {
    if (startingAfter !== undefined && (await this.find(namespaceId, startingAfter)) === undefined)
      throw unknownCursor()
    await readInIndexOrder(db)
    const { text, values } = listStatement(namespaceId, sort, filter, limit + 1, startingAfter)
    const { rows } = await db.query<Account>(text, values)
    return pageOf(rows, limit)
  },
})

/** The statement of a page. Each combination of filters is a statement of its own. */
function listStatement(
  namespaceId: string,
  sort: AccountSort,
  { query, customerId, isArchived }: AccountFilter,
  rows: number,
  startingAfter: string | undefined,
): { text: string; values: unknown[] } {
  const { columns, direction, isAfter } = SORTS[sort]
  const values: unknown[] = [namespaceId, rows]
  const parameter = (value: unknown) => `$${values.push(value)}`
  const conditions = ['namespace_id = $1']
  if (customerId !== undefined) conditions.push(OF_CUSTOMER[sort](parameter(customerId)))
  if (isArchived !== undefined) conditions.push(`archived_at IS ${isArchived ? 'NOT ' : ''}NULL`)
  if (query !== undefined) conditions.push(isFoundBy(parameter(searchTextOf(query))))
  if (startingAfter !== undefined)
    conditions.push(`(${columns.join(', ')}) ${isAfter}
      (SELECT ${columns.join(', ')} FROM accounts WHERE namespace_id = $1 AND account_id = ${parameter(startingAfter)})`)
  return {
    text: `SELECT ${FIELDS} FROM accounts WHERE ${conditions.join(' AND ')}
      ORDER BY ${columns.map((column) => `${column} ${direction}`).join(', ')} LIMIT $2`,
    values,
  }
}

/** Returns the names that an account is sorted by and found by: its own, its external id, its customer's name. */
async function sortNamesOf(
  db: Queryable,
  namespaceId: string,
  { name, externalId, customerId }: AccountChanges,
): Promise<object> {
  return {
    ...sortColumnsOf({ name, externalId }),
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
