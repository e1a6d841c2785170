import type { Request, RequestHandler } from 'express'
import { parseBillingCurrency } from '../../../shared/domain/billing/billing-currency.ts'
import { findTermsFault } from '../../../shared/domain/billing/price-rules.ts'
import { newId } from '../../../shared/domain/ids.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { callerOf, idempotencyKeyOf } from '../../../shared/http/authentication.ts'
import { priceRepository, type NewPrice } from '../../../shared/postgres/prices.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { idOf, type Create } from '../core/create.ts'
import { answerOne } from '../core/answer-one.ts'
import { pageToBody } from '../core/body-fields.ts'
import { priceToBody } from './body.ts'
import { changeOne } from '../core/change-one.ts'
import { pageOfQuery } from '../core/page-query.ts'
import { termsFromBody, type TermsBody } from './terms.ts'
import type { Handlers } from '../../../shared/http/operations-app.ts'
import { handlerOf } from '../core/handler-of.ts'

/** Prices of products: functions from a quantity to an amount. */
export const priceHandlers = (pool: Pool, create: Create): Handlers => ({
  createPrice: handlerOf(postPrice(create)),
  listPrices: handlerOf(listPrices(pool)),
  getPrice: handlerOf(getPrice(pool)),
  updatePrice: handlerOf(patchPrice(pool)),
  archivePrice: handlerOf(archivePrice(pool)),
  unarchivePrice: handlerOf(unarchivePrice(pool)),
})

type NewPriceBody = TermsBody & {
  product_id: string
  currency: string
  description?: string
}

function postPrice(create: Create): RequestHandler {
  return async (req, res) => {
    const body = req.body as NewPriceBody // with the defaults of openapi.yaml filled in
    const price = newPriceOf(body)
    const made = await create(
      callerOf(res),
      {
        route: 'POST /v2/prices',
        key: idempotencyKeyOf(req),
        action: 'price.created',
        changes: body,
        idOf,
      },
      (db, namespaceId) => priceRepository(db).insert(namespaceId, price),
    )
    res.json(priceToBody(made))
  }
}

/** @throws DomainError unprocessable when it cannot be billed in the currency, or the terms contradict each other */
function newPriceOf(body: NewPriceBody): NewPrice {
  const currency = parseBillingCurrency(body.currency)
  const terms = termsFromBody(body)
  const fault = findTermsFault(terms)
  if (fault !== undefined) throw new DomainError('unprocessable', fault)
  const { product_id: productId, description = null } = body
  return { id: newId('price'), productId, currency, terms, description }
}

function listPrices(pool: Pool): RequestHandler {
  return async (req, res) => {
    const { namespaceId } = callerOf(res)
    const { product_id: productId } = req.query as { product_id?: string }
    const page = await inNamespace(pool, namespaceId, (db) =>
      priceRepository(db).list(namespaceId, productId, pageOfQuery(req)),
    )
    res.json(pageToBody(page, priceToBody))
  }
}

type OfPrice = Request<{ price_id: string }>

const getPrice = (pool: Pool) =>
  answerOne(pool, priceToBody, (db, namespaceId, { params }: OfPrice) =>
    priceRepository(db).find(namespaceId, params.price_id),
  )

const patchPrice = (pool: Pool) =>
  changeOne(pool, {
    action: 'price.changed',
    toBody: priceToBody,
    work: (db, namespaceId, { params, body }: OfPrice) =>
      priceRepository(db).update(
        namespaceId,
        params.price_id,
        (body as { description?: string | null }).description,
      ),
  })

const archivePrice = (pool: Pool) =>
  changeOne(pool, {
    action: 'price.archived',
    toBody: priceToBody,
    work: (db, namespaceId, { params }: OfPrice) => priceRepository(db).archive(namespaceId, params.price_id),
  })

const unarchivePrice = (pool: Pool) =>
  changeOne(pool, {
    action: 'price.unarchived',
    toBody: priceToBody,
    work: (db, namespaceId, { params }: OfPrice) =>
      priceRepository(db).unarchive(namespaceId, params.price_id),
  })
