import type { ContractTimes } from '../../../shared/domain/billing/contract.ts'
import { findLineFault, type LineReferences } from '../../../shared/domain/billing/line-rules.ts'
import { isMetric } from '../../../shared/domain/usage-source.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { Queryable } from '../../../shared/postgres/core/pool.ts'
import { metricRepository } from '../../../shared/postgres/metrics.ts'
import { priceRepository } from '../../../shared/postgres/prices.ts'
import { rateCardRepository } from '../../../shared/postgres/rate-cards.ts'
import { rateRepository } from '../../../shared/postgres/rates.ts'
import type { AskedLine } from './new-lines.ts'

/**
 * Locks the rate cards and prices that new lines refer to, and checks all resources that they refer to. The locks last
 * until the transaction ends, so the result stays valid until then.
 *
 * @param contract the contract of the lines
 * @throws DomainError unprocessable for a line outside the contract, and for a reference to something that does not
 *   exist, is archived, is in another currency, or cannot be priced in this way
 */
export async function requireUsable(
  db: Queryable,
  namespaceId: string,
  contract: Pick<ContractTimes, 'startsAt' | 'endsAt'> & { currency: string },
  asked: readonly AskedLine[],
): Promise<void> {
  const references = await holdReferences(db, namespaceId, asked)
  for (const { line, label, saysQuantity } of asked) {
    const fault = findLineFault(line, contract, references, saysQuantity)
    if (fault !== undefined) throw new DomainError('unprocessable', `${label}.${fault.field}: ${fault.text}`)
  }
}

/** Locks cards before prices, both in order of id: all transactions use this order. Each kind takes one statement. */
async function holdReferences(
  db: Queryable,
  namespaceId: string,
  asked: readonly AskedLine[],
): Promise<LineReferences> {
  const lines = asked.map(({ line }) => line)
  const cardLines = lines.filter((line) => line.kind === 'card')
  const overrides = cardLines.flatMap(({ priceOverrides }) => priceOverrides)
  const cardIds = unique(cardLines.map(({ rateCardId }) => rateCardId))
  const priceIds = unique([
    ...lines.flatMap((line) => (line.kind === 'price' ? [line.priceId] : [])),
    ...overrides.map(({ priceId }) => priceId),
  ])
  const metricIds = unique(
    lines.flatMap((line) => (line.kind === 'credit' && isMetric(line.source) ? [line.source] : [])),
  )
  const ifAny = async <T>(ids: readonly string[], read: () => Promise<T[]>) =>
    ids.length === 0 ? [] : await read()
  const rateCards = await ifAny(cardIds, () => rateCardRepository(db).share(namespaceId, cardIds))
  const withOverrides = unique(
    cardLines.flatMap((line) => (line.priceOverrides.length === 0 ? [] : [line.rateCardId])),
  )
  const rates = await ifAny(withOverrides, async () => [
    ...(await rateRepository(db).listOfCards(namespaceId, withOverrides)),
  ])
  const prices = await ifAny(priceIds, () => priceRepository(db).shareByIds(namespaceId, priceIds))
  const metrics = await ifAny(metricIds, () => metricRepository(db).listByIds(namespaceId, metricIds))
  return {
    rateCards: byId(rateCards),
    prices: byId(prices),
    rates: new Map(rates),
    metricIds: new Set(metrics.map(({ id }) => id)),
  }
}

const unique = (ids: readonly string[]): string[] => [...new Set(ids)]
const byId = <T extends { id: string }>(items: readonly T[]) => new Map(items.map((item) => [item.id, item]))
