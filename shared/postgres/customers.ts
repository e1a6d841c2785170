import { isUnchanged, type Changes } from '../domain/changes.ts'
import { pageOf, unknownCursor, type Page, type PageRequest } from '../domain/page.ts'
import type { Customer } from '../domain/customer.ts'
import { sortNameOf } from '../domain/sort-name.ts'
import { DomainError, type ErrorCode } from '../errors/domain-error.ts'
import { accountRepository } from './accounts.ts'
import { lockCreation } from './locks/creation-lock.ts'
import { readInIndexOrder } from './core/in-index-order.ts'
import type { Queryable } from './core/pool.ts'
import { isUniqueViolation } from './core/violations.ts'

export type NewCustomer = Omit<Customer, 'createdAt' | 'updatedAt'>

export type CustomerChanges = Changes<Omit<NewCustomer, 'id'>>

interface CustomerRow {
  customer_id: string
  name: string
  external_id: string | null
  payments_customer_id: string | null
  accounting_customer_id: string | null
  created_at: Date
  updated_at: Date
}

const COLUMNS = `customer_id, name, external_id, payments_customer_id, accounting_customer_id, created_at, updated_at`
const INSERT = `
  INSERT INTO customers (namespace_id, customer_id, name, sort_name, external_id, payments_customer_id,
    accounting_customer_id, created_at, updated_at)
  SELECT $1, $2, $3, $4, $5, $6, $7, at, at FROM clock_timestamp() AS at
  RETURNING ${COLUMNS}`
const FIND = `SELECT ${COLUMNS} FROM customers WHERE namespace_id = $1 AND customer_id = $2`
const LIST = `
  SELECT ${COLUMNS} FROM customers WHERE namespace_id = $1
    AND ($3::text IS NULL OR external_id = $3)
    AND ($4::uuid IS NULL OR (created_at, customer_id) >
      (SELECT created_at, customer_id FROM customers WHERE namespace_id = $1 AND customer_id = $4))
  ORDER BY created_at, customer_id LIMIT $2`
const LOCK = `SELECT sort_name FROM customers WHERE namespace_id = $1 AND customer_id = $2 FOR UPDATE`
const UPDATE = `
  UPDATE customers AS c SET
    (name, sort_name, external_id, payments_customer_id, accounting_customer_id) =
      (SELECT name, sort_name, external_id, payments_customer_id, accounting_customer_id
        FROM jsonb_populate_record(c, $3)),
    updated_at = clock_timestamp()
  WHERE namespace_id = $1 AND customer_id = $2
  RETURNING ${COLUMNS}`

export const customerRepository = (db: Queryable) => ({
  /**
   * Within a transaction: customers of a namespace are made one after the other, so that a list can be kept up with.
   *
   * @throws DomainError conflict when another customer has the external id
   */
  async insert(namespaceId: string, customer: NewCustomer): Promise<Customer> {
    await lockCreation(db, 'customers', namespaceId)
    const { id, name, externalId, paymentsCustomerId, accountingCustomerId } = customer
    try {
      const { rows } = await db.query<CustomerRow>(INSERT, [
        namespaceId,
        id,
        name,
        sortNameOf(name),
        externalId,
        paymentsCustomerId,
        accountingCustomerId,
      ])
      return rows.map(customerFromRow)[0] as Customer
    } catch (err) {
      throw explain(err, 'conflict')
    }
  },

  /**
   * Changes the fields that are named. Within a transaction, because accounts are sorted by their customer's name: a
   * name that differs in more than case costs a write for each account of the customer.
   *
   * @returns the customer, undefined when there is none
   * @throws DomainError unprocessable when another customer has the external id
   */
  async update(
    namespaceId: string,
    customerId: string,
    changes: CustomerChanges,
  ): Promise<Customer | undefined> {
    if (isUnchanged(changes)) return this.find(namespaceId, customerId)
    const { rows: locked } = await db.query<{ sort_name: string }>(LOCK, [namespaceId, customerId])
    const { name, externalId, paymentsCustomerId, accountingCustomerId } = changes
    const sortName = name === undefined ? undefined : sortNameOf(name)
    const columns = {
      name,
      sort_name: sortName,
      external_id: externalId,
      payments_customer_id: paymentsCustomerId,
      accounting_customer_id: accountingCustomerId,
    }
    try {
      const values = [namespaceId, customerId, JSON.stringify(columns)]
      const { rows } = await db.query<CustomerRow>(UPDATE, values)
      if (sortName !== undefined && sortName !== locked[0]?.sort_name)
        await accountRepository(db).followCustomer(namespaceId, customerId, sortName)
      return rows.map(customerFromRow)[0]
    } catch (err) {
      throw explain(err, 'unprocessable')
    }
  },

  async find(namespaceId: string, customerId: string): Promise<Customer | undefined> {
    const { rows } = await db.query<CustomerRow>(FIND, [namespaceId, customerId])
    return rows.map(customerFromRow)[0]
  },

  /**
   * In order of creation.
   *
   * @param externalId only the customer that has this one
   * @throws DomainError malformed when startingAfter is no customer of the namespace
   */
  async list(
    namespaceId: string,
    externalId: string | undefined,
    page: PageRequest,
  ): Promise<Page<Customer>> {
    const { limit, startingAfter } = page
    if (startingAfter !== undefined && (await this.find(namespaceId, startingAfter)) === undefined)
      throw unknownCursor()
    await readInIndexOrder(db)
    const values = [namespaceId, limit + 1, externalId ?? null, startingAfter ?? null]
    const { rows } = await db.query<CustomerRow>(LIST, values)
    return pageOf(rows.map(customerFromRow), limit)
  },
})

/** @param taken what it is when another customer has the external id */
function explain(err: unknown, taken: ErrorCode): unknown {
  if (isUniqueViolation(err, 'customers_external_id'))
    return new DomainError(taken, 'external_id: another customer has it', { cause: err })
  return err
}

const customerFromRow = (row: CustomerRow): Customer => ({
  id: row.customer_id,
  name: row.name,
  externalId: row.external_id,
  paymentsCustomerId: row.payments_customer_id,
  accountingCustomerId: row.accounting_customer_id,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})
