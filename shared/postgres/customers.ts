import type { Changes } from '../domain/changes.ts'
import { isUnchanged } from '../domain/changes.ts'
import type { Customer } from '../domain/customer.ts'
import type { PageRequest } from '../domain/page.ts'
import { searchTextOf } from '../domain/search-text.ts'
import { accountRepository } from './accounts.ts'
import type { Queryable } from './core/pool.ts'
import {
  findRow,
  firstRow,
  insertInOrder,
  listRows,
  type ResourceTable,
  sortColumnsOf,
  updateRow,
} from './core/resource-table.ts'

/** Which customers a list has; undefined does not filter. */
export interface CustomerFilter {
  externalId?: string | undefined
  /** Text that the customer's name or external id contains, in any case. */
  query?: string | undefined
}

export type NewCustomer = Omit<Customer, 'createdAt' | 'updatedAt'>

const CUSTOMERS: ResourceTable<Customer> = {
  name: 'customers',
  noun: 'customer',
  columns: {
    id: 'customer_id',
    name: 'name',
    externalId: 'external_id',
    paymentsCustomerId: 'payments_customer_id',
    accountingCustomerId: 'accounting_customer_id',
    createdAt: 'created_at',
    updatedAt: 'updated_at',
  },
}
const LOCK = `
  SELECT sort_name AS "sortName" FROM customers WHERE namespace_id = $1 AND customer_id = $2 FOR UPDATE`

export const customerRepository = (db: Queryable) => ({
  /**
   * Inserts a customer, within a transaction. @throws DomainError conflict when another customer has the external id
   */
  insert: (namespaceId: string, customer: NewCustomer) =>
    insertInOrder(db, CUSTOMERS, namespaceId, customer, sortColumnsOf(customer)),

  find: (namespaceId: string, customerId: string) => findRow(db, CUSTOMERS, namespaceId, customerId),

  /**
   * Changes the given fields, within a transaction. Accounts are sorted by their customer's name. Therefore, a new name
   * that differs in more than case costs a write for each account of the customer.
   *
   * @returns the customer, undefined when there is none
   * @throws DomainError unprocessable when another customer has the external id
   */
  async update(
    namespaceId: string,
    customerId: string,
    changes: Changes<Omit<NewCustomer, 'id'>>,
  ): Promise<Customer | undefined> {
    if (isUnchanged(changes)) return this.find(namespaceId, customerId)
    const before = await firstRow<{ sortName: string }>(db, LOCK, [namespaceId, customerId])
    const columns = sortColumnsOf(changes)
    const { sort_name: sortName } = columns
    const changed = await updateRow(db, CUSTOMERS, namespaceId, customerId, changes, columns)
    if (sortName !== undefined && sortName !== before?.sortName)
      await accountRepository(db).followCustomer(namespaceId, customerId, sortName)
    return changed
  },

  list: (namespaceId: string, { externalId, query }: CustomerFilter, page: PageRequest) =>
    listRows(
      db,
      CUSTOMERS,
      namespaceId,
      { external_id: externalId },
      page,
      query === undefined ? undefined : searchTextOf(query),
    ),
})
