import { isUnchanged, type Changes } from '../domain/changes.ts'
import { pageOf, unknownCursor, type Page, type PageRequest } from '../domain/page.ts'
import type { Product } from '../domain/product.ts'
import { DomainError, type ErrorCode } from '../errors/domain-error.ts'
import { lockCreation } from './locks/creation-lock.ts'
import { readInIndexOrder } from './core/in-index-order.ts'
import type { Queryable } from './core/pool.ts'
import { setOnce, unset } from './core/set-once.ts'
import { isUniqueViolation } from './core/violations.ts'

export type NewProduct = Pick<Product, 'id' | 'name' | 'description' | 'externalId'>

export type ProductChanges = Changes<Omit<NewProduct, 'id'>>

interface ProductRow {
  product_id: string
  name: string
  description: string | null
  external_id: string | null
  created_at: Date
  updated_at: Date
  archived_at: Date | null
}

const COLUMNS = 'product_id, name, description, external_id, created_at, updated_at, archived_at'
const INSERT = `
  INSERT INTO products (namespace_id, product_id, name, description, external_id, created_at, updated_at)
  SELECT $1, $2, $3, $4, $5, at, at FROM clock_timestamp() AS at
  RETURNING ${COLUMNS}`
const FIND = `SELECT ${COLUMNS} FROM products WHERE namespace_id = $1 AND product_id = $2`
const SHARE = `${FIND} FOR SHARE`
const UPDATE = `
  UPDATE products AS p SET
    (name, description, external_id) =
      (SELECT name, description, external_id FROM jsonb_populate_record(p, $3)),
    updated_at = clock_timestamp()
  WHERE namespace_id = $1 AND product_id = $2
  RETURNING ${COLUMNS}`
const ARCHIVE = `
  UPDATE products SET ${setOnce('archived_at')}
  WHERE namespace_id = $1 AND product_id = $2
  RETURNING ${COLUMNS}`
const UNARCHIVE = `
  UPDATE products SET ${unset('archived_at')}
  WHERE namespace_id = $1 AND product_id = $2
  RETURNING ${COLUMNS}`
const LIST = `
  SELECT ${COLUMNS} FROM products WHERE namespace_id = $1
    AND ($3::text IS NULL OR external_id = $3)
    AND ($4::text IS NULL OR (created_at, product_id) >
      (SELECT created_at, product_id FROM products WHERE namespace_id = $1 AND product_id = $4))
  ORDER BY created_at, product_id LIMIT $2`

export const productRepository = (db: Queryable) => ({
  /**
   * Within a transaction: products of a namespace are made one after the other, so that a list can be kept up with.
   *
   * @throws DomainError conflict when another product has the external id
   */
  async insert(namespaceId: string, product: NewProduct): Promise<Product> {
    await lockCreation(db, 'products', namespaceId)
    const { id, name, description, externalId } = product
    try {
      const { rows } = await db.query<ProductRow>(INSERT, [namespaceId, id, name, description, externalId])
      return rows.map(productFromRow)[0] as Product
    } catch (err) {
      throw explain(err, 'conflict')
    }
  },

  find: (namespaceId: string, productId: string) => findOne(db, FIND, [namespaceId, productId]),

  /** The same within a transaction, until whose end it stays as it is. */
  share: (namespaceId: string, productId: string) => findOne(db, SHARE, [namespaceId, productId]),

  /**
   * Changes the fields that are named.
   *
   * @returns the product, undefined when there is none
   * @throws DomainError unprocessable when another product has the external id
   */
  async update(
    namespaceId: string,
    productId: string,
    changes: ProductChanges,
  ): Promise<Product | undefined> {
    if (isUnchanged(changes)) return this.find(namespaceId, productId)
    const { name, description, externalId } = changes
    const columns = { name, description, external_id: externalId }
    try {
      return await findOne(db, UPDATE, [namespaceId, productId, JSON.stringify(columns)])
    } catch (err) {
      throw explain(err, 'unprocessable')
    }
  },

  /** Archiving again keeps the first time. @returns the product, undefined when there is none */
  archive: (namespaceId: string, productId: string) => findOne(db, ARCHIVE, [namespaceId, productId]),

  /** @returns the product, undefined when there is none */
  unarchive: (namespaceId: string, productId: string) => findOne(db, UNARCHIVE, [namespaceId, productId]),

  /**
   * In order of creation.
   *
   * @param externalId only the product that has this one
   * @throws DomainError malformed when startingAfter is no product of the namespace
   */
  async list(
    namespaceId: string,
    externalId: string | undefined,
    { limit, startingAfter }: PageRequest,
  ): Promise<Page<Product>> {
    if (startingAfter !== undefined && (await this.find(namespaceId, startingAfter)) === undefined)
      throw unknownCursor()
    await readInIndexOrder(db)
    const values = [namespaceId, limit + 1, externalId ?? null, startingAfter ?? null]
    const { rows } = await db.query<ProductRow>(LIST, values)
    return pageOf(rows.map(productFromRow), limit)
  },
})

async function findOne(db: Queryable, text: string, values: unknown[]): Promise<Product | undefined> {
  const { rows } = await db.query<ProductRow>(text, values)
  return rows.map(productFromRow)[0]
}

/** @param taken what it is when another product has the external id */
function explain(err: unknown, taken: ErrorCode): unknown {
  if (isUniqueViolation(err, 'products_external_id'))
    return new DomainError(taken, 'external_id: another product has it', { cause: err })
  return err
}

const productFromRow = (row: ProductRow): Product => ({
  id: row.product_id,
  name: row.name,
  description: row.description,
  externalId: row.external_id,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  archivedAt: row.archived_at,
})
