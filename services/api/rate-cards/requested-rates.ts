import { findRateFault } from '../../../shared/domain/billing/price-rules.ts'
import type { Rate } from '../../../shared/domain/billing/rate.ts'
import { newId } from '../../../shared/domain/ids.ts'
import { isMetric } from '../../../shared/domain/usage-source.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { RequestOf } from '../../../shared/http/operation.ts'
import type { PoolClient } from '../../../shared/postgres/core/pool.ts'
import { metricRepository } from '../../../shared/postgres/metrics.ts'
import { priceRepository } from '../../../shared/postgres/prices.ts'
import { optionalSource } from '../core/named-source.ts'

/** A rate in the body of a request. */
type NewRateBody = RequestOf<'createRateCard'>['body']['rates'][number]

/** Rates to be added to a card. */
export interface RequestedRates {
  /** The list of the request that contains the rates. */
  field: 'rates' | 'add'
  /** In the order of the request, with new ids. */
  rates: readonly Rate[]
}

/**
 * Reads rates of a request.
 *
 * @param startsAt the start of a rate without starts_at, in Unix seconds
 * @throws DomainError unprocessable when a rate has two sources, or ends before it starts
 */
export const requestedRates = (
  field: RequestedRates['field'],
  bodies: readonly NewRateBody[],
  startsAt: number,
): RequestedRates => ({
  field,
  rates: bodies.map((body, index) => rateFromBody(body, `${field}[${index}]`, startsAt)),
})

function rateFromBody(body: NewRateBody, label: string, defaultStartsAt: number): Rate {
  const source = optionalSource(body, 'unprocessable', `${label}.`) ?? null
  const { starts_at: startsAt = defaultStartsAt, ends_at: endsAt = null } = body
  if (endsAt !== null && endsAt <= startsAt)
    throw new DomainError('unprocessable', `${label}.ends_at: must be after starts_at`)
  return {
    id: newId('rate'),
    source,
    aggregation: body.aggregation,
    filters: body.filters,
    groupBy: body.group_by ?? null,
    prices: (body.prices ?? []).map(({ value, price_id: priceId }) => ({ value, priceId })),
    priceId: body.price_id ?? null,
    startsAt,
    endsAt,
  }
}

/**
 * Checks that each rate can be on a card of this currency. It locks the prices of the rates, so that nobody can archive
 * them before the transaction ends.
 *
 * @throws DomainError unprocessable for a metric or price that does not exist, an archived price, and a fault that
 *   findRateFault finds; the message names the field of the request
 */
export async function requirePossible(
  db: PoolClient,
  namespaceId: string,
  { field, rates }: RequestedRates,
  currency: string,
): Promise<void> {
  const priceIds = new Set(rates.flatMap((rate) => placesOfPrices(rate).map(({ priceId }) => priceId)))
  const read = await priceRepository(db).shareByIds(namespaceId, [...priceIds])
  const prices = new Map(read.map((price) => [price.id, price]))
  const metricIds = await existingMetrics(db, namespaceId, rates)
  for (const [index, rate] of rates.entries()) {
    const label = `${field}[${index}]`
    if (rate.source !== null && isMetric(rate.source) && !metricIds.has(rate.source))
      throw new DomainError('unprocessable', `${label}.metric_id: there is no such metric`)
    for (const { place, priceId } of placesOfPrices(rate)) {
      const price = prices.get(priceId)
      if (price === undefined)
        throw new DomainError('unprocessable', `${label}.${place}: there is no such price`)
      if (price.archivedAt !== null)
        throw new DomainError('unprocessable', `${label}.${place}: the price is archived`)
    }
    const fault = findRateFault(rate, prices, currency)
    if (fault !== undefined) throw new DomainError('unprocessable', `${label}: ${fault}`)
  }
}

const placesOfPrices = ({ prices, priceId }: Rate): { place: string; priceId: string }[] => [
  ...prices.map((price, index) => ({ place: `prices[${index}].price_id`, priceId: price.priceId })),
  ...(priceId === null ? [] : [{ place: 'price_id', priceId }]),
]

async function existingMetrics(
  db: PoolClient,
  namespaceId: string,
  rates: readonly Rate[],
): Promise<Set<string>> {
  const sources = new Set(
    rates.flatMap(({ source }) => (source !== null && isMetric(source) ? [source] : [])),
  )
  if (sources.size === 0) return sources
  const metrics = await metricRepository(db).listByIds(namespaceId, [...sources])
  return new Set(metrics.map(({ id }) => id))
}
