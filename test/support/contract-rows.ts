import { randomUUID } from 'node:crypto'
import type { NewLine } from '../../shared/domain/billing/stored-contract.ts'
import { newId } from '../../shared/domain/ids.ts'
import type { NewContract } from '../../shared/postgres/contracts.ts'
import type { Queryable } from '../../shared/postgres/core/pool.ts'

/** The resources of one namespace to which contracts refer. */
export interface ContractWorld {
  account: string
  metric: string
  product: string
  price: string
  rateCard: string
}

/**
 * Inserts the resources to which contracts refer, as the owner of the tables. The database is tested without services.
 */
export async function insertContractWorld(db: Queryable, namespaceId: string): Promise<ContractWorld> {
  const world = {
    account: newId('account'),
    metric: newId('metric'),
    product: newId('product'),
    price: newId('price'),
    rateCard: newId('rate_card'),
  }
  const insert = (table: string, id: string, columns: string, values: string) =>
    db.query(
      `INSERT INTO ${table} (namespace_id, created_at, updated_at, ${columns}) SELECT $1, now(), now(), $2, ${values}`,
      [namespaceId, id],
    )
  await insert('accounts', world.account, 'account_id, name, sort_name, customer_sort_name', "'', '', '1'")
  await insert('metrics', world.metric, 'metric_id, name, description, measurement_units', "'', '', ''")
  await insert('products', world.product, 'product_id, name', "'x'")
  await insert(
    'prices',
    world.price,
    'price_id, product_id, currency, terms',
    `'${world.product}', 'usd', '{"model": "flat", "amount": "1", "recurring": true}'`,
  )
  await insert('rate_cards', world.rateCard, 'rate_card_id, name, currency', "'x', 'usd'")
  return world
}

/** A contract in dollars with monthly periods, from second 0 on, without an end. */
export const contractOf = (accountId: string, some: Partial<NewContract> = {}): NewContract => ({
  id: randomUUID(),
  accountId,
  currency: 'usd',
  cadence: 'month',
  anchorAt: 0,
  startsAt: 0,
  endsAt: null,
  name: null,
  description: null,
  externalId: null,
  ...some,
})

type OfKind<K extends NewLine['kind']> = Extract<NewLine, { kind: K }>

const entry = () => ({ id: newId('contract_line'), startsAt: 0, endsAt: null, description: null })

export const cardLine = (rateCardId: string, some: Partial<OfKind<'card'>> = {}): NewLine => ({
  ...entry(),
  kind: 'card',
  rateCardId,
  priceOverrides: [],
  discountPercent: '0',
  ...some,
})

export const creditLine = (some: Partial<OfKind<'credit'>> = {}): NewLine => ({
  ...entry(),
  kind: 'credit',
  amount: '1',
  source: 'usd',
  expires: 'never',
  ...some,
})

export const minimumLine = (some: Partial<OfKind<'minimum'>> = {}): NewLine => ({
  ...entry(),
  kind: 'minimum',
  minimumAmount: '1',
  ...some,
})

export const priceLine = (priceId: string, some: Partial<OfKind<'price'>> = {}): NewLine => ({
  ...entry(),
  kind: 'price',
  priceId,
  quantity: '1',
  discountPercent: '0',
  ...some,
})
