import { randomUUID } from 'node:crypto'
import { newId } from '../../../shared/domain/ids.ts'
import { sortNameOf } from '../../../shared/domain/sort-name.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'

/** An account that was written, with its sort key. */
export interface MadeAccount {
  id: string
  name: string
  customerId: string | null
  customerName: string | null
}

interface MadeCustomer {
  id: string
  name: string
}

/** Names that differ only in case, in Unicode composition, or in characters outside the basic plane. */
const NAMES = [
  'acme',
  'Acme',
  'ACME',
  '\u00c4rger',
  'A\u0308RGER',
  'a\u0308rger',
  '😀',
  '😀😁',
  '',
  'zebra',
  'Zebra 2',
  '山',
]

const INSERT_CUSTOMERS = `
  INSERT INTO customers (namespace_id, customer_id, name, sort_name, created_at, updated_at)
  SELECT $1, id, name, sort_name, clock_timestamp(), clock_timestamp()
  FROM unnest($2::uuid[], $3::text[], $4::text[]) AS t (id, name, sort_name)`
const INSERT_ACCOUNTS = `
  INSERT INTO accounts (namespace_id, account_id, name, sort_name, customer_id, customer_sort_name, created_at, updated_at)
  SELECT $1, id, t.name, t.sort_name, t.customer_id, coalesce('0' || c.sort_name, '1'), at, at
  FROM unnest($2::text[], $3::text[], $4::text[], $5::uuid[]) AS t (id, name, sort_name, customer_id)
  CROSS JOIN clock_timestamp() AS at
  LEFT JOIN customers c ON c.namespace_id = $1 AND c.customer_id = t.customer_id`
const ACCOUNTS_AT_ONCE = 10_000

/**
 * Writes many accounts directly to the database: a fifth without a customer, a fifth of one customer, the others of
 * 1,000 customers. In addition, 5,000 customers have no account.
 */
export async function makeManyAccounts(
  pool: Pool,
  namespaceId: string,
  count: number,
): Promise<{ accounts: MadeAccount[]; largest: MadeCustomer }> {
  const customers = Array.from({ length: 6_000 }, (_, n) => ({ id: randomUUID(), name: nameOf(n) }))
  const largest = customers[0] as MadeCustomer
  const ownerOf = (n: number): MadeCustomer | undefined =>
    n % 5 === 0 ? undefined : n % 5 === 1 ? largest : customers[(n * 7) % 1_000]
  const accounts = Array.from({ length: count }, (_, n) => {
    const owner = ownerOf(n)
    const customer = { customerId: owner?.id ?? null, customerName: owner?.name ?? null }
    return { id: newId('account'), name: nameOf(n * 13), ...customer }
  })
  await inNamespace(pool, namespaceId, async (db) => {
    const names = customers.map(({ name }) => name)
    const ids = customers.map(({ id }) => id)
    await db.query(INSERT_CUSTOMERS, [namespaceId, ids, names, names.map(sortNameOf)])
    for (let start = 0; start < count; start += ACCOUNTS_AT_ONCE) {
      const some = accounts.slice(start, start + ACCOUNTS_AT_ONCE)
      await db.query(INSERT_ACCOUNTS, [
        namespaceId,
        some.map(({ id }) => id),
        some.map(({ name }) => name),
        some.map(({ name }) => sortNameOf(name)),
        some.map(({ customerId }) => customerId),
      ])
    }
  })
  return { accounts, largest }
}

/** Several accounts share each name, and some names differ only by a number. */
function nameOf(n: number): string {
  const name = NAMES[n % NAMES.length] ?? ''
  return n % 3 === 0 ? name : `${name} ${n % 97}`
}
