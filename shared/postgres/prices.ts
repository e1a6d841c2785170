import type { PriceRecord } from '../domain/billing/price-record.ts'
import type { PageRequest } from '../domain/page.ts'
import { DomainError } from '../errors/domain-error.ts'
import type { Queryable } from './core/pool.ts'
import {
  findingAndArchiving,
  insertInOrder,
  listRows,
  listRowsByIds,
  type ResourceTable,
  updateRow,
} from './core/resource-table.ts'
import { productRepository } from './products.ts'

export type NewPrice = Pick<PriceRecord, 'id' | 'productId' | 'currency' | 'terms' | 'description'>

const PRICES: ResourceTable<PriceRecord> = {
  name: 'prices',
  noun: 'price',
  columns: {
    id: 'price_id',
    productId: 'product_id',
    currency: 'currency',
    terms: 'terms',
    description: 'description',
    createdAt: 'created_at',
    updatedAt: 'updated_at',
    archivedAt: 'archived_at',
  },
}

export const priceRepository = (db: Queryable) => ({
  ...findingAndArchiving(db, PRICES),

  /**
   * Inserts a price, within a transaction.
   *
   * @throws DomainError unprocessable when there is no such product, or it is archived
   */
  async insert(namespaceId: string, price: NewPrice): Promise<PriceRecord> {
    const product = await productRepository(db).share(namespaceId, price.productId)
    if (product === undefined) throw new DomainError('unprocessable', 'product_id: there is no such product')
    if (product.archivedAt !== null)
      throw new DomainError('unprocessable', 'product_id: the product is archived')
    return insertInOrder(db, PRICES, namespaceId, price)
  },

  /**
   * Changes the description, the only field of a price that may change.
   *
   * @param description null removes it, undefined leaves it as it is
   */
  update: (namespaceId: string, priceId: string, description: string | null | undefined) =>
    updateRow(db, PRICES, namespaceId, priceId, { description }),

  /** Lists the prices with these ids. Unknown ids are absent. */
  listByIds: (namespaceId: string, priceIds: readonly string[]) =>
    listRowsByIds(db, PRICES, namespaceId, priceIds),

  /**
   * Lists the prices with these ids, within a transaction. No one can archive these prices until the transaction ends.
   */
  shareByIds: (namespaceId: string, priceIds: readonly string[]) =>
    listRowsByIds(db, PRICES, namespaceId, priceIds, 'FOR SHARE'),

  /** @param productId limits the list to prices of this product; undefined for all */
  list: (namespaceId: string, productId: string | undefined, page: PageRequest) =>
    listRows(db, PRICES, namespaceId, { product_id: productId }, page),
})
