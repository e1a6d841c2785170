import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import pg from 'pg'
import { newId } from '../../../shared/domain/ids.ts'
import type { ListOrder } from '../../../shared/domain/page.ts'
import { type AccountFilter, accountRepository, type AccountSort } from '../../../shared/postgres/accounts.ts'
import { type AuditFilter, auditTrailRepository } from '../../../shared/postgres/audit-trail.ts'
import { companyRepository } from '../../../shared/postgres/companies.ts'
import { contractLineRepository } from '../../../shared/postgres/contract-lines.ts'
import { type ContractFilter, contractRepository } from '../../../shared/postgres/contracts.ts'
import type { Queryable } from '../../../shared/postgres/core/pool.ts'
import { inNamespace, withTransaction } from '../../../shared/postgres/core/transaction.ts'
import { type CustomerFilter, customerRepository } from '../../../shared/postgres/customers.ts'
import { type GrantFilter, grantRepository } from '../../../shared/postgres/grants.ts'
import { metricRepository } from '../../../shared/postgres/metrics.ts'
import { priceRepository } from '../../../shared/postgres/prices.ts'
import { productRepository } from '../../../shared/postgres/products.ts'
import { rateCardRepository } from '../../../shared/postgres/rate-cards.ts'
import { rateRepository } from '../../../shared/postgres/rates.ts'
import { refillConfigurationRepository } from '../../../shared/postgres/refill-configurations.ts'
import { refillRepository } from '../../../shared/postgres/refills.ts'
import { explaining } from '../../support/explaining.ts'
import { createDatabase, type TestDatabase } from '../../support/postgres.ts'

const PAGE = 20
const [NAMESPACE, COMPANY, KEY] = [randomUUID(), randomUUID(), randomUUID()]
const [FIRST_ACCOUNT, FIRST_METRIC] = [newId('account'), newId('metric')]
const [FIRST_PRODUCT, FIRST_CARD] = [newId('product'), newId('rate_card')]
const [FIRST_CONTRACT, FIRST_CUSTOMER] = [randomUUID(), randomUUID()]

/**
 * 100 accounts and metrics, 20,000 grants and 10,000 configurations; the first account and metric have half of each.
 */
