import { parseBillingCurrency } from '../../../shared/domain/billing/billing-currency.ts'
import { findTermsFault } from '../../../shared/domain/billing/price-rules.ts'
import { newId } from '../../../shared/domain/ids.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { Operation, RequestOf } from '../../../shared/http/operation.ts'
import { type NewPrice, priceRepository } from '../../../shared/postgres/prices.ts'
import { pageOf } from '../core/body-fields.ts'
import type { NamespaceOperations } from '../core/namespace-operations.ts'
import { pageIn } from '../core/page-query.ts'
import { priceToBody } from './body.ts'
import { termsFromBody } from './terms.ts'

/** Operations on prices of products. A price is a function from a quantity to an amount. */
export const priceOperations = ({ read, change, once }: NamespaceOperations): Operation[] => [
  once('createPrice', { action: 'price.created', toBody: priceToBody }, ({ db, namespaceId, body }) =>
    priceRepository(db).insert(namespaceId, newPriceOf(body)),
  ),
  read('listPrices', pageOf(priceToBody), ({ db, namespaceId, query }) =>
    priceRepository(db).list(namespaceId, query.product_id, pageIn(query)),
  ),
  read('getPrice', priceToBody, ({ db, namespaceId, params }) =>
    priceRepository(db).find(namespaceId, params.price_id),
  ),
  change(
    'updatePrice',
    { action: 'price.changed', toBody: priceToBody },
    ({ db, namespaceId, params, body }) =>
      priceRepository(db).update(namespaceId, params.price_id, body.description),
  ),
  change('archivePrice', { action: 'price.archived', toBody: priceToBody }, ({ db, namespaceId, params }) =>
    priceRepository(db).archive(namespaceId, params.price_id),
  ),
  change(
    'unarchivePrice',
    { action: 'price.unarchived', toBody: priceToBody },
    ({ db, namespaceId, params }) => priceRepository(db).unarchive(namespaceId, params.price_id),
  ),
]

/** @throws DomainError unprocessable when Tally cannot bill in the currency, or when the terms contradict each other */
function newPriceOf(body: RequestOf<'createPrice'>['body']): NewPrice {
  const currency = parseBillingCurrency(body.currency)
  const terms = termsFromBody(body)
  const fault = findTermsFault(terms)
  if (fault !== undefined) throw new DomainError('unprocessable', fault)
  const { product_id: productId, description = null } = body
  return { id: newId('price'), productId, currency, terms, description }
}
