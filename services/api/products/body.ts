import type { Product } from '../../../shared/domain/product.ts'
import { present, secondsOf, secondsOrNull } from '../core/body-fields.ts'

export const productToBody = (product: Product) => ({
  id: product.id,
  name: product.name,
  ...present({ description: product.description, external_id: product.externalId }),
  created_at: secondsOf(product.createdAt),
  updated_at: secondsOf(product.updatedAt),
  archived_at: secondsOrNull(product.archivedAt),
})
