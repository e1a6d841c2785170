import type { RateCard } from '../../../shared/domain/billing/rate-card.ts'
import type { PoolClient } from '../../../shared/postgres/core/pool.ts'
import { rateRepository } from '../../../shared/postgres/rates.ts'
import type { CardWithRates } from './body.ts'

/**
 * A card with its rates that have not ended, including those that begin later.
 *
 * @param card undefined when there is no such card; then the result is undefined, too
 * @param now in Unix seconds, by the namespace's clock
 */
export async function withRates<T extends RateCard | undefined>(
  db: PoolClient,
  namespaceId: string,
  card: T,
  now: number,
): Promise<CardWithRates | Extract<T, undefined>> {
  if (card === undefined) return card as Extract<T, undefined>
  return { ...card, rates: await rateRepository(db).listNotEnded(namespaceId, card.id, now) }
}
