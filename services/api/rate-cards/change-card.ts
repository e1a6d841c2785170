import { applyChange } from '../../../shared/domain/billing/timeline-change.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { RequestOf } from '../../../shared/http/operation.ts'
import type { PoolClient } from '../../../shared/postgres/core/pool.ts'
import { rateCardRepository } from '../../../shared/postgres/rate-cards.ts'
import { rateRepository } from '../../../shared/postgres/rates.ts'
import type { CardWithRates } from './body.ts'
import { requestedRates, requirePossible } from './requested-rates.ts'
import { requireCard } from './require-card.ts'
import { withRates } from './with-rates.ts'

/** The body of a request that changes a card. */
export type CardChangeBody = RequestOf<'changeRateCard'>['body']

/**
 * Locks a card, ends some of its rates and adds others. The rates before the time of the change stay as they were.
 *
 * @param clock reads the namespace's time, in Unix seconds. It is called after the card is locked: a contract that
 *   begins to follow the card later waits for the lock, so it gets the card with the change
 * @returns the card with its rates that have not ended at the namespace's time; undefined when there is no such card
 * @throws DomainError unprocessable when the change takes effect in the past and a contract has followed the card, or
 *   when it ends rates that are not in force at its time, adds rates that are not possible, or changes nothing
 */
export async function changeCard(
  db: PoolClient,
  namespaceId: string,
  rateCardId: string,
  body: CardChangeBody,
  clock: () => Promise<number>,
): Promise<CardWithRates | undefined> {
  const [cards, rates] = [rateCardRepository(db), rateRepository(db)]
  const card = await cards.lock(namespaceId, rateCardId)
  if (card === undefined) return undefined
  const now = await clock()
  const { effective_at: effectiveAt = now, end } = body
  const requested = changeOf(body, effectiveAt)
  // Checked after the lock, because a contract that begins to follow the card locks it until its transaction ends.
  if (effectiveAt < now && (await cards.isFollowed(namespaceId, rateCardId)))
    throw new DomainError(
      'unprocessable',
      'effective_at: lies in the past, and a contract has followed the card',
    )
  await requirePossible(db, namespaceId, requested, card.currency)
  // Rates that ended before do not matter, because added rates start later.
  const before = await rates.listNotEnded(namespaceId, rateCardId, Math.min(effectiveAt, now))
  requireCard(applyChange(before, { effectiveAt, end, add: requested.rates }), requested, now)
  await rates.end(namespaceId, rateCardId, end, effectiveAt)
  await rates.insert(namespaceId, rateCardId, requested.rates)
  return withRates(db, namespaceId, await cards.touch(namespaceId, rateCardId), now)
}

/**
 * The rates that a change adds.
 *
 * @throws DomainError unprocessable when the change neither adds nor ends a rate, or when a rate starts too early
 */
function changeOf({ end, add }: CardChangeBody, effectiveAt: number) {
  if (end.length === 0 && add.length === 0)
    throw new DomainError('unprocessable', 'end, add: at least one of them must name a rate')
  const requested = requestedRates('add', add, effectiveAt)
  const early = requested.rates.findIndex(({ startsAt }) => startsAt < effectiveAt)
  if (early !== -1)
    throw new DomainError('unprocessable', `add[${early}].starts_at: must not lie before effective_at`)
  return requested
}
