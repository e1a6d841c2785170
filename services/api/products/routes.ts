import type { Request, RequestHandler } from 'express'
import { newId } from '../../../shared/domain/ids.ts'
import { callerOf, idempotencyKeyOf } from '../../../shared/http/authentication.ts'
import { productRepository, type ProductChanges } from '../../../shared/postgres/products.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { idOf, type Create } from '../core/create.ts'
import { answerOne } from '../core/answer-one.ts'
import { pageToBody } from '../core/body-fields.ts'
import { productToBody } from './body.ts'
import { changeOne } from '../core/change-one.ts'
import { pageOfQuery } from '../core/page-query.ts'
import type { Handlers } from '../../../shared/http/operations-app.ts'
import { handlerOf } from '../core/handler-of.ts'

/** Products: what lines of an invoice are called. */
export const productHandlers = (pool: Pool, create: Create): Handlers => ({
  createProduct: handlerOf(postProduct(create)),
  listProducts: handlerOf(listProducts(pool)),
  getProduct: handlerOf(getProduct(pool)),
  updateProduct: handlerOf(patchProduct(pool)),
  archiveProduct: handlerOf(archiveProduct(pool)),
  unarchiveProduct: handlerOf(unarchiveProduct(pool)),
})

interface NewProductBody {
  name: string
  description?: string
  external_id?: string
}

function postProduct(create: Create): RequestHandler {
  return async (req, res) => {
    const body = req.body as NewProductBody
    const product = await create(
      callerOf(res),
      {
        route: 'POST /v2/products',
        key: idempotencyKeyOf(req),
        action: 'product.created',
        changes: body,
        idOf,
      },
      (db, namespaceId) =>
        productRepository(db).insert(namespaceId, {
          id: newId('product'),
          name: body.name,
          description: body.description ?? null,
          externalId: body.external_id ?? null,
        }),
    )
    res.json(productToBody(product))
  }
}

function listProducts(pool: Pool): RequestHandler {
  return async (req, res) => {
    const { namespaceId } = callerOf(res)
    const { external_id: externalId } = req.query as { external_id?: string }
    const page = await inNamespace(pool, namespaceId, (db) =>
      productRepository(db).list(namespaceId, externalId, pageOfQuery(req)),
    )
    res.json(pageToBody(page, productToBody))
  }
}

type OfProduct = Request<{ product_id: string }>

const getProduct = (pool: Pool) =>
  answerOne(pool, productToBody, (db, namespaceId, { params }: OfProduct) =>
    productRepository(db).find(namespaceId, params.product_id),
  )

const patchProduct = (pool: Pool) =>
  changeOne(pool, {
    action: 'product.changed',
    toBody: productToBody,
    work: (db, namespaceId, { params, body }: OfProduct) =>
      productRepository(db).update(namespaceId, params.product_id, changesOf(body as ProductChangesBody)),
  })

interface ProductChangesBody {
  name?: string
  description?: string | null
  external_id?: string | null
}

const changesOf = (body: ProductChangesBody): ProductChanges => ({
  name: body.name,
  description: body.description,
  externalId: body.external_id,
})

const archiveProduct = (pool: Pool) =>
  changeOne(pool, {
    action: 'product.archived',
    toBody: productToBody,
    work: (db, namespaceId, { params }: OfProduct) =>
      productRepository(db).archive(namespaceId, params.product_id),
  })

const unarchiveProduct = (pool: Pool) =>
  changeOne(pool, {
    action: 'product.unarchived',
    toBody: productToBody,
    work: (db, namespaceId, { params }: OfProduct) =>
      productRepository(db).unarchive(namespaceId, params.product_id),
  })
