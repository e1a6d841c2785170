import type { Customer } from '../domain/resources.ts'
import { sortNameOf } from '../domain/sort-name.ts'
import { DomainError } from '../errors/domain-error.ts'
import type { Queryable } from './pool.ts'
import { isUniqueViolation } from './violations.ts'

export type NewCustomer = Omit<Customer, 'createdAt' | 'updatedAt'>

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

export const customerRepository = (db: Queryable) => ({
  /** @throws DomainError conflict when another customer has the external id */
  async insert(namespaceId: string, customer: NewCustomer): Promise<Customer> {
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
      if (isUniqueViolation(err, 'customers_external_id'))
        throw new DomainError('conflict', 'external_id: another customer has it', { cause: err })
      throw err
    }
  },

  async find(namespaceId: string, customerId: string): Promise<Customer | undefined> {
    const { rows } = await db.query<CustomerRow>(FIND, [namespaceId, customerId])
    return rows.map(customerFromRow)[0]
  },
})

const customerFromRow = (row: CustomerRow): Customer => ({
  id: row.customer_id,
  name: row.name,
  externalId: row.external_id,
  paymentsCustomerId: row.payments_customer_id,
  accountingCustomerId: row.accounting_customer_id,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})
