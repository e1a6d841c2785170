import type { PriceRecord } from '../../../shared/domain/billing/price-record.ts'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import { present, secondsOf, secondsOrNull } from '../core/body-fields.ts'
import { termsToBody } from './terms.ts'

export const priceToBody = (price: PriceRecord): SchemaOf<'Price'> => ({
  id: price.id,
  product_id: price.productId,
  currency: price.currency,
  ...termsToBody(price.terms),
  ...present({ description: price.description }),
  created_at: secondsOf(price.createdAt),
  updated_at: secondsOf(price.updatedAt),
  archived_at: secondsOrNull(price.archivedAt),
})
