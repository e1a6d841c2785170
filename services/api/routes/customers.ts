import type { RequestHandler } from 'express'
import { newUuid } from '../../../shared/domain/ids.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { callerOf, idempotencyKeyOf } from '../../../shared/http/authentication.ts'
import { customerRepository } from '../../../shared/postgres/customers.ts'
import type { Pool } from '../../../shared/postgres/pool.ts'
import { inNamespace } from '../../../shared/postgres/transaction.ts'
import type { Create } from '../create.ts'
import { customerToBody } from './bodies.ts'

interface NewCustomerBody {
  name: string
  external_id?: string
  payments_customer_id?: string
  accounting_customer_id?: string
}

export function postCustomer(create: Create): RequestHandler {
  return async (req, res) => {
    const body = req.body as NewCustomerBody
    const customer = await create(
      callerOf(res),
      { route: 'POST /v2/customers', key: idempotencyKeyOf(req) },
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

export function getCustomer(pool: Pool): RequestHandler<{ customer_id: string }> {
  return async (req, res) => {
    const { namespaceId } = callerOf(res)
    const customer = await inNamespace(pool, namespaceId, (db) =>
      customerRepository(db).find(namespaceId, req.params.customer_id),
    )
    if (customer === undefined) throw new DomainError('not_found', 'no such customer')
    res.json(customerToBody(customer))
  }
}
