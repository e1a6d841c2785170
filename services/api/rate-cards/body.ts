import type { RateCard, RateRecord } from '../../../shared/domain/billing/rate-card.ts'
import { sourceToBody } from '../../../shared/http/event-body.ts'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import { present, secondsOf, secondsOrNull } from '../core/body-fields.ts'

/** A card in a list. */
export const rateCardToBody = (card: RateCard): SchemaOf<'RateCardInList'> => ({
  id: card.id,
  name: card.name,
  currency: card.currency,
  ...present({ description: card.description, external_id: card.externalId }),
  created_at: secondsOf(card.createdAt),
  updated_at: secondsOf(card.updatedAt),
  archived_at: secondsOrNull(card.archivedAt),
})

/** A card with its rates that have not ended. */
export interface CardWithRates extends RateCard {
  rates: readonly RateRecord[]
}

/** A card in the answer about a single card. */
export const cardWithRatesToBody = ({ rates, ...card }: CardWithRates): SchemaOf<'RateCard'> => ({
  ...rateCardToBody(card),
  rates: rates.map(rateToBody),
})

export const rateToBody = (rate: RateRecord): SchemaOf<'Rate'> => ({
  id: rate.id,
  product_id: rate.productId,
  ...(rate.source === null ? { metric_id: null, currency: null } : sourceToBody(rate.source)),
  aggregation: rate.aggregation,
  filters: rate.filters,
  ...(rate.groupBy !== null && {
    group_by: rate.groupBy,
    prices: rate.prices.map(({ value, priceId }) => ({ value, price_id: priceId })),
  }),
  ...present({ price_id: rate.priceId }),
  starts_at: rate.startsAt,
  ...present({ ends_at: rate.endsAt }),
  created_at: secondsOf(rate.createdAt),
})
