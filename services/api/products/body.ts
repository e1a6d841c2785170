import type { Product } from '../../../shared/domain/billing/product.ts'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import { present, secondsOf, secondsOrNull } from '../core/body-fields.ts'

export const productToBody = (product: Product): SchemaOf<'Product'> => ({
  id: product.id,
  name: product.name,
  ...present<SchemaOf<'Product'>>({ description: product.description, external_id: product.externalId }),
  created_at: secondsOf(product.createdAt),
  updated_at: secondsOf(product.updatedAt),
  archived_at: secondsOrNull(product.archivedAt),
})
