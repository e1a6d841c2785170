import { newUuid } from '../../../shared/domain/ids.ts'
import type { Operation } from '../../../shared/http/operation.ts'
import { customerRepository } from '../../../shared/postgres/customers.ts'
import { pageOf } from '../core/body-fields.ts'
import type { NamespaceOperations } from '../core/namespace-operations.ts'
import { pageIn } from '../core/page-query.ts'
import { customerToBody } from './body.ts'

/** Operations on customers of a company. An account may belong to a customer. */
export const customerOperations = ({ read, change, once }: NamespaceOperations): Operation[] => [
  once(
    'createCustomer',
    { action: 'customer.created', toBody: customerToBody },
    ({ db, namespaceId, body }) =>
      customerRepository(db).insert(namespaceId, {
        id: newUuid(),
        name: body.name,
        externalId: body.external_id ?? null,
        paymentsCustomerId: body.payments_customer_id ?? null,
        accountingCustomerId: body.accounting_customer_id ?? null,
      }),
  ),
  read('listCustomers', pageOf(customerToBody), ({ db, namespaceId, query }) =>
    customerRepository(db).list(
      namespaceId,
      { externalId: query.external_id, query: query.query },
      pageIn(query),
    ),
  ),
  read('getCustomer', customerToBody, ({ db, namespaceId, params }) =>
    customerRepository(db).find(namespaceId, params.customer_id),
  ),
  change(
    'updateCustomer',
    { action: 'customer.changed', toBody: customerToBody },
    ({ db, namespaceId, params, body }) =>
      customerRepository(db).update(namespaceId, params.customer_id, {
        name: body.name,
        externalId: body.external_id,
        paymentsCustomerId: body.payments_customer_id,
        accountingCustomerId: body.accounting_customer_id,
      }),
  ),
]
