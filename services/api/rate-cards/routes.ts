import { parseBillingCurrency } from '../../../shared/domain/billing/billing-currency.ts'
import { newId } from '../../../shared/domain/ids.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { Operation } from '../../../shared/http/operation.ts'
import { rateCardRepository } from '../../../shared/postgres/rate-cards.ts'
import { rateRepository } from '../../../shared/postgres/rates.ts'
import { pageOf } from '../core/body-fields.ts'
import { changeTime } from '../core/change-time.ts'
import type { NamespaceOperations } from '../core/namespace-operations.ts'
import { pageIn } from '../core/page-query.ts'
import { cardWithRatesToBody, rateCardToBody, rateToBody } from './body.ts'
import { changeCard } from './change-card.ts'
import { requestedRates, requirePossible } from './requested-rates.ts'
import { requireCard } from './require-card.ts'
import { withRates } from './with-rates.ts'

/** The default start of the rates of a new card, in Unix seconds. */
const FROM_THE_BEGINNING = 0

const toBody = cardWithRatesToBody

/** Operations on rate cards. A card says how usage is measured, and which price applies to it. */
export const rateCardOperations = ({ read, change, once }: NamespaceOperations): Operation[] => [
  once('createRateCard', { action: 'rate_card.created', toBody }, async ({ db, namespaceId, body, now }) => {
    const card = {
      id: newId('rate_card'),
      name: body.name,
      currency: parseBillingCurrency(body.currency),
      description: body.description ?? null,
      externalId: body.external_id ?? null,
    }
    const requested = requestedRates('rates', body.rates, FROM_THE_BEGINNING)
    await requirePossible(db, namespaceId, requested, card.currency)
    requireCard(requested.rates, requested, now)
    const inserted = await rateCardRepository(db).insert(namespaceId, card)
    await rateRepository(db).insert(namespaceId, card.id, requested.rates)
    return withRates(db, namespaceId, inserted, now)
  }),
  read('listRateCards', pageOf(rateCardToBody), ({ db, namespaceId, query }) =>
    rateCardRepository(db).list(namespaceId, query.external_id, pageIn(query)),
  ),
  read('getRateCard', toBody, async ({ db, namespaceId, params, now }) => {
    const card = await rateCardRepository(db).find(namespaceId, params.rate_card_id)
    return withRates(db, namespaceId, card, now)
  }),
  change('updateRateCard', { action: 'rate_card.changed', toBody }, async (work) => {
    const { db, namespaceId, params, body, now } = work
    const { name, description, external_id: externalId } = body
    const changes = { name, description, externalId }
    const card = await rateCardRepository(db).update(namespaceId, params.rate_card_id, changes)
    return withRates(db, namespaceId, card, now)
  }),
  change(
    'archiveRateCard',
    { action: 'rate_card.archived', toBody },
    async ({ db, namespaceId, params, now }) => {
      const card = await rateCardRepository(db).archive(namespaceId, params.rate_card_id)
      return withRates(db, namespaceId, card, now)
    },
  ),
  change(
    'unarchiveRateCard',
    { action: 'rate_card.unarchived', toBody },
    async ({ db, namespaceId, params, now }) => {
      const card = await rateCardRepository(db).unarchive(namespaceId, params.rate_card_id)
      return withRates(db, namespaceId, card, now)
    },
  ),
  read('listRates', pageOf(rateToBody), async ({ db, namespaceId, params, query }) => {
    const { rate_card_id: rateCardId } = params
    if ((await rateCardRepository(db).find(namespaceId, rateCardId)) === undefined)
      throw new DomainError('not_found', 'no such rate card')
    return rateRepository(db).list(namespaceId, rateCardId, query.at, pageIn(query))
  }),
  once('changeRateCard', { action: 'rate_card.changed', toBody }, (work) =>
    changeCard(work.db, work.namespaceId, work.params.rate_card_id, work.body, () =>
      changeTime(work.db, work),
    ),
  ),
]
