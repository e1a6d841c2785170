import type { PriceTerms } from '../domain/billing/price.ts'
import { pageOf, unknownCursor, type Page, type PageRequest } from '../domain/page.ts'
import type { PriceRecord } from '../domain/price-record.ts'
import { DomainError } from '../errors/domain-error.ts'
import { lockCreation } from './locks/creation-lock.ts'
import { readInIndexOrder } from './core/in-index-order.ts'
import type { Queryable } from './core/pool.ts'
import { setOnce, unset } from './core/set-once.ts'
import { productRepository } from './products.ts'

export type NewPrice = Pick<PriceRecord, 'id' | 'productId' | 'currency' | 'terms' | 'description'>

interface PriceRow {
  price_id: string
  product_id: string
  currency: string
  terms: PriceTerms
  description: string | null
  created_at: Date
  updated_at: Date
  archived_at: Date | null
}

const COLUMNS = 'price_id, product_id, currency, terms, description, created_at, updated_at, archived_at'
const INSERT = `
  INSERT INTO prices (namespace_id, price_id, product_id, currency, terms, description, created_at, updated_at)
  SELECT $1, $2, $3, $4, $5, $6, at, at FROM clock_timestamp() AS at
  RETURNING ${COLUMNS}`
const FIND = `SELECT ${COLUMNS} FROM prices WHERE namespace_id = $1 AND price_id = $2`
const DESCRIBE = `
  UPDATE prices SET description = $3, updated_at = clock_timestamp()
  WHERE namespace_id = $1 AND price_id = $2
  RETURNING ${COLUMNS}`
const ARCHIVE = `
  UPDATE prices SET ${setOnce('archived_at')}
  WHERE namespace_id = $1 AND price_id = $2
  RETURNING ${COLUMNS}`
const UNARCHIVE = `
  UPDATE prices SET ${unset('archived_at')}
  WHERE namespace_id = $1 AND price_id = $2
  RETURNING ${COLUMNS}`
const LIST_BY_IDS = `SELECT ${COLUMNS} FROM prices WHERE namespace_id = $1 AND price_id = ANY ($2)`
// In order, so that two who share the same prices wait for each other at most in turn.
const SHARE_BY_IDS = `${LIST_BY_IDS} ORDER BY price_id FOR SHARE`
// Planned anew for each call, without the conditions whose parameter is null: each combination has its index.
const LIST = `
  SELECT ${COLUMNS} FROM prices WHERE namespace_id = $1
    AND ($3::text IS NULL OR product_id = $3)
    AND ($4::text IS NULL OR (created_at, price_id) >
      (SELECT created_at, price_id FROM prices WHERE namespace_id = $1 AND price_id = $4))
  ORDER BY created_at, price_id LIMIT $2`

export const priceRepository = (db: Queryable) => ({
  /**
   * Within a transaction: prices of a namespace are made one after the other, so that a list can be kept up with.
   *
   * @throws DomainError unprocessable when there is no such product, or it is archived
   */
  async insert(namespaceId: string, price: NewPrice): Promise<PriceRecord> {
    const { id, productId, currency, terms, description } = price
    const product = await productRepository(db).share(namespaceId, productId)
    if (product === undefined) throw new DomainError('unprocessable', 'product_id: there is no such product')
    if (product.archivedAt !== null)
      throw new DomainError('unprocessable', 'product_id: the product is archived')
    await lockCreation(db, 'prices', namespaceId)
    const values = [namespaceId, id, productId, currency, JSON.stringify(terms), description]
    const { rows } = await db.query<PriceRow>(INSERT, values)
    return rows.map(priceFromRow)[0] as PriceRecord
  },

  find: (namespaceId: string, priceId: string) => findOne(db, FIND, [namespaceId, priceId]),

  /**
   * Changes the description, which is all that may change of a price.
   *
   * @param description null takes it away, undefined leaves it as it is
   * @returns the price, undefined when there is none
   */
  update: (namespaceId: string, priceId: string, description: string | null | undefined) =>
    description === undefined
      ? findOne(db, FIND, [namespaceId, priceId])
      : findOne(db, DESCRIBE, [namespaceId, priceId, description]),

  /** Archiving again keeps the first time. @returns the price, undefined when there is none */
  archive: (namespaceId: string, priceId: string) => findOne(db, ARCHIVE, [namespaceId, priceId]),

  /** @returns the price, undefined when there is none */
  unarchive: (namespaceId: string, priceId: string) => findOne(db, UNARCHIVE, [namespaceId, priceId]),

  /** The prices of these ids, in any order; ids that are none are absent. */
  listByIds: (namespaceId: string, priceIds: readonly string[]) =>
    listByIds(db, LIST_BY_IDS, namespaceId, priceIds),

  /** The same within a transaction, until whose end none of them is archived. */
  shareByIds: (namespaceId: string, priceIds: readonly string[]) =>
    listByIds(db, SHARE_BY_IDS, namespaceId, priceIds),

  /**
   * In order of creation.
   *
   * @param productId only prices of this product
   * @throws DomainError malformed when startingAfter is no price of the namespace
   */
  async list(
    namespaceId: string,
    productId: string | undefined,
    { limit, startingAfter }: PageRequest,
  ): Promise<Page<PriceRecord>> {
    if (startingAfter !== undefined && (await this.find(namespaceId, startingAfter)) === undefined)
      throw unknownCursor()
    await readInIndexOrder(db)
    const values = [namespaceId, limit + 1, productId ?? null, startingAfter ?? null]
    const { rows } = await db.query<PriceRow>(LIST, values)
    return pageOf(rows.map(priceFromRow), limit)
  },
})

async function findOne(db: Queryable, text: string, values: unknown[]): Promise<PriceRecord | undefined> {
  const { rows } = await db.query<PriceRow>(text, values)
  return rows.map(priceFromRow)[0]
}

async function listByIds(
  db: Queryable,
  text: string,
  namespaceId: string,
  priceIds: readonly string[],
): Promise<PriceRecord[]> {
  const { rows } = await db.query<PriceRow>(text, [namespaceId, priceIds])
  return rows.map(priceFromRow)
}

const priceFromRow = (row: PriceRow): PriceRecord => ({
  id: row.price_id,
  productId: row.product_id,
  currency: row.currency,
  terms: row.terms,
  description: row.description,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  archivedAt: row.archived_at,
})
