import type { Request, RequestHandler } from 'express'
import { newUuid } from '../../../shared/domain/ids.ts'
import { callerOf, idempotencyKeyOf } from '../../../shared/http/authentication.ts'
import { customerRepository, type CustomerChanges } from '../../../shared/postgres/customers.ts'
import type { Pool } from '../../../shared/postgres/core/pool.ts'
import { inNamespace } from '../../../shared/postgres/core/transaction.ts'
import { idOf, type Create } from '../core/create.ts'
import { answerOne } from '../core/answer-one.ts'
import { pageToBody } from '../core/body-fields.ts'
import { customerToBody } from './body.ts'
import { changeOne } from '../core/change-one.ts'
import { pageOfQuery } from '../core/page-query.ts'
import type { Handlers } from '../../../shared/http/operations-app.ts'
import { handlerOf } from '../core/handler-of.ts'

/** Customers of a company, whom accounts may belong to. */
export const customerHandlers = (pool: Pool, create: Create): Handlers => ({
  createCustomer: handlerOf(postCustomer(create)),
  listCustomers: handlerOf(listCustomers(pool)),
  getCustomer: handlerOf(getCustomer(pool)),
  updateCustomer: handlerOf(patchCustomer(pool)),
})

interface NewCustomerBody {
  name: string
  external_id?: string
  payments_customer_id?: string
  accounting_customer_id?: string
}

function postCustomer(create: Create): RequestHandler {
  return async (req, res) => {
    const body = req.body as NewCustomerBody
    const customer = await create(
      callerOf(res),
      {
        route: 'POST /v2/customers',
        key: idempotencyKeyOf(req),
        action: 'customer.created',
        changes: body,
        idOf,
      },
      (db, namespaceId) =>
        customerRepository(db).insert(namespaceId, {
          id: newUuid(),
          name: body.name,
          externalId: body.external_id ?? null,
          paymentsCustomerId: body.payments_customer_id ?? null,
          accountingCustomerId: body.accounting_customer_id ?? null,
        }),
    )
    res.json(customerToBody(customer))
  }
}

function listCustomers(pool: Pool): RequestHandler {
  return async (req, res) => {
    const { namespaceId } = callerOf(res)
    const { external_id: externalId } = req.query as { external_id?: string }
    const page = await inNamespace(pool, namespaceId, (db) =>
      customerRepository(db).list(namespaceId, externalId, pageOfQuery(req)),
    )
    res.json(pageToBody(page, customerToBody))
  }
}

type OfCustomer = Request<{ customer_id: string }>

const getCustomer = (pool: Pool) =>
  answerOne(pool, customerToBody, (db, namespaceId, { params }: OfCustomer) =>
    customerRepository(db).find(namespaceId, params.customer_id),
  )

const patchCustomer = (pool: Pool) =>
  changeOne(pool, {
    action: 'customer.changed',
    toBody: customerToBody,
    work: (db, namespaceId, { params, body }: OfCustomer) =>
      customerRepository(db).update(namespaceId, params.customer_id, changesOf(body as CustomerChangesBody)),
  })

interface CustomerChangesBody {
  name?: string
  external_id?: string | null
  payments_customer_id?: string | null
  accounting_customer_id?: string | null
}

const changesOf = (body: CustomerChangesBody): CustomerChanges => ({
  name: body.name,
  externalId: body.external_id,
  paymentsCustomerId: body.payments_customer_id,
  accountingCustomerId: body.accounting_customer_id,
})