const ROWS = [
  `INSERT INTO customers (namespace_id, customer_id, name, sort_name, created_at, updated_at)
    SELECT $1, gen_random_uuid(), 'Customer', 'customer ' || n % 2, now() + n * interval '1 second', now()
    FROM generate_series(1, 5000) n`,
  `INSERT INTO accounts (namespace_id, account_id, name, sort_name, customer_sort_name, created_at, updated_at)
    SELECT $1, CASE n WHEN 0 THEN $2 ELSE 'account_' || md5(n::text) END, '', '', '1', now(), now()
    FROM generate_series(0, 99) n`,
  `INSERT INTO metrics (namespace_id, metric_id, name, description, measurement_units, created_at, updated_at)
    SELECT $1, CASE n WHEN 0 THEN $3 ELSE 'metric_' || md5(n::text) END, '', '', '', now() + n * interval '1 second', now()
    FROM generate_series(0, 99) n`,
  `INSERT INTO grants (namespace_id, grant_id, account_id, metric_id, currency, amount, effective_at, accepted_at,
      created_at, updated_at)
    SELECT $1, 'grant_' || md5(n::text),
      CASE WHEN n % 2 = 0 THEN $2 ELSE 'account_' || md5((n % 99 + 1)::text) END,
      CASE WHEN n % 20 = 0 THEN NULL WHEN n % 4 < 2 THEN $3 ELSE 'metric_' || md5((n % 97 + 1)::text) END,
      CASE WHEN n % 20 = 0 THEN 'usd' END, 1, now(), now(), now() + n * interval '1 second', now()
    FROM generate_series(1, 20000) n`,
  `INSERT INTO refill_configurations (namespace_id, account_id, metric_id, minimum_balance, target_balance, is_active,
      created_at, updated_at)
    SELECT $1, account_id, metric_id, 0, 1, true, now() + row_number() OVER () * interval '1 second', now()
    FROM accounts CROSS JOIN metrics`,
  `INSERT INTO products (namespace_id, product_id, name, created_at, updated_at)
    SELECT $1, CASE n WHEN 0 THEN $6 ELSE 'product_' || md5(n::text) END, 'x', now() + n * interval '1 second', now()
    FROM generate_series(0, 4999) n`,
  `INSERT INTO prices (namespace_id, price_id, product_id, currency, terms, created_at, updated_at)
    SELECT $1, 'price_' || md5(n::text), CASE n % 2 WHEN 0 THEN $6 ELSE 'product_' || md5('1') END, 'usd',
      '{"model": "flat"}', now() + n * interval '1 second', now()
    FROM generate_series(1, 10000) n`,
  `INSERT INTO rate_cards (namespace_id, rate_card_id, name, currency, created_at, updated_at)
    SELECT $1, CASE n WHEN 0 THEN $7 ELSE 'rate_card_' || md5(n::text) END, 'x', 'usd', now() + n * interval '1 second', now()
    FROM generate_series(0, 4999) n`,
  `INSERT INTO rates (namespace_id, rate_id, rate_card_id, aggregation, filters, scope_digest, starts_at, created_at)
    SELECT $1, 'rate_' || md5(n::text), CASE n % 2 WHEN 0 THEN $7 ELSE 'rate_card_' || md5('1') END, 'sum', '[]', '', now(),
      now() + n * interval '1 second'
    FROM generate_series(1, 2000) n`,
  `INSERT INTO rate_prices (namespace_id, rate_id, value, price_id)
    SELECT $1, 'rate_' || md5(n::text), NULLIF(v, 0)::text, 'price_' || md5('1')
    FROM generate_series(1, 2000) n, generate_series(0, 3) v`,
  // Of the first account half; all of them and the first account's in turn follow the first card, each for a second.
  `INSERT INTO contracts (namespace_id, contract_id, account_id, currency, cadence, anchor_at, starts_at, created_at, updated_at)
    SELECT $1, CASE n WHEN 0 THEN $8 ELSE md5(n::text)::uuid END,
      CASE WHEN n % 2 = 0 THEN $2 ELSE 'account_' || md5((n % 99 + 1)::text) END, 'usd', 'month', now(), now(),
      now() + n * interval '1 second', now()
    FROM generate_series(0, 9999) n`,
  `INSERT INTO contract_lines (namespace_id, contract_line_id, contract_id, account_id, starts_at, ends_at, rate_card_id,
      discount_percent, created_at)
    SELECT $1, 'contract_line_' || md5(contract_id::text), contract_id, account_id, created_at, created_at + interval '1 second',
      CASE WHEN extract(epoch FROM created_at - now())::integer % 4 < 2 THEN $7 ELSE 'rate_card_' || md5('1') END, 0, now()
    FROM contracts`,
  `INSERT INTO contract_lines (namespace_id, contract_line_id, contract_id, account_id, starts_at, credit_amount, credit_currency,
      credit_expires, created_at)
    SELECT $1, 'contract_line_' || md5(n::text), CASE n % 2 WHEN 0 THEN $8 ELSE md5('1')::uuid END,
      CASE n % 2 WHEN 0 THEN $2 ELSE 'account_' || md5('2') END, now(), 1, 'usd', 'never', now() + n * interval '1 second'
    FROM generate_series(1, 5000) n`,
  // Of the grants of the first account and of others some come from the first contract.
  `UPDATE grants SET contract_v1_id = CASE WHEN created_at > now() + interval '15000 seconds' THEN md5(grant_id)::uuid
      ELSE $8 END
    WHERE created_at > now() + interval '10000 seconds'`,
  `INSERT INTO audit_trail (entry_id, company_id, created_at, key_id, action, resource_id, changes)
    SELECT gen_random_uuid(), $4, now() + n * interval '1 second', CASE WHEN n % 3 = 0 THEN $5::uuid ELSE gen_random_uuid() END,
      'account.changed', CASE WHEN n % 2 = 0 THEN $2 ELSE 'account_' || md5(n::text) END, '{}'
    FROM generate_series(1, 20000) n`,
  `INSERT INTO refills (namespace_id, account_id, metric_id, occurrence, grant_id, minimum_balance, target_balance,
      grant_total, usage_total, amount, effective_at, created_at)
    SELECT $1, CASE n % 2 WHEN 0 THEN $2 ELSE 'account_' || md5('1') END, $3, n, 'grant_' || md5(n::text), 0, 1, 0, 1, 2,
      now(), now()
    FROM generate_series(1, 10000) n`,
  // The accounts of one customer, between those of another one.
  `INSERT INTO customers (namespace_id, customer_id, name, sort_name, created_at, updated_at)
    SELECT $1, CASE n WHEN 0 THEN $9::uuid ELSE md5(n::text)::uuid END, 'Owner', 'owner ' || n, now(), now()
    FROM generate_series(0, 1) n`,
  `INSERT INTO accounts (namespace_id, account_id, name, sort_name, customer_id, customer_sort_name, created_at, updated_at)
    SELECT $1, 'account_' || md5('owned ' || n), 'x', n % 7, CASE n % 2 WHEN 0 THEN $9::uuid ELSE md5('1')::uuid END, '0owner ' || n % 2,
      now() + n * interval '1 second', now()
    FROM generate_series(0, 1999) n`,
]

