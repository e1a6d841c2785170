import type { OccurredFilter } from '../../../shared/clickhouse/events/occurred-events.ts'
import type { UsageEventFilter } from '../../../shared/clickhouse/events/usage-event-list.ts'
import { earliestSecond } from '../../../shared/domain/period.ts'
import { DomainError } from '../../../shared/errors/domain-error.ts'
import type { RequestOf } from '../../../shared/http/operation.ts'
import { optionalSource } from '../core/named-source.ts'
import { requireForwards } from '../usage/usage-query.ts'

type EventQuery = RequestOf<'listEvents'>['query']

/** Parameters that only the list by occurrence has. */
const OF_OCCURRENCE = ['start_at', 'end_at', 'property', 'value'] as const

/**
 * The filter of the list by acceptance.
 *
 * @throws DomainError malformed when the query has a parameter of the list by occurrence, or names a metric and a
 *   currency
 */
export function acceptedFilterOf(query: EventQuery): UsageEventFilter {
  for (const name of OF_OCCURRENCE)
    if (query[name] !== undefined)
      throw new DomainError('malformed', `${name}: can be given only with sort=occurred_at`)
  return filterOf(query)
}

/**
 * The filter of the list by occurrence. By default, its range is that of all usage until now.
 *
 * @throws DomainError malformed when the query names a metric and a currency, or a property without a value, or the
 *   reverse; unprocessable when the range is empty or reversed
 */
export function occurredFilterOf(query: EventQuery, now: number): OccurredFilter {
  const { property, value, start_at: startAt = earliestSecond(now), end_at: endAt = now } = query
  if ((property === undefined) !== (value === undefined))
    throw new DomainError('malformed', 'property, value: give both or neither')
  const range = { startAt, endAt }
  requireForwards(range)
  return {
    ...filterOf(query),
    range,
    property: property === undefined || value === undefined ? undefined : { name: property, value },
  }
}

const filterOf = (query: EventQuery): UsageEventFilter => ({
  accountId: query.account_id,
  source: optionalSource(query, 'malformed'),
})
