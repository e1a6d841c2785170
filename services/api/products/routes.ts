import { newId } from '../../../shared/domain/ids.ts'
import type { Operation } from '../../../shared/http/operation.ts'
import { productRepository } from '../../../shared/postgres/products.ts'
import { pageOf } from '../core/body-fields.ts'
import type { NamespaceOperations } from '../core/namespace-operations.ts'
import { pageIn } from '../core/page-query.ts'
import { productToBody } from './body.ts'

/** Operations on products. A product gives lines of invoices their name. */
export const productOperations = ({ read, change, once }: NamespaceOperations): Operation[] => [
  once('createProduct', { action: 'product.created', toBody: productToBody }, ({ db, namespaceId, body }) =>
    productRepository(db).insert(namespaceId, {
      id: newId('product'),
      name: body.name,
      description: body.description ?? null,
      externalId: body.external_id ?? null,
    }),
  ),
  read('listProducts', pageOf(productToBody), ({ db, namespaceId, query }) =>
    productRepository(db).list(namespaceId, query.external_id, pageIn(query)),
  ),
  read('getProduct', productToBody, ({ db, namespaceId, params }) =>
    productRepository(db).find(namespaceId, params.product_id),
  ),
  change(
    'updateProduct',
    { action: 'product.changed', toBody: productToBody },
    ({ db, namespaceId, params, body }) =>
      productRepository(db).update(namespaceId, params.product_id, {
        name: body.name,
        description: body.description,
        externalId: body.external_id,
      }),
  ),
  change(
    'archiveProduct',
    { action: 'product.archived', toBody: productToBody },
    ({ db, namespaceId, params }) => productRepository(db).archive(namespaceId, params.product_id),
  ),
  change(
    'unarchiveProduct',
    { action: 'product.unarchived', toBody: productToBody },
    ({ db, namespaceId, params }) => productRepository(db).unarchive(namespaceId, params.product_id),
  ),
]
