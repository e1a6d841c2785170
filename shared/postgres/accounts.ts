import type { Account } from '../domain/resources.ts'
import { sortNameOf } from '../domain/sort-name.ts'
import { DomainError } from '../errors/domain-error.ts'
import { pageOf, unknownCursor, type Page, type PageRequest } from '../domain/page.ts'
import type { Queryable } from './pool.ts'
import { isForeignKeyViolation, isUniqueViolation } from './violations.ts'

export type NewAccount = Omit<Account, 'createdAt' | 'updatedAt' | 'archivedAt'>

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
      if (isUniqueViolation(err, 'accounts_external_id'))
        throw new DomainError('conflict', 'external_id: another account has it', { cause: err })
      if (isForeignKeyViolation(err, 'accounts_customer'))
        throw new DomainError('unprocessable', 'service_customer_id: there is no such customer', {
          cause: err,
        })
      throw err
    }
  },

  async find(namespaceId: string, accountId: string): Promise<Account | undefined> {
    const { rows } = await db.query<AccountRow>(FIND, [namespaceId, accountId])
    return rows.map(accountFromRow)[0]
  },

  async findByExternalId(namespaceId: string, externalId: string): Promise<Account | undefined> {
    const { rows } = await db.query<AccountRow>(FIND_BY_EXTERNAL_ID, [namespaceId, externalId])
    return rows.map(accountFromRow)[0]
  },

  /** @throws DomainError malformed when startingAfter is no account of the namespace */
  async list(namespaceId: string, sort: AccountSort, page: PageRequest): Promise<Page<Account>> {
    const { limit, startingAfter } = page
    if (startingAfter !== undefined && (await this.find(namespaceId, startingAfter)) === undefined)
      throw unknownCursor()
    const { first, next } = LIST[sort]
    const { rows } =
      startingAfter === undefined
        ? await db.query<AccountRow>(first, [namespaceId, limit + 1])
        : await db.query<AccountRow>(next, [namespaceId, limit + 1, startingAfter])
    return pageOf(rows.map(accountFromRow), limit)
  },
})

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
