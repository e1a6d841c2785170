import type { Changes } from '../domain/changes.ts'
import { isUnchanged } from '../domain/changes.ts'
import type { Customer } from '../domain/customer.ts'
import type { PageRequest } from '../domain/page.ts'
import { sortNameOf } from '../domain/sort-name.ts'
import { accountRepository } from './accounts.ts'
import type { Queryable } from './core/pool.ts'
import {
  findRow,
  firstRow,
  insertInOrder,
  listRows,
  type ResourceTable,
  updateRow,
} from './core/resource-table.ts'

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
    insertInOrder(db, CUSTOMERS, namespaceId, customer, { sort_name: sortNameOf(customer.name) }),

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
    const sortName = changes.name === undefined ? undefined : sortNameOf(changes.name)
    const changed = await updateRow(db, CUSTOMERS, namespaceId, customerId, changes, { sort_name: sortName })
    if (sortName !== undefined && sortName !== before?.sortName)
      await accountRepository(db).followCustomer(namespaceId, customerId, sortName)
    return changed
  },

  /** @param externalId limits the list to the customer with this external id; undefined for all */
  list: (namespaceId: string, externalId: string | undefined, page: PageRequest) =>
    listRows(db, CUSTOMERS, namespaceId, { external_id: externalId }, page),
})