/** A list with or without a filter, its index, and a function that requests a page. */
interface PlannedList {
  what: string
  index: string
  /** Whether the list has a filter without an index: rows are read until the page is full. */
  isSearched?: true
  page: (db: Queryable, after: string | undefined) => Promise<string | undefined>
}

const lastOf = (items: readonly { id: string }[]): string | undefined => items.at(-1)?.id

const ORDERS: readonly ListOrder[] = ['oldest', 'newest']

/** A list in both orders. */
const grants = (what: string, index: string, filter: GrantFilter): PlannedList[] =>
  ORDERS.map((order) => ({
    what: `grants ${what}, the ${order} first,`,
    index,
    ...(filter.status === undefined ? {} : { isSearched: true }),
    page: async (db, startingAfter) =>
      lastOf(
        (await grantRepository(db).list(NAMESPACE, filter, { limit: PAGE, startingAfter, order })).items,
      ),
  }))

const customers = (what: string, filter: CustomerFilter): PlannedList[] =>
  ORDERS.map((order) => ({
    what: `customers ${what}, the ${order} first,`,
    index: 'customers_by_creation',
    ...(filter.query === undefined ? {} : { isSearched: true }),
    page: async (db, startingAfter) =>
      lastOf(
        (await customerRepository(db).list(NAMESPACE, filter, { limit: PAGE, startingAfter, order })).items,
      ),
  }))

const accounts = (what: string, index: string, sort: AccountSort, filter: AccountFilter): PlannedList => ({
  what: `accounts ${what}`,
  index,
  ...(filter.query === undefined && filter.isArchived === undefined ? {} : { isSearched: true }),
  page: async (db, startingAfter) =>
    lastOf((await accountRepository(db).list(NAMESPACE, sort, filter, { limit: PAGE, startingAfter })).items),
})

const refills = (
  what: string,
  index: string,
  filter: { accountId?: string; metricId?: string },
): PlannedList => ({
  what: `refill configurations ${what}`,
  index,
  page: async (db, startingAfter) => {
    const [accountId = '', metricId = ''] = startingAfter?.split('/') ?? []
    const after = startingAfter === undefined ? undefined : { accountId, metricId }
    const { items } = await refillConfigurationRepository(db).list(NAMESPACE, filter, PAGE, after)
    return items.map((item) => `${item.accountId}/${item.metricId}`).at(-1)
  },
})

