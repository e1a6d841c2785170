import { countNamed, namedValues } from '../../../shared/domain/billing/named-values.ts'
import { findOverlap } from '../../../shared/domain/billing/overlap.ts'
import { pricesOfRate, type Rate } from '../../../shared/domain/billing/rate.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import { sourceToBody } from '../../../shared/http/event-body.ts'
import type { SchemaOf } from '../../../shared/http/operation.ts'
import type { RequestedRates } from './requested-rates.ts'

/** The maximum number of rates in force at one second, and of the prices that they name. */
const IN_FORCE_MAX: CardSize = { rates: 200, prices: 2_000 }
/** The maximum number of rates that have not ended: the rates in force, and as many again to replace them. */
const NOT_ENDED_MAX: CardSize = { rates: 400, prices: 4_000 }

/** The maximum number of property values that split usage on a card, because a read of usage names all of them. */
const VALUES_MAX = 4_000

interface CardSize {
  rates: number
  prices: number
}

/**
 * Checks that rates can be on a card together.
 *
 * @param rates all rates of the card, with the requested ones at the end. The others passed this check before
 * @param now in Unix seconds
 * @throws DomainError unprocessable when an event would count twice, or there are too many rates, prices or values
 */
export function requireCard(rates: readonly Rate[], requested: RequestedRates, now: number): void {
  const { field } = requested
  requireSize(peakOf(rates), IN_FORCE_MAX, `${field}: the card would have`, 'in force at a time')
  const notEnded = rates.filter(({ endsAt }) => endsAt === null || endsAt > now)
  requireSize(sizeOf(notEnded), NOT_ENDED_MAX, `${field}: the card would have`, 'that have not ended')
  const values = countNamed(namedValues([...new Set([...notEnded, ...requested.rates])]))
  if (values > VALUES_MAX)
    throw new DomainError(
      'unprocessable',
      `${field}: the card would split usage by ${values} values of properties, at most ${VALUES_MAX} are allowed`,
    )
  const overlap = findOverlap(rates, rates.length - requested.rates.length)
  if (overlap === undefined) return
  const { a, b, example } = overlap
  const event: Pick<SchemaOf<'UsageEvent'>, 'metric_id' | 'currency' | 'occurred_at' | 'properties'> = {
    ...sourceToBody(example.source),
    occurred_at: example.occurredAt,
    properties: example.properties,
  }
  throw new DomainError(
    'unprocessable',
    `${nameOf(a, requested)} and ${nameOf(b, requested)} overlap: both would reach the event ${JSON.stringify(event)}`,
  )
}

function requireSize(size: CardSize, max: CardSize, would: string, which: string): void {
  if (size.rates > max.rates)
    throw new DomainError(
      'unprocessable',
      `${would} ${size.rates} rates ${which}, at most ${max.rates} are kept`,
    )
  if (size.prices > max.prices)
    throw new DomainError(
      'unprocessable',
      `${would} rates ${which} that name ${size.prices} prices, at most ${max.prices} are kept`,
    )
}

const sizeOf = (rates: readonly Rate[]): CardSize => ({
  rates: rates.length,
  prices: rates.reduce((sum, rate) => sum + pricesOfRate(rate).length, 0),
})

/** The highest number of rates that are in force at the same time, and the highest number of their prices. */
function peakOf(rates: readonly Rate[]): CardSize {
  const steps = rates
    .filter(({ startsAt, endsAt }) => startsAt !== endsAt)
    .flatMap((rate) => {
      const prices = pricesOfRate(rate).length
      const start = { at: rate.startsAt, rates: 1, prices }
      return rate.endsAt === null ? [start] : [start, { at: rate.endsAt, rates: -1, prices: -prices }]
    })
    .sort((a, b) => a.at - b.at || a.rates - b.rates) // a rate that ends at a second is no longer in force at it
  const [inForce, peak] = [
    { rates: 0, prices: 0 },
    { rates: 0, prices: 0 },
  ]
  for (const step of steps)
    for (const what of ['rates', 'prices'] as const) {
      inForce[what] += step[what]
      peak[what] = Math.max(peak[what], inForce[what])
    }
  return peak
}

/** Names a new rate by its index in the request, because no answer has shown its id yet. */
function nameOf({ id }: Rate, { field, rates }: RequestedRates): string {
  const index = rates.findIndex((rate) => rate.id === id)
  return index === -1 ? id : `${field}[${index}]`
}
