import type { Product } from '../domain/billing/product.ts'
import type { Changes } from '../domain/changes.ts'
import type { PageRequest } from '../domain/page.ts'
import type { Queryable } from './core/pool.ts'
import {
  findingAndArchiving,
  findRow,
  insertInOrder,
  listRows,
  type ResourceTable,
  updateRow,
} from './core/resource-table.ts'

export type NewProduct = Pick<Product, 'id' | 'name' | 'description' | 'externalId'>

const PRODUCTS: ResourceTable<Product> = {
  name: 'products',
  noun: 'product',
  columns: {
    id: 'product_id',
    name: 'name',
    description: 'description',
    externalId: 'external_id',
    createdAt: 'created_at',
    updatedAt: 'updated_at',
    archivedAt: 'archived_at',
  },
}

export const productRepository = (db: Queryable) => ({
  ...findingAndArchiving(db, PRODUCTS),

  /** Inserts a product, within a transaction. @throws DomainError conflict when another product has the external id */
  insert: (namespaceId: string, product: NewProduct) => insertInOrder(db, PRODUCTS, namespaceId, product),

  /** Finds a product, within a transaction. The product does not change until the transaction ends. */
  share: (namespaceId: string, productId: string) =>
    findRow(db, PRODUCTS, namespaceId, productId, 'FOR SHARE'),

  /** @throws DomainError unprocessable when another product has the external id */
  update: (namespaceId: string, productId: string, changes: Changes<Omit<NewProduct, 'id'>>) =>
    updateRow(db, PRODUCTS, namespaceId, productId, changes),

  /** @param externalId limits the list to the product with this external id; undefined for all */
  list: (namespaceId: string, externalId: string | undefined, page: PageRequest) =>
    listRows(db, PRODUCTS, namespaceId, { external_id: externalId }, page),
})