const prices = (what: string, index: string, productId?: string): PlannedList => ({
  what: `prices ${what}`,
  index,
  page: async (db, startingAfter) =>
    lastOf((await priceRepository(db).list(NAMESPACE, productId, { limit: PAGE, startingAfter })).items),
})

const contracts = (what: string, index: string, filter: ContractFilter): PlannedList[] =>
  ORDERS.map((order) => ({
    what: `contracts ${what}, the ${order} first,`,
    index,
    page: async (db, startingAfter) => {
      const page = { limit: PAGE, startingAfter, order }
      return lastOf((await contractRepository(db).listRecords(NAMESPACE, filter, page)).items)
    },
  }))

const trail = (what: string, index: string, filter: AuditFilter): PlannedList => ({
  what: `the trail ${what}`,
  index,
  page: async (db, startingAfter) =>
    lastOf((await auditTrailRepository(db).list(COMPANY, filter, { limit: PAGE, startingAfter })).items),
})

const LISTS: readonly PlannedList[] = [
  ...customers('of all', {}),
  ...customers('that a text finds', { query: 'OMER 1' }),
  accounts('of all, newest first,', 'accounts_by_creation', 'created_at', {}),
  accounts('of all, by customer name,', 'accounts_by_customer_name', 'customer_name', {}),
  accounts('of a customer, newest first,', 'accounts_by_customer', 'created_at', {
    customerId: FIRST_CUSTOMER,
  }),
  accounts('of a customer, by customer name,', 'accounts_by_customer_name', 'customer_name', {
    customerId: FIRST_CUSTOMER,
  }),
  accounts('that a text finds, newest first,', 'accounts_by_creation', 'created_at', { query: 'OWNER' }),
  accounts('that a text finds, by customer name,', 'accounts_by_customer_name', 'customer_name', {
    query: 'owner',
  }),
  accounts('that are not archived', 'accounts_by_creation', 'created_at', { isArchived: false }),
  {
    what: 'metrics',
    index: 'metrics_by_creation',
    page: async (db, startingAfter) =>
      lastOf((await metricRepository(db).list(NAMESPACE, { limit: PAGE, startingAfter })).items),
  },
  ...grants('of all', 'grants_by_creation', {}),
  ...grants('of an account', 'grants_by_account', { accountId: FIRST_ACCOUNT }),
  ...grants('of a metric', 'grants_by_source', { source: FIRST_METRIC }),
  ...grants('of a currency', 'grants_by_source', { source: 'usd' }),
  ...grants('of an account and a metric', 'grants_by_account_and_source', {
    accountId: FIRST_ACCOUNT,
    source: FIRST_METRIC,
  }),
  ...grants('of a contract', 'grants_by_contract', { contractId: FIRST_CONTRACT }),
  ...grants('of an account with a status', 'grants_by_account', {
    accountId: FIRST_ACCOUNT,
    status: { is: 'active', at: new Date(Date.now() + 60_000) },
  }),
  refills('of all', 'refill_configurations_by_creation', {}),
  refills('of an account', 'refill_configurations_by_account', { accountId: FIRST_ACCOUNT }),
  refills('of a metric', 'refill_configurations_by_metric', { metricId: FIRST_METRIC }),
  {
    what: 'products',
    index: 'products_by_creation',
    page: async (db, startingAfter) =>
      lastOf((await productRepository(db).list(NAMESPACE, undefined, { limit: PAGE, startingAfter })).items),
  },
  prices('of all', 'prices_by_creation'),
  prices('of a product', 'prices_by_product', FIRST_PRODUCT),
  {
    what: 'rate cards',
    index: 'rate_cards_by_creation',
    page: async (db, startingAfter) =>
      lastOf((await rateCardRepository(db).list(NAMESPACE, undefined, { limit: PAGE, startingAfter })).items),
  },
  {
    what: 'rates of a card',
    index: 'rates_by_rate_card',
    page: async (db, startingAfter) => {
      const page = { limit: PAGE, startingAfter }
      return lastOf((await rateRepository(db).list(NAMESPACE, FIRST_CARD, undefined, page)).items)
    },
  },
  ...contracts('of all', 'contracts_by_creation', {}),
  ...contracts('of an account', 'contracts_by_account', { accountId: FIRST_ACCOUNT }),
  ...contracts('of a rate card', 'contract_lines_by_rate_card', { rateCardId: FIRST_CARD }),
  ...contracts('of an account and a rate card', 'contract_lines_by_account_and_rate_card', {
    accountId: FIRST_ACCOUNT,
    rateCardId: FIRST_CARD,
  }),
  {
    what: 'contracts in force',
    index: 'contracts_by_creation',
    page: async (db, startingAfter) => {
      const page = { limit: PAGE, startingAfter }
      return lastOf(
        (await contractRepository(db).listInForce(NAMESPACE, Math.ceil(Date.now() / 1_000), page)).items,
      )
    },
  },
  {
    what: 'lines of a contract',
    index: 'contract_lines_by_contract',
    page: async (db, startingAfter) => {
      const page = { limit: PAGE, startingAfter }
      return lastOf((await contractLineRepository(db).list(NAMESPACE, FIRST_CONTRACT, page)).items)
    },
  },
  trail('of all', 'audit_trail_by_time', {}),
  trail('of a resource', 'audit_trail_by_resource', { resourceId: FIRST_ACCOUNT }),
  trail('of a key', 'audit_trail_by_key', { keyId: KEY }),
  ...ORDERS.map((order) => ({
    what: `refills of a configuration, the ${order} first,`,
    index: 'refills_pkey',
    page: async (db: Queryable, startingAfter: string | undefined) => {
      const key = { accountId: FIRST_ACCOUNT, metricId: FIRST_METRIC }
      const { items } = await refillRepository(db).list(NAMESPACE, key, { limit: PAGE, startingAfter, order })
      return items.at(-1)?.grantId
    },
  })),
]

describe('pages of lists in PostgreSQL', () => {
  let db: TestDatabase

  before(async () => {
    db = await createDatabase('plans')
    await withTransaction(db.pool, (client) =>
      companyRepository(client).insert({ id: COMPANY, name: 'x', mode: 'live', namespaceId: NAMESPACE }),
    )
    await inNamespace(db.pool, NAMESPACE, async (client) => {
      const values: Record<string, string> = {
        $1: NAMESPACE,
        $2: FIRST_ACCOUNT,
        $3: FIRST_METRIC,
        $4: COMPANY,
        $5: KEY,
        $6: FIRST_PRODUCT,
        $7: FIRST_CARD,
        $8: FIRST_CONTRACT,
        $9: FIRST_CUSTOMER,
      }
      for (const text of ROWS)
        await client.query(text.replaceAll(/\$\d/g, (name) => pg.escapeLiteral(values[name] ?? '')))
    })
  })
  after(() => db.close())

  for (const statistics of ['before there are statistics', 'with statistics'])
    describe(statistics, () => {
      before(async () => {
        if (statistics !== 'with statistics') return
        const client = new pg.Client({ connectionString: db.superuserUrl })
        await client.connect()
        await client.query('ANALYZE')
        await client.end()
      })

      for (const { what, index, isSearched = false, page } of LISTS)
        it(`of ${what} come from ${index}, and nothing else is read`, async () => {
          let cursor: string | undefined
          for (let n = 0; n < 3; n++)
            cursor = await inNamespace(db.pool, NAMESPACE, async (client) => {
              const { db: explained, plans } = explaining(client)
              const last = await page(explained, cursor)
              const steps = plans.at(-1) ?? []
              const scans = steps.filter((step) => step['Index Name'] === index && step['Actual Rows'] > 1)
              expect(scans.map((step) => step['Actual Rows'])).to.deep.equal([PAGE + 1])
              if (!isSearched)
                expect(steps.filter((step) => (step['Rows Removed by Filter'] ?? 0) > 0)).to.deep.equal([])
              expect(steps.filter((step) => step['Node Type'] === 'Sort')).to.deep.equal([])
              return last
            })
        })
    })
})
